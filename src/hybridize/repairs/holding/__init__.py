"""What holds a value: the uses of a field, a global variable or an argument in the whole project."""
