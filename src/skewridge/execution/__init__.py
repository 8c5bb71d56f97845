"""How work is run: passes over rows in fixed blocks, threads or Dask, checkpoints, memory."""
