"""Labelling by several raters: a local web page, the same through CSV, and the rules that both obey."""
