"""What to read, to promise and to write: recipes, and how they are drafted and edited."""
