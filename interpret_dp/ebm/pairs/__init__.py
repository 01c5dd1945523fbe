"""Terms of two features: which ones, on what grid, and how they are trained."""
