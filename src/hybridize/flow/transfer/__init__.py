"""What each instruction does: one function per operation, in three tables that `flow.execute` joins."""
