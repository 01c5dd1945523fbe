"""Common steps of every private fit: from the caller's arguments to encoded rows."""
