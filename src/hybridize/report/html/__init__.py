"""One page to share: a report with its sources as a single HTML file that asks nothing of a network."""
