"""Traces of a watched function: how many a call cost, and what about its arguments was new."""

from __future__ import annotations

from typing import Any

from .signatures import difference
from .subject import Call


def count(call: Call) -> int:
    """How often the call's hybrid function was traced."""
    try:
        return int(call.candidate().experimental_get_tracing_count())
    except Exception:
        return 0


def note(call: Call, before: int, bound: Any, parts: Any, key: Any) -> int:
    """Counts new traces and names their causes."""
    subject, record = call.subject, call.subject.record
    new = count(call) - before
    specs = (call.receiver, subject.signatures.specs(bound))
    if specs not in record.specs:
        record.specs.add(specs)
    if new <= 0:
        subject.known.add(key)
        return 0
    if subject.renewed and key in subject.known:
        return new
    created = getattr(form(call), "_created_variables", None)
    if created and subject.noted is not created:
        subject.noted = created
        if subject.creates(call.instance):
            record.again = True
        else:
            record.creators += 1
    record.traces += new
    _cause(call, parts)
    subject.known.add(key)
    return new


def _cause(call: Call, parts: Any) -> None:
    subject, record = call.subject, call.subject.record
    known = record.parts.get((id(subject), call.receiver))
    if known is None:
        if record.parts:
            first = next(iter(record.parts))
            what = "another receiver" if first[0] == id(subject) else "defined anew"
            record.cause("self" if first[0] == id(subject) else "", what, type(call.instance).__name__)
        record.parts[id(subject), call.receiver] = {name: [part] for name, part in parts.items()}
        return
    blamed = False
    for name, part in parts.items():
        old = known.setdefault(name, [])
        if part not in old:
            if old:
                kind, example = difference(old[-1], part)
                record.cause(name, kind, example)
                blamed = True
            old.append(part)
    if not blamed and not subject.renewed:
        record.cause("", "something else than the arguments", "")


def form(call: Call) -> Any:
    """The hybrid function, bound; None if it can't be."""
    try:
        return call.candidate()
    except Exception:
        return None
