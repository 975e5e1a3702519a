"""What is gathered of each function: its mode, what its parameters receive, which sizes it reads."""
