"""Side effects of functions: what a call changes that outlives it, and what that amounts to."""
