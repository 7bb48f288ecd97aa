"""The run machine: one task, from admission to its single end."""
