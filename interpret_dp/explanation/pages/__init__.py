"""Pages and cards of HTML: one template for each, beside the module that fills it."""
