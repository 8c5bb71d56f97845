"""The algebra that every family of models shares: exact, low-rank and iterative ridge solutions."""
