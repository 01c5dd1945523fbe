"""DP-EBM: differentially private explainable boosting machines."""
