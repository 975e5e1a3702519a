"""Where code runs: eagerly, in graphs, under XLA, in which programs, or never."""
