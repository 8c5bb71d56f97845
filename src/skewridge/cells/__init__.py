"""Level 2, divide and conquer by x: exact kernel ridge in every cell of a few random partitions, averaged."""
