"""Reports: a result as text, JSON, SARIF or annotations; and the explanation of one verdict."""
