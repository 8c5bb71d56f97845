"""Before a fit: what the response looks like, and what a fit will cost."""
