# SPDX-License-Identifier: Apache-2.0
"""Configs of the database for AutoTVM's templates, while TVM compiles.

``ApplyOptuneBest`` stands where ``autotvm.apply_history_best`` does, and needs no log file: it asks the
database for each workload that TVM meets::

    import optune.tvm
    with optune.tvm.ApplyOptuneBest(target="cpu -threads=4") as best:
        lib = relay.build(mod, target="llvm -num-cores=4", params=params)
    print(best.explain())              # what was found, what was not, and why
    best.handle.tune(best.untuned)     # tune the rest; then build again

What it answers was measured and verified on this device, for this kind of target and this number of
threads; for anything else, and for templates that are unknown here, the contexts around it are asked, and at
last TVM's own fallback. TVM 0.8 to 0.19 have AutoTVM; the module can be imported without.
"""

from __future__ import annotations

import copy
import json
import logging
from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from . import (NotFoundError, Optune, UnsupportedError, WorkloadSyntaxError,
               WorkloadTypeError, default)
from ._errors import UsageError, text_of
from ._handle import Path
from ._library import Err, check, encode, lib

_missing: Optional[str] = None
try:
    from tvm.autotvm.task import ConfigEntity as _ConfigEntity
    from tvm.autotvm.task import DispatchContext as _DispatchContext
except Exception as _error:  # a TVM without AutoTVM, none, or one that does not load
    _missing = (f"optune.tvm needs a TVM that has AutoTVM, 0.8 to 0.19: "
                f"{type(_error).__name__}: {_error}")
    _ConfigEntity, _DispatchContext = None, object

_logger = logging.getLogger("optune")


@dataclass
class Answer:
    """What was answered to one question of TVM's."""

    target: str
    template: str
    call: Optional[str]  #: the workload here; None: it has no such, or is another machine's
    cost: Optional[float]  #: seconds; None: nothing was found
    config: Any  #: a ConfigEntity; None: nothing was found
    reason: str  #: its tier, or why there is none


def _plain(value: Any) -> Any:
    """Numbers of TVM's own, as they stand in some workloads."""
    if hasattr(value, "value"):
        return value.value
    raise TypeError(f"{type(value).__name__} is no argument of a log line")


class ApplyOptuneBest(_DispatchContext):  # type: ignore[misc]
    """A dispatch context of AutoTVM's that answers from a database of optune.

    ``handle``: an :class:`optune.Optune`, which stays open; else one is opened as by
    :func:`optune.open`, the default one where nothing is said. Its device, target and policy say
    which records count. ``-libs`` of TVM's target say which libraries do. Within one ``with``, a
    question is asked of the database once.
    """

    def __init__(self, handle: Optional[Optune] = None, *, db: Optional[Path] = None,
                 target: Optional[str] = None, device: Optional[str] = None,
                 policy: Optional[str] = None) -> None:
        if _missing:
            raise UnsupportedError(_missing)
        if handle is not None and not isinstance(handle, Optune):
            raise UsageError(f"a handle of optune.open is expected, not {type(handle).__name__}; "
                             "a folder is db=...")
        told = any(word is not None for word in (db, target, device, policy))
        if handle is not None and told:
            raise UsageError("a handle has its database, target, device and policy")
        super().__init__()
        self._own = Optune(db, target, device=device, policy=policy) if told else None
        self._handle = self._own or handle
        self._answers: Dict[Tuple[str, Any], Answer] = {}
        self._defined: Dict[Tuple[str, Any], Any] = {}

    @property
    def handle(self) -> Optune:
        """Who is asked."""
        return self._handle or default()

    # ---- as TVM asks ----

    def _query_inside(self, target: Any, workload: Any) -> Any:
        if target is None:
            raise RuntimeError("no target to find a config for: `with tvm.target.Target(...):` "
                               "around the call says it")
        for key in target.keys:
            if (str(key), workload) in self._defined:
                return self._defined[str(key), workload]
        asked = (str(target), workload)
        if asked not in self._answers:
            self._answers[asked] = answer = self._ask(str(target), workload)
            _logger.debug("tvm asks %s: %s", answer.template, answer.reason)
        return self._answers[asked].config

    def update(self, target: Any, workload: Any, cfg: Any) -> None:
        """A config that TVM says itself, for an operator whose layout it altered."""
        own = copy.copy(cfg)  # its cost is another one's, too
        own.cost = 0
        for key in target.keys:
            self._defined[str(key), workload] = own

    def __enter__(self) -> "ApplyOptuneBest":
        self._answers.clear()
        self._defined.clear()
        super().__enter__()
        return self

    # ---- the database ----

    def _ask(self, target: str, workload: Any) -> Answer:
        template = str(workload[0])
        answer = Answer(target, template, None, None, None, "")
        try:
            task = json.dumps([target, template, list(workload[1:]), {}], default=_plain)
        except (TypeError, ValueError) as error:
            answer.reason = f"its arguments cannot be said in a log: {error}"
            return answer
        result, err = c_void_p(), Err()
        with self.handle._counted as o:
            status = lib.optune_query_tvm(o, encode(task), byref(result), byref(err))
        found: Dict[str, Any] = {}
        if result:
            found = json.loads(lib.optune_result_json(result))
            lib.optune_result_free(result)
        answer.call = found.get("call")
        try:
            check(status, err)
        except (NotFoundError, WorkloadSyntaxError, WorkloadTypeError):
            answer.reason = text_of(err.text)
            return answer
        # Not by tvm.autotvm.record.decode: the target of the line may have words that an older
        # TVM refuses, and it is not asked for.
        answer.config = _ConfigEntity.from_json_dict(found["record"]["config"])
        answer.config.cost = answer.cost = found["cost"]
        answer.reason = found["tier"]
        return answer

    # ---- for people ----

    @property
    def answers(self) -> List[Answer]:
        """What TVM asked since the ``with``, in order."""
        return list(self._answers.values())

    @property
    def untuned(self) -> List[str]:
        """Workloads that TVM asked for and none of whose templates has a record: what
        :meth:`optune.Optune.tune` takes."""
        known = {a.call for a in self.answers if a.config is not None}
        return list(dict.fromkeys(a.call for a in self.answers if a.call and a.call not in known))

    def explain(self, template: Optional[str] = None) -> str:
        """What was answered, question by question, and why; of one template, or of all."""
        lines = []
        for a in self.answers:
            if template is not None and a.template != template:
                continue
            said = f"{a.template}  {a.call}\n  " if a.call else f"{a.template}\n  "
            if a.cost is not None:
                said += f"{a.cost * 1e6:.1f} us, {a.reason}: {a.config}"
            else:
                said += f"left to TVM: {a.reason}"
            lines.append(said)
        return "\n".join(lines) or "TVM asked for nothing yet" + (
            f" of {template}" if template else "")

    def close(self) -> None:
        """Closes the handle that was opened here."""
        if self._own:
            self._own.close()


__all__ = ["Answer", "ApplyOptuneBest"]
