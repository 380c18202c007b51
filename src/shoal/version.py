"""The version of this package, importable without anything else."""

VERSION = "0.1.0"
