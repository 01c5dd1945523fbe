"""The attributes and methods that interpret expects of an explainable boosting machine."""
