"""Spark DataFrames in and out: ``shoal.spark.anonymize``."""

from shoal.release.spark import anonymize as anonymize
