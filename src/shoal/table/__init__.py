"""Tables as integer codes with dictionaries, and the statistics of groups of their rows."""
