"""What a group of records costs when its cells are generalised."""
