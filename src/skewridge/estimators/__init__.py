"""The scikit-learn estimators: parameters in, fitted attributes out, no algebra."""
