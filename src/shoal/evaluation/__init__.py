"""What an analyst can still do with a release: queries, rules and learning beside the original rows."""
