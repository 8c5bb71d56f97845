"""The response decides: slices of y, how rows are dealt to nodes, how centres are drawn."""
