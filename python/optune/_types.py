# SPDX-License-Identifier: Apache-2.0
"""What the library tells, as plain values."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

#: What an element is called in numpy and torch; bf16 is numpy's with ml_dtypes.
DTYPE_NAMES = {
    "f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "bool": "bool",
    **{f"{sign}{bits}": f"{word}{bits}" for sign, word in (("i", "int"), ("u", "uint"))
       for bits in (8, 16, 32, 64)},
}
#: How the library writes it, as in ``u1[4]``; it reads both.
_WRITTEN = {"u1": "bool"}
_BYTES = {"f16": 2, "f32": 4, "f64": 8, "bf16": 2, "bool": 1}


@dataclass(frozen=True)
class TensorType:
    """The type of an input or output: ``f32[1,64]`` has dtype ``f32`` and shape ``(1, 64)``.

    ``const``: the input never changes and is handed over once. Sizes that are not known are None;
    a shape of unknown rank is None.
    """

    dtype: str
    shape: Optional[Tuple[Optional[int], ...]]
    const: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _WRITTEN.get(self.dtype, self.dtype))

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _BYTES.get(self.dtype) or int(self.dtype[1:]) // 8

    @property
    def size(self) -> int:
        """How many elements there are; the shape must be known."""
        if self.shape is None:
            raise ValueError(f"the size of {self} is not known")
        n = 1
        for dim in self.shape:
            n *= dim or 0
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[...]"
        dims = ",".join("?" if n is None else str(n) for n in self.shape)
        return f"{'const ' if self.const else ''}{self.dtype}[{dims}]"


def knobs_of(config: Any) -> Dict[str, Any]:
    """A config's entities ``[name, kind, value]`` as ``{name: value}``."""
    return {entity[0]: entity[2] for entity in config or []}


@dataclass(frozen=True)
class Selection:
    """What would be used for a workload, and why."""

    workload: str
    impl: str
    #: What the choice rests on: "tuned", "unverified", "hinted" (never measured here: the config
    #: is what a log of others recommends) or "plevel" (the fallback config).
    tier: str
    #: Entities ``[name, kind, value]``, see docs/formats.md.
    config: List[Any]
    #: Seconds of one run; None: never measured.
    cost: Optional[float]
    #: For people; with ``explain`` every implementation with its cost or why it was refused.
    why: str = field(repr=False)
    #: With ``explain``: the document of docs/formats.md (`optune select --json`), else None.
    details: Optional[Dict[str, Any]] = field(default=None, repr=False)

    @property
    def knobs(self) -> Dict[str, Any]:
        return knobs_of(self.config)

    def __str__(self) -> str:
        return self.why

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.why)  # what a notebook shows


@dataclass(frozen=True)
class Record:
    """One measured trial. Times are seconds."""

    workload: str
    op: str
    impl: str
    target: str
    device: str
    policy: str
    config: List[Any] = field(repr=False)
    #: "ok", "compile", "wrong", "crash" ...
    outcome: str
    #: Why it failed; None where it did not.
    message: Optional[str]
    #: Median of one run and its 95 % interval; None where it failed.
    cost: Optional[float]
    low: Optional[float]
    high: Optional[float]
    samples: List[float] = field(repr=False)
    #: Measured interleaved with the other finalists.
    final: bool
    #: Largest error seen, as a fraction of its bound.
    error: Optional[float]
    #: Unix time at its end, and the seconds the trial took.
    time: float
    trial_seconds: float
    #: What the outcome depends on: compiler, library, ...
    depends: Dict[str, str] = field(repr=False)
    counters: Dict[str, float] = field(repr=False)
    digest: str = field(repr=False)
    tool: Optional[str] = None

    @property
    def knobs(self) -> Dict[str, Any]:
        return knobs_of(self.config)

    @staticmethod
    def from_line(line: Dict[str, Any]) -> "Record":
        """From a line of a log (docs/formats.md)."""
        more, result = line["optune"], line["result"]
        good = more.get("outcome") == "ok"
        return Record(
            workload=more["call"], op=more.get("op") or "", impl=more["impl"],
            target=more["target"], device=more["device"], policy=more.get("policy") or "warm",
            config=line["config"]["entity"], outcome=more.get("outcome") or "unknown",
            message=more.get("message") or None, cost=more.get("cost") if good else None,
            low=more.get("low") if good else None, high=more.get("high") if good else None,
            samples=list(result[0]) if good else [], final=bool(more.get("final")),
            error=more.get("error"), time=result[3], trial_seconds=result[2],
            depends=more.get("depends") or {},
            counters={name: float(value) for name, value in (more.get("counters") or {}).items()},
            digest=more.get("digest") or "", tool=more.get("tool"))

    def row(self) -> Dict[str, Any]:
        """Flat, for a table: no lists, a knob's column is ``knob.NAME``."""
        row = {name: getattr(self, name) for name in (
            "workload", "op", "impl", "target", "device", "policy", "outcome", "message", "cost",
            "low", "high", "final", "error", "time", "trial_seconds", "digest", "tool")}
        row["samples"] = len(self.samples)
        row.update((f"depends.{name}", value) for name, value in self.depends.items())
        row.update((f"counter.{name}", value) for name, value in self.counters.items())
        for name, value in self.knobs.items():
            row[f"knob.{name}"] = value if not isinstance(value, list) else json.dumps(value)
        return row


@dataclass(frozen=True)
class Progress:
    """Where a run stands. Times are seconds."""

    #: "starting", "preparing", "searching", "waiting", "finals", "done"
    phase: str
    #: 1-based, and how many; 0: none yet.
    workload: int
    workloads: int
    call: Optional[str]
    #: Of the trial that just ended.
    impl: Optional[str]
    #: Done for this workload, and its budget.
    trial: int
    trials: int
    #: The best cost so far, and whose; None: none yet.
    best: Optional[float]
    best_impl: Optional[str]
    #: Operations of the workload.
    flops: float
    failures: int
    #: Seconds until the end; None: unknown.
    left: Optional[float]
    #: Something to tell once.
    note: Optional[str]


@dataclass(frozen=True)
class Timing:
    """A candidate in a tuning's table: median seconds of one run and their 95 % interval."""

    impl: str
    config: List[Any] = field(repr=False)
    cost: float
    low: float
    high: float
    samples: int
    final: bool

    @property
    def knobs(self) -> Dict[str, Any]:
        return knobs_of(self.config)

    @staticmethod
    def of(entry: Optional[Dict[str, Any]]) -> Optional["Timing"]:
        if not entry:
            return None
        return Timing(**{name: entry[name] for name in Timing.__dataclass_fields__})


@dataclass(frozen=True)
class TunedWorkload:
    """A row of a tuning's table."""

    workload: str
    winner: Optional[Timing]
    #: What cannot be told from the winner.
    ties: List[Timing] = field(repr=False)
    #: What would have been used untuned, and the fastest library that is present.
    default: Optional[Timing] = field(repr=False)
    library: Optional[Timing] = field(repr=False)
    library_name: Optional[str] = field(repr=False)
    trials: int
    new_trials: int
    #: How often which outcome.
    failures: Dict[str, int] = field(repr=False)
    #: Why it failed or has no time; None: nothing is wrong.
    problem: Optional[str]
    #: The winner's, by their names; None: what one needs was not measured.
    metrics: Dict[str, Optional[float]] = field(default_factory=dict, repr=False)

    @property
    def speedup(self) -> Optional[float]:
        """Over the untuned default."""
        if not self.winner or not self.default:
            return None
        return self.default.cost / self.winner.cost


@dataclass(frozen=True)
class Tuning:
    """What a run of :meth:`optune.Optune.tune` found."""

    workloads: List[TunedWorkload]
    new_trials: int
    failures: int
    interrupted: bool
    seconds: float
    #: The table, for people.
    text: str = field(repr=False)
    #: The document of docs/formats.md (`optune run --json`).
    details: Dict[str, Any] = field(repr=False)

    @staticmethod
    def of(text: str, details: Dict[str, Any]) -> "Tuning":
        rows = [TunedWorkload(
            workload=row["call"], winner=Timing.of(row["winner"]),
            ties=[t for t in map(Timing.of, row["ties"] or []) if t],
            default=Timing.of(row["default"]), library=Timing.of(row["library"]),
            library_name=row["library_name"], trials=row["trials"],
            new_trials=row["new_trials"], failures=row["failures"] or {},
            problem=row["problem"], metrics=row["metrics"]) for row in details["workloads"]]
        return Tuning(workloads=rows, new_trials=details["new_trials"],
                      failures=details["failures"], interrupted=bool(details["interrupted"]),
                      seconds=details["seconds"], text=text, details=details)

    def __str__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)  # what a notebook shows


@dataclass(frozen=True)
class CallType:
    """What a workload takes and gives."""

    workload: str
    op: str
    inputs: Tuple[TensorType, ...]
    outputs: Tuple[TensorType, ...]
