"""Whether stale state and leaks do harm: an order of events that shows it, and what speaks against it."""
