"""The stores behind the ``Journal`` port, and what they share."""
