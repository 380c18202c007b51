"""Morton et al.: research value."""
