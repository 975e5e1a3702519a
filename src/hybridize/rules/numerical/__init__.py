"""Numbers that come out differently (HY7xx)."""
