"""The plan_build machine: two runs, one after the other; the first makes a plan, the second builds on it."""
