"""What is unknown, by what the program does with it: foreign code, models, optimizers, arguments."""
