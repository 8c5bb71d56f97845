"""Dense linear algebra below everything: Cholesky factors, ridge solutions along a path of penalties."""
