"""DP-LLM: several locally linear maps per class, trained with differential privacy."""
