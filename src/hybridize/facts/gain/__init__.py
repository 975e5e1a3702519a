"""What a graph would gain: operations, their sizes, and the share of a run."""
