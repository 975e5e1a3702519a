"""The code of a Jupyter notebook as one text, for the study's miner."""

from __future__ import annotations

import json
from typing import Any


def code_of(data: bytes) -> str:
    """Code cells one after the other, magics and shell lines turned into comments; empty if it is no notebook."""
    try:
        content: Any = json.loads(data)
    except ValueError:
        return ""
    cells = content.get("cells") if isinstance(content, dict) else None
    if cells is None and isinstance(content, dict):
        sheets = content.get("worksheets")
        cells = (
            [c for sheet in sheets if isinstance(sheet, dict) for c in sheet.get("cells", ())]
            if isinstance(sheets, list)
            else []
        )
    parts: list[str] = []
    for cell in cells if isinstance(cells, list) else ():
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        lines = text.split("\n")
        if lines[0].startswith("%%"):
            continue
        parts.append("\n".join(f"# {line}" if line.lstrip().startswith(("%", "!", "?")) else line for line in lines))
    return "\n\n".join(parts)
