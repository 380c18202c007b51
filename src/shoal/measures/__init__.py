"""Measures of utility and protection: each prices a release from its classes' sizes and cells."""
