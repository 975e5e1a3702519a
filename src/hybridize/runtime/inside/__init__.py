"""What runs in the interpreter that has TensorFlow: a server that forks, and the child that runs one program."""
