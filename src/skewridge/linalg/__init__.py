"""Dense linear algebra below everything: LAPACK without the GIL, ridge solutions along a path of penalties."""
