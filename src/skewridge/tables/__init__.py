"""Raw tables: columns of any kind turned into numbers, and back into words."""
