"""What the added noise did to the curves: its covariance, and curves without what is likely it."""
