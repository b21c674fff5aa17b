"""What may be published, and what the rest is replaced by."""
