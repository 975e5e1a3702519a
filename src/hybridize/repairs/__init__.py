"""What stands between a function and its speed, and the small change that takes it away: one file per repair."""
