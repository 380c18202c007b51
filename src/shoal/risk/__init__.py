"""What a table gives away, measured on any file made by any tool."""
