"""Noise of the released curves: its covariance, and curves without likely noise."""
