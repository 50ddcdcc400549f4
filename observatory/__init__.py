"""Retrieval Observatory: margins that cannot be separated from what they were measured against."""

__version__ = "0.1.0"
