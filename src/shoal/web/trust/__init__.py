"""The trusted side on the server: secrets in the database, and questions about releases; its logic is in ``vault``."""
