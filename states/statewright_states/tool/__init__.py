"""The tool machine: one tool call, from requested to its single settlement."""
