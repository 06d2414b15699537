"""Operators on any arrays: linear algebra, sorting, statistics, conversions."""
