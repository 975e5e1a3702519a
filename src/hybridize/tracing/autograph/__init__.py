"""What AutoGraph converts of a function, and what its branches and loops become."""
