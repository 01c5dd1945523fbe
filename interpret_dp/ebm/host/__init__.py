"""What interpret expects of an explainable boosting machine."""
