"""Where code runs: eagerly, in graphs, in which programs, or never."""
