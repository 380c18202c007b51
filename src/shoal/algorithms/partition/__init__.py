"""Methods that cut the table into ever smaller parts."""
