"""DP-LIME: differentially private local explanations of a black box."""
