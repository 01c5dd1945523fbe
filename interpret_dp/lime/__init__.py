"""Explanations of black boxes: from one private background, by a surrogate, by the paper."""
