"""Accuracy, time and calibration on public tables, against InterpretML's own DP-EBM."""
