"""Curves of single features, from noisy histograms and sums alone."""
