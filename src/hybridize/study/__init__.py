"""The empirical study: mine histories, suggest, label, measure agreement, make tables and figures."""
