"""Groups that keep what earlier releases left of everybody."""
