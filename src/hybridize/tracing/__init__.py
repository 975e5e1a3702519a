"""What a trace sees: what is symbolic in it, what AutoGraph converts, what is read and written when."""
