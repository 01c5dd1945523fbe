"""What every private fit shares: from the caller's arguments to rows inside the door."""
