"""Methods that leave values exact and break the links between them."""
