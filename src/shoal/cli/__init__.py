"""The command line: flags in, tables or JSON out. Heavy modules load inside the commands that need them."""
