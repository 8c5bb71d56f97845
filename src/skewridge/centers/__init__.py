"""Level 1: kernel ridge regression on response-adaptive centres."""
