"""Whether a graph is seen to pay: how often the program itself calls a function eagerly, against what tracing costs.

A test says nothing of how often what it tests is called, and in a library nobody sees the callers elsewhere. So a
conversion is worth it where loops of code that is no test call the function, where one call wins back what tracing
costs, or where a call applies gradients, since nobody trains by one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isinf
from typing import Final

from hybridize.domain.calls import BY_OTHERS, IN_GRAPHS
from hybridize.domain.objects import Tensor
from hybridize.domain.tensors import UNRESOLVED, VARIABLE
from hybridize.facts.calls.frequency import Call, Frequency, traces
from hybridize.facts.calls.public import Public
from hybridize.facts.gain.benefit import Benefits, Work
from hybridize.facts.gain.nesting import Nesting
from hybridize.facts.gain.savings import Savings, Share
from hybridize.facts.unknown.contracts import Contracts
from hybridize.library import costs
from hybridize.library.costs import BATCHES, ITERATIONS, TRACING
from hybridize.program.ir import Code
from hybridize.source import Role, Roles

#: A share of calls that are part of graphs from which on eager ones are beside it.
WHOLLY: Final = 0.999
#: What the estimate must promise of functions that train nothing, and of steps of training: less may be no gain at all.
MARGIN: Final = 1.5
_STEP_MARGIN: Final = 1.02
#: What a graph must save of the eager time of somebody who calls it: less is not noticed, whatever it is called for.
_SHARE: Final = 0.1
#: What a graph of a step of training saves is asked where Keras' own loops take such a share of the run.
_LOOPING: Final = 0.5
#: Microseconds that a call must save where not all is known that is done beside it: in 42 projects readers found 2 of
#: 19 conversions worth it that save less, and 25 of 44 that save more and derive nothing.
_EACH: Final = 1_000.0
#: A step that applies gradients is called so often at least.
_STEPS: Final = 200.0
#: So often, at least, others are taken to call what a library exports, where its authors' word is enough.
_ELSEWHERE: Final = 10_000.0


class Gains:
    """How often functions are seen to be called; `visit` is told of each after all of its callers."""

    def __init__(
        self, frequency: Frequency, contracts: Contracts, benefits: Benefits, roles: Roles, *, opened: bool = False
    ) -> None:
        """`opened`: what a library exports counts as called from elsewhere again and again, as its authors say."""
        self.opened = Public(roles) if opened else None
        self.frequency = frequency
        self.contracts = contracts
        self.benefits = benefits
        self.roles = roles
        self.nesting = Nesting(frequency, benefits.frames, lambda code: self._graphs.get(code, 0.0) >= 1.0)
        self._graphs: Mapping[Code, float] = {}
        self._often: dict[Code, float] = {}
        self._called: dict[Code, bool] = {}
        self.savings = Savings(benefits, self._is_way_in)
        #: Safe to convert, but unsure: what they call is to be part of their graphs, and needs none of its own.
        self.withheld: set[Code] = set()

    def visit(self, code: Code, graphs: Mapping[Code, float]) -> None:
        """Sums up the calls of a function by eager code; those by functions that are wholly graphs do not count."""
        self._graphs = graphs
        if code.is_module:
            self._often[code] = 0.0 if self.roles.is_test(code.path) else 1.0
            return
        count, elsewhere, called = 0.0, 0.0, False
        callers: list[Code] = []
        for call in self.frequency.calls.get(code, {}).values():
            if self.roles.is_test(call.caller.path):
                continue
            called = True
            if call.how in IN_GRAPHS or call.caller in self.withheld or graphs.get(call.caller, 0.0) >= 1.0:
                continue
            callers.append(call.caller)
            around = self._often.get(call.caller, 0.0)
            times = around * self._times(call) if around else 0.0
            if self.roles.of(call.caller.path) is Role.LIBRARY:
                elsewhere = max(elsewhere, times)  # who uses a library uses one of the ways into it
            else:
                count += times
        count += elsewhere
        if not called and not self.roles.is_test(code.path):
            # Somebody elsewhere calls it: once, for more would be a guess; a library that calls it back runs graphs.
            count = 0.0 if self.contracts.override(code) is not None else 1.0
        if self._is_open(code):
            count = max(count, _ELSEWHERE)
        self._often[code] = count
        self._called[code] = called
        self.savings.note(code, callers)

    def _is_way_in(self, code: Code) -> bool:
        """Whether who uses a library may begin with a function: not with one that another makes, or a library calls."""
        nested = code.in_function
        return self.roles.of(code.path) is Role.LIBRARY and not nested and self.contracts.override(code) is None

    def _is_open(self, code: Code) -> bool:
        """Whether callers elsewhere count that nobody sees; a library that calls it back runs graphs."""
        return self.opened is not None and self.opened.has(code) and self.contracts.override(code) is None

    def _times(self, call: Call) -> float:
        """How often a function is called in one call of its caller, at least.

        Loops of unknown length are those over epochs and batches in a program, but over layers and dims in a library,
        and in what a library calls back: there only one over a dataset is known to be long.
        """
        if self.roles.of(call.caller.path) is not Role.LIBRARY:
            likely = inf if call.how in BY_OTHERS else call.likely or 1.0
            if isinf(likely) and self.contracts.override(call.caller) is not None:
                return call.expected * (ITERATIONS if call.how in BY_OTHERS else 1)
            return likely
        if call.how in BY_OTHERS:
            return 1.0
        return (
            float(BATCHES) if isinf(call.most) and call.expected >= BATCHES else 1.0 if isinf(call.most) else call.most
        )

    def calls(self, code: Code, work: Work) -> float:
        """How often eager code calls a function, at least; inf in loops of unknown length."""
        often = self._often.get(code, 0.0)
        return max(often, _STEPS) if work.trains and often else often

    def pays(self, code: Code, work: Work) -> bool:
        """Whether the calls that are seen win back what tracing costs."""
        often = self._for_each(code, work)
        saved = work.eager - work.graph
        return saved > 0 and (isinf(often) or often * saved >= TRACING * work.trace * self._traces(code))

    def _traces(self, code: Code) -> int:
        """How many graphs those who call a function would have traced; of who uses a library, the one with most."""
        eager = [c for c in self._eager_calls(code) if self._graphs.get(c.caller, 0.0) < 1.0]
        own = [c for c in eager if self.roles.of(c.caller.path) is not Role.LIBRARY]
        return max((traces([*own, c]) for c in eager if c not in own), default=traces(own))

    def _for_each(self, code: Code, work: Work) -> float:
        """How often a function is called for each time that the one around it, if any, makes it, to be traced anew."""
        often, outer = self.calls(code, work), code.parent
        if outer is None or not outer.is_function:
            return often
        made, open_ = self._often.get(outer, 0.0), self.roles.of(outer.path) is Role.LIBRARY
        if not open_ and not isinf(made):
            return often / made if made > 1 else often
        calls = [c for c in self._eager_calls(code) if c.caller is not outer]
        each = sum(self._turns(c, open_ and work.trains) for c in self._eager_calls(code) if c.caller is outer)
        if not calls:
            return each
        if open_:  # what it gives back is called by those who have it made
            return each + sum(self._often.get(c.caller, 0.0) * self._turns(c, work.trains) for c in calls) / max(
                made, 1.0
            )
        return each + sum(c.weight for c in calls) / max(sum(c.weight for c in self._eager_calls(outer)), 1.0)

    def _eager_calls(self, code: Code) -> list[Call]:
        """The calls of a function by code that is no test, and not as part of a graph."""
        calls = self.frequency.calls.get(code, {}).values()
        return [c for c in calls if c.how not in IN_GRAPHS and not self.roles.is_test(c.caller.path)]

    @staticmethod
    def _turns(call: Call, trains: bool) -> float:
        """How often one call of the caller makes a call, at least; a loop of unknown length trains for many steps."""
        if call.how in BY_OTHERS:
            return 1.0
        if isinf(call.most):
            return _STEPS if trains else float(BATCHES) if call.expected >= BATCHES else 1.0
        return call.most

    def _is_called_back(self, code: Code) -> bool:
        """Whether a library calls a function, or all that calls it: graphs run it elsewhere."""
        callers = [call.caller for call in self.frequency.calls.get(code, {}).values()]
        return self.contracts.override(code) is not None or all(map(self.contracts.override, callers))

    def against(self, code: Code, work: Work, *, shown: bool = False) -> str | None:
        """Why the calls that are seen do not win back what tracing costs, in words; None where they do.

        `shown` says that calls only show what is called: one by a program then stands for more. Of what a library calls
        back it takes several, for graphs run that elsewhere.
        """
        often = self._often.get(code, 0.0)
        if shown and often and self._called.get(code, False) and not self._is_called_back(code):
            return None
        if work.cautious < (_STEP_MARGIN if work.trains else MARGIN):
            times = f"perhaps {work.cautious:.1f} times as fast as eager code"
            return f"the graph is {times}: no more than the estimate may be wrong by"
        again = self._again(code, work)
        if again is not None:
            return again
        brief = None if shown else self._brief(code, work)
        if brief is not None:
            return brief
        if self.pays(code, work) or (shown and often > 1):
            return None
        if not self._called.get(code, False):
            callers = "nothing but tests calls it here" if self.frequency.calls.get(code) else "nothing here calls it"
            return f"{callers}: nobody is seen to call it eagerly again and again"
        if not often:
            return "no eager code that is no test is seen to call it"
        each = self._for_each(code, work)
        if isinf(each):
            return "a graph of it is expected to save nothing"
        made = f" for each time that `{code.parent.qualname}` makes it" if code.parent and each != often else ""
        times = "once" if 0 < each <= 1 else f"{each:.0f} times"
        graphs = self._traces(code)
        tracing = f"tracing it for {graphs} kinds of arguments" if graphs > 1 else "tracing it"
        return f"eager code is seen to call it {times}{made}: {tracing} takes longer than that saves"

    def _brief(self, code: Code, work: Work) -> str | None:
        """Says that a program takes so many steps of training and no more, and that this saves too little.

        What trains nothing is weighed against the run around it (`unnoticed`).
        """
        bound = self.frequency.bound(code, self._graphs)
        saved = bound.count * (work.eager - work.graph)
        if not work.trains or isinf(bound.count) or saved >= costs.NOTICED:
            return None
        if not bound.is_whole(code.path) or self.roles.of(code.path) is Role.LIBRARY:
            return None
        often = "once" if bound.count == 1 else f"at most {bound.count:.0f} times"
        return f"eager code calls it {often}: a graph of it saves {saved / 1e6:.2f} s of a run"

    def _again(self, code: Code, work: Work) -> str | None:
        """Says that eager tapes around the calls have its graph compute again what they derive, where that costs."""
        derivatives = self.nesting.of(code)
        share = costs.derived_again(derivatives)
        if not share:
            return None
        if not self._is_sized(code):
            return f"eager code takes {derivatives} derivatives of it, one of another: of how much, is not known"
        unknown = costs.GUESSED * work.guessed
        more = share * (costs.computing_time(work.elements, work.flops) + unknown)
        faster = (work.eager + unknown) / (work.graph + unknown + more)
        said = (
            f"eager code takes {derivatives} derivatives of it, one of another, and graphs compute the ones before anew"
        )
        return f"{said}: the graph is perhaps {faster:.1f} times as fast as eager code" if faster < MARGIN else None

    def _is_sized(self, code: Code) -> bool:
        """Whether the sizes of all tensors that arrive are known, or those of batches."""
        args = [value for frame in self.nesting.frames.get(code, ()) for value in frame.args]
        tensors = [o for value in args for o in value if isinstance(o, Tensor) and o.kind != VARIABLE]
        return all(o.shape is not None and UNRESOLVED not in o.shape for o in tensors)

    def unnoticed(self, made: Mapping[Code, Work], others: Mapping[Code, Work]) -> dict[Code, str]:
        """Of the conversions that are made, and of some others, those that nobody would notice, each with the reason.

        All that runs such a function eagerly does other work that takes longer, with the graphs of the ones made.
        """
        works = {**made, **others}
        asked = [code for code in works if not self._is_open(code)]
        result: dict[Code, str] = {}
        shares = self.savings.shares(made, asked) if asked else {}
        for code in asked:
            share, saved = shares.get(code), works[code].eager - works[code].graph
            if works[code].trains and (share is None or share.looping < _LOOPING):
                continue
            if share is not None and share.of < _SHARE:
                whole = "its file" if share.start.is_module else f"`{share.start.qualname}`"
                result[code] = f"a graph of it would save {share.of:.1%} of the time of what {whole} does"
            elif share is not None and saved < costs.GUESSED * _EACH and _least(share, works[code]) < _SHARE:
                result[code] = f"a graph of it saves {saved / 1000:.1f} ms a call, beside work of unknown sizes"
            elif saved < _EACH and not works[code].derives and not (share is not None and share.known):
                result[code] = (
                    f"a graph of it saves {saved / 1000:.1f} ms a call, beside work of which not all is known"
                )
        return result


def _least(share: Share, work: Work) -> float:
    """The share of a run that a function's graph saves where what is done beside it takes as long as it may.

    Images of unknown sizes are guessed to be small.
    """
    saved = work.eager - work.graph
    beside = share.guessed - share.saved / saved * work.guessed if saved > 0 else share.guessed
    return share.saved / (share.saved / share.of + (costs.GUESSED - 1) * max(beside, 0.0))
