"""Methods that keep the largest research value."""
