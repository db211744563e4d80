"""Speed, memory and growth of the product itself: `python -m eval bench`."""
