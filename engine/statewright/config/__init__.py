"""What a caller may configure: limits, texts, prices."""
