"""Judging a recoding by the models asked for: before it runs, after it, and what is refused."""
