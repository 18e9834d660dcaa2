"""Trips: synthetic ones of the built-in cities, and the files users bring."""
