"""The columns of X before any kernel sees them."""
