"""What changes are worth: programs measured before and after, metrics compared, tables."""
