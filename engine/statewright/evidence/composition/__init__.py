"""Run, calls and tool calls together, explored whole."""
