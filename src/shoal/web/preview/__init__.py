"""What is shown of uploaded files, read in a process of its own."""
