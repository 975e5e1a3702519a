"""What a repair has to hand: the project as text and trees, what the analysis found at a place, tables of forms."""
