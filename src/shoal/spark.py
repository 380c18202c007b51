"""Spark DataFrames in and out: ``shoal.spark.anonymize``."""

from shoal.release.spark import SparkRelease as SparkRelease
from shoal.release.spark import anonymize as anonymize
