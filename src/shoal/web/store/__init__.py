"""What the server keeps: its tables, how a database is opened, and how older ones are brought up to date."""
