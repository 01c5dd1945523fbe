"""Explanations of black boxes from one private background."""
