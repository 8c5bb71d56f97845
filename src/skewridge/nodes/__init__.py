"""The paper: rows dealt to nodes, local fits, their average, and the choice of its settings."""
