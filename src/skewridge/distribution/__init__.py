"""From errors of rows that a fit has not seen to intervals."""
