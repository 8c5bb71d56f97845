"""Where rows come from: files, Dask collections, and which columns are features and response."""
