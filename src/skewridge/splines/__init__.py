"""Smoothing-spline ANOVA models."""
