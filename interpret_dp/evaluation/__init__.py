"""Metrics of models on private rows."""
