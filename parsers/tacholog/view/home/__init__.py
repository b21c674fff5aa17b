"""What the home page says of each machine: the campaign that measured most there, and which transport suits which message."""
