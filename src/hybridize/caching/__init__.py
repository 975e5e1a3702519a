"""What was found before, kept by what it rests on: an answer for the same inputs is looked up, not found again."""
