"""Evidence: what can be shown about the tables without running an agent, and about runs without trusting the engine."""
