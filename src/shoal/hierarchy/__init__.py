"""Value generalisation hierarchies: the trees themselves, builders that grow them, and their files."""
