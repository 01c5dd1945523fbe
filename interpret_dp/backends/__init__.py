"""Exact, clipped integer sums over rows; never noise."""
