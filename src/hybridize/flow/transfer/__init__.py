"""What each instruction does: one function per operation, in three tables that `table` joins."""
