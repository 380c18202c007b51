"""From a recipe to a release: the only place that knows all of the others."""
