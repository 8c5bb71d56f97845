"""The version of the library, for those who must not import all of it."""

__version__ = "0.1.0"
