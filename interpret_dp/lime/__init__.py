"""Explanations of black boxes: from one private background, by a private surrogate, by the paper."""
