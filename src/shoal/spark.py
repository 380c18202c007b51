"""Spark DataFrames in and out: ``shoal.spark.anonymize``."""

from shoal.streaming.spark import SparkRelease as SparkRelease
from shoal.streaming.spark import anonymize as anonymize
