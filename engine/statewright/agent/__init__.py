"""An agent as its user makes it: the loop, plan then build, agent files and profiles."""
