"""State: what holds a value where it is read, what is set up once, what is taken back."""
