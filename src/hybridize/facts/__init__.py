"""Solution -> facts per function: mode, tensors, literals, effects, recursion, computation, coverage."""
