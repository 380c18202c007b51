"""Methods that grow groups record by record."""
