"""Several releases of the same table side by side."""
