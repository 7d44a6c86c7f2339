# SPDX-License-Identifier: Apache-2.0
"""The handle: a target, a database, and all that is asked of them."""

from __future__ import annotations


import json
import logging
import math
import os
from contextlib import ExitStack
from ctypes import byref, c_void_p
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._dispatch import Dispatch
from ._errors import Interrupted, PartialError, UsageError, failure, text_of
from ._function import Constants, Function, result_json
from . import _kernel
from ._graph import Bound, Graph
from ._kernel import Kernel, KernelTuning
from ._library import (Counted, DispatchOptions, Err, ExportOptions, Here, HubOptions, LogFn,
                       Options, ReportOptions, RunOptions, SimulateOptions, VerifyOptions, check,
                       encode, filled, lib, opened, share_symbols, texts)
from ._report import Report
from ._run import LongCall, ProgressCallback, callback
from ._types import Record, Selection, Tuning

_logger = logging.getLogger("optune")
_LEVELS = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO, 3: logging.DEBUG}
_NAMES = {"error": 0, "warning": 1, "info": 2, "debug": 3}

#: The path of a file or folder.
Path = Union[str, "os.PathLike[str]"]


def _path(path: Optional[Path]) -> Optional[bytes]:
    return None if path is None else os.fsencode(path)


def _paths(paths: Union[None, Path, Sequence[Path]]) -> Optional[List[str]]:
    if paths is None:
        return None
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def _log_to(log: Optional[Callable[[str, str], Any]]) -> Any:
    names = {number: name for name, number in _NAMES.items()}

    def say(_: Any, level: int, raw: bytes) -> None:
        try:
            if log:
                log(names.get(level, "debug"), text_of(raw))
            else:
                _logger.log(_LEVELS.get(level, logging.DEBUG), "%s", text_of(raw))
        except Exception:  # it must not leave a callback of C
            _logger.exception("a log callback failed")
    return LogFn(say)


class Optune(Here):
    """A target, a database and what was found behind them. Made by :func:`optune.open`.

    Several threads may use one handle at once; runs take turns. It is a context manager; functions
    and graphs made from it go on after it is closed.
    """

    _again = "open another with optune.open()"

    def __init__(self, db: Optional[Path] = None, target: Optional[str] = None, *,
                 device: Optional[str] = None, policy: Optional[str] = None,
                 plugins: Union[None, Path, Sequence[Path]] = None,
                 log: Optional[Callable[[str, str], Any]] = None,
                 log_level: str = "warning") -> None:
        if log_level not in _NAMES:
            raise UsageError(f"no log level '{log_level}': there are {', '.join(_NAMES)}")
        callback("log", log, "(level, text)")
        if plugins is not None or os.environ.get("OPTUNE_PLUGINS"):
            share_symbols()
        self._log = _log_to(log)
        options = filled(Options, target=encode(target), db=_path(db), device=encode(device),
                         plugins=texts(_paths(plugins)), log_level=_NAMES[log_level],
                         log=self._log, policy=encode(policy))
        self._counted = Counted("handle", opened(lib.optune_open, byref(options)),
                                self._free_with(self._log))
        self._run = LongCall(self._counted)

    @staticmethod
    def _free_with(log: Any) -> Callable[[c_void_p], None]:
        """Frees the handle; until then its callback lives."""
        def free(pointer: c_void_p, _log: Any = log) -> None:
            lib.optune_close(pointer)
        return free

    # ---- asking ----

    def select(self, workload: str, explain: bool = False) -> Selection:
        """What would be used for a workload, and why: from records, else by priority level.

        ``explain``: ``why`` tells of every implementation, and ``details`` is the whole document.
        """
        with self._counted as o:
            s = opened(lib.optune_select, o, encode(workload))
        try:
            cost = lib.optune_selection_cost(s)
            return Selection(
                workload=workload, impl=text_of(lib.optune_selection_impl(s)),
                tier=text_of(lib.optune_selection_tier(s)),
                config=json.loads(lib.optune_selection_config(s) or b"[]"),
                cost=cost if math.isfinite(cost) else None,
                why=text_of(lib.optune_selection_text(s, explain)),
                details=json.loads(lib.optune_selection_json(s)) if explain else None)
        finally:
            lib.optune_selection_free(s)

    def query(self, workload: str) -> Record:
        """The best current record of a workload. NotFoundError: there is none; the message says
        whether it was never tuned or what made its records stale."""
        with self._counted as o:
            found = opened(lib.optune_query, o, encode(workload))
        try:
            told = result_json(opened(lib.optune_found_json, found))
        finally:
            lib.optune_found_free(found)
        return Record.from_line(told["record"])

    def records(self, op: Optional[str] = None, *, impl: Optional[str] = None,
                target: Optional[str] = None, threads: int = 0, device: Optional[str] = None,
                policy: Optional[str] = None, best: bool = False,
                workload: Optional[str] = None) -> List[Dict[str, Any]]:
        """Records as flat rows, oldest first: ``pandas.DataFrame(o.records("dense"))``.

        All conditions must hold; ``best``: one for each question, what select would choose. Knobs
        are in columns ``knob.NAME``, times in seconds.
        """
        return [record.row() for record in self.trials(
            op, impl=impl, target=target, threads=threads, device=device, policy=policy,
            best=best, workload=workload)]

    def trials(self, op: Optional[str] = None, *, impl: Optional[str] = None,
               target: Optional[str] = None, threads: int = 0, device: Optional[str] = None,
               policy: Optional[str] = None, best: bool = False,
               workload: Optional[str] = None) -> List[Record]:
        """The same as :class:`optune.Record`, samples and configs included."""
        if workload is not None:
            from ._function import workload_type
            workload = workload_type(workload).workload
        with self._counted as o:
            result = self._export(o, op, impl, target, threads, device, policy, best, None)
            try:
                log = lib.optune_result_text(result)
            finally:
                lib.optune_result_free(result)
        found = (Record.from_line(json.loads(line)) for line in log.splitlines()
                 if line and not line.startswith(b"#"))
        return [r for r in found if workload is None or r.workload == workload]

    def tuned(self, op: Optional[str] = None, *, impl: Optional[str] = None,
              target: Optional[str] = None, threads: int = 0, device: Optional[str] = None,
              policy: Optional[str] = None) -> List[Dict[str, Any]]:
        """What was tuned, a row for each workload (`optune list`): its winner and whether it holds,
        in ``state`` ("tuned", "stale", "unverified", "refused", "hinted", "failed", "unknown") and
        ``why``; ``cost``, ``low`` and ``high`` in seconds, how many records. All conditions must
        hold. NotFoundError: there is no such operator, implementation or device, or no database."""
        with self._counted as o:
            options = self._conditions(op, impl, target, threads, device, policy)
            result = opened(lib.optune_list_tuned, o, byref(options), 0)
        rows: List[Dict[str, Any]] = result_json(result)["workloads"]
        return rows

    def report(self, what: Union[str, Sequence[str], Graph], *,
               title: Optional[str] = None) -> Report:
        """What is stored of a workload, of several, of an operator or of a graph of this handle:
        the search over time, finalists, what the knobs explain, layers. Measures nothing. A
        notebook shows what it gives; ``save("report.html")`` writes the page, ``rows()`` are for
        plots of one's own. NotFoundError: nothing is stored."""
        options = filled(ReportOptions, title=encode(title))
        with ExitStack() as held:
            o = held.enter_context(self._counted)
            if isinstance(what, Graph):
                held.enter_context(what._lock)
                options.partition = held.enter_context(what._live(what._partition))
            elif isinstance(what, str) and "(" not in what:
                options.op = encode(what)
            else:
                options.workloads = texts([what] if isinstance(what, str) else list(what))
            result = opened(lib.optune_report, o, byref(options))
        try:
            return Report(json.loads(lib.optune_result_json(result)),
                          text_of(lib.optune_result_text(result)))
        finally:
            lib.optune_result_free(result)

    @staticmethod
    def _conditions(op: Optional[str], impl: Optional[str], target: Optional[str], threads: int,
                    device: Optional[str], policy: Optional[str],
                    **more: Any) -> Any:
        return filled(ExportOptions, op=encode(op), impl=encode(impl), target=encode(target),
                      threads=threads, device=encode(device), policy=encode(policy), **more)

    @staticmethod
    def _export(o: c_void_p, op: Optional[str], impl: Optional[str], target: Optional[str],
                threads: int, device: Optional[str], policy: Optional[str], best: bool,
                path: Optional[Path], tvm: bool = False) -> c_void_p:
        options = Optune._conditions(op, impl, target, threads, device, policy, best=best,
                                     tvm=tvm, path=_path(path))
        return opened(lib.optune_export_records, o, byref(options))

    # ---- tuning ----

    def tune(self, what: Union[str, Sequence[str], Graph], *, preset: Optional[str] = None,
             impls: Optional[Sequence[str]] = None, search: Optional[str] = None,
             trials: int = 0, seconds: float = 0, seed: int = 0, again: bool = False,
             transfer: bool = True, log: Optional[Path] = None,
             metrics: Optional[Mapping[str, str]] = None,
             progress: Optional[ProgressCallback] = None) -> Tuning:
        """Measures and stores. ``what``: a workload, several, a graph of this handle (each of its
        workloads once, and at the end the best of each in the running graph; other threads wait
        for it meanwhile; where dims are ranges, dispatch tables, ``details["tables"]``), or an
        operator's name for its ``preset``.

        ``trials`` of each workload and ``seconds`` for all: 0 is the default, negative seconds are
        no limit. Searches learn from records of other workloads and devices unless ``transfer`` is
        False. ``metrics`` are figures of every winner, ``{"GFLOP/s": "flops / time / 1e9"}``:
        docs/tune.md says over what. ``progress`` is called in this thread with an
        :class:`optune.Progress` for every event; what it raises ends the run and comes out here.

        Ctrl-C ends the run with everything measured so far stored and raises
        :class:`optune.Interrupted`, a KeyboardInterrupt whose ``result`` is what there is; calling
        again goes on from there. PartialError: some workload has no time; its ``result`` has the
        others.
        """
        op, workloads, policy, graph = None, None, None, None
        if isinstance(what, Graph):
            workloads, policy, graph = what.constants_to_tune(), what.policy, what
        elif not isinstance(what, str):
            workloads = list(what)
        elif "(" in what:
            workloads = [what]
        else:
            op = what
        if workloads is not None and preset is not None:
            raise UsageError("a preset goes with an operator's name, not with workloads")
        if workloads is not None and not workloads and \
                (graph is None or graph._used is not self._counted):
            raise UsageError("there are no workloads to tune")
        options = filled(
            RunOptions, op=encode(op), workloads=texts(workloads),
            preset=encode(preset), impls=texts(impls), search=encode(search), trials=trials,
            seconds=seconds, seed=seed, again=again, log=_path(log), policy=encode(policy),
            no_transfer=not transfer,
            metrics=texts([f"{name}={text}" for name, text in (metrics or {}).items()]))
        with ExitStack() as held:
            if graph is not None and graph._used is self._counted:
                held.enter_context(graph._lock)
                options.graph = held.enter_context(graph._live(graph._partition))
            tuning: Tuning = self._long(lib.optune_run, options, progress, Tuning.of)
        return tuning

    def _long(self, function: Any, options: Any, progress: Optional[ProgressCallback],
              made_of: Callable[[str, Any], Any]) -> Any:
        def take(result: Optional[c_void_p]) -> Any:
            if not result:
                return None
            try:
                return made_of(text_of(lib.optune_result_text(result)),
                               json.loads(lib.optune_result_json(result)))
            finally:
                lib.optune_result_free(result)
        try:
            return take(self._run(function, options, progress))
        except (Interrupted, PartialError) as ended:
            ended.result = take(getattr(ended, "pointer", None))
            raise

    def verify(self, what: Union[None, str, Sequence[str]] = None, *, seconds: float = 0,
               sample: int = 0, seed: int = 0, max_age: float = 0, idle: bool = False,
               progress: Optional[ProgressCallback] = None) -> Dict[str, Any]:
        """Measures stored winners once more: all of this target and policy, or those of an
        operator, a workload, or several of these; ``sample``: at most so many, those measured
        longest ago, or drawn by ``seed``; ``max_age``: not those measured within so many days;
        ``idle``: only while the cores are.

        The document has "winners", each with its "status" ("holds", "moved", "wrong", "does not
        build", "stale", "not measured"), its figures "then" and "now", and the "reason". The new
        measurements count from now on. NotFoundError: there is nothing to verify. PartialError: a
        winner computes wrong values; its ``result`` is the document. Else it ends like
        :meth:`tune`.
        """
        options = filled(
            VerifyOptions, what=texts([what] if isinstance(what, str) else what),
            seconds=seconds, sample=sample, seed=seed, max_age=max_age, idle=idle)
        told: Dict[str, Any] = self._long(lib.optune_verify, options, progress,
                                          lambda _, document: document)
        return told

    def bring(self, path: Path, workload: Optional[str] = None) -> Kernel:
        """A kernel's file, or a program's (docs/tune.md), as an operator of this process and of
        every later handle on this database. ``workload``: of other sizes than the file's."""
        kernel = _kernel.bring(path, workload)
        err = Err()
        with self._counted as o:
            check(lib.optune_remember(o, encode(os.fspath(path)), byref(err)), err)
        return kernel

    def tune_kernel(self, kernel: str, source: Optional[str] = None,
                    arguments: Union[None, Sequence[str], Mapping[str, Any]] = None,
                    tune_params: Optional[Mapping[str, Sequence[Any]]] = None, *,
                    workload: Optional[str] = None, lang: Optional[str] = None,
                    folder: Optional[Path] = None, search: Optional[str] = None,
                    trials: int = 0, seconds: float = 0, seed: int = 0, again: bool = False,
                    progress: Optional[ProgressCallback] = None,
                    **told: Any) -> KernelTuning:
        """Tunes a kernel of one's own.

        ``kernel`` alone: a file that has its statements. Else the function's name; ``source``: its
        code or a file of it, in C, OpenCL C or CUDA (``lang`` where it does not show);
        ``arguments``: the parameters in their order, as texts (``"x: f32[N]"``, ``"out y:
        f32[N]"``, ``"inout z: f32[N]"``, ``"a: f32 = 2.5"``) or by name with arrays, numpy
        scalars or texts, where ``outputs`` names what the kernel writes and ``inouts`` what it
        reads and writes; ``tune_params``: knobs, macros in the code. And
        ``sizes``, ``restrictions`` (expressions), ``defaults`` (of knobs), ``grid``, ``block``,
        ``shared`` (expressions, of GPUs), ``reference`` (a C function of the source),
        ``tolerance``, ``flops``, ``bytes``, ``flags``, ``name``: the statements of docs/tune.md.

        Of arrays only dtype and shape are taken: every config is verified on random inputs,
        against ``reference`` or else the default config. The source is kept, with its statements,
        in ``folder`` (``.optune`` beside a file, or the file's own where it includes others; else
        $XDG_DATA_HOME/optune/kernels). The handle's target has to
        be of the kernel's language. Ends like :meth:`tune`.
        """
        if source is None:
            extra = [name for name, given in (("arguments", arguments),
                                              ("tune_params", tune_params), *told.items()) if given]
            if extra:
                raise UsageError(f"{extra[0]} goes with a source; '{kernel}' has its own "
                                 "statements")
            brought = self.bring(kernel, workload)
        else:
            if arguments is None or tune_params is None:
                raise UsageError("a source needs its arguments and tune_params")
            brought = _kernel.write(kernel, os.fspath(source),
                                    {"arguments": arguments, "tune_params": tune_params, **told},
                                    None if folder is None else os.fspath(folder), lang, workload)
            self.bring(brought.path, workload)
        # A longer one than a Kernel holds is the operator's preset.
        own = brought.workload
        tuning = self.tune([own] if own else brought.op, search=search, trials=trials,
                           seconds=seconds, seed=seed, again=again, progress=progress)
        env = {name: tuning.details.get(name) for name in ("device", "target", "search")}
        return _kernel.results_of(
            brought, [r for r in self.trials(brought.op,
                                             workload=own or tuning.workloads[0].workload)
                      if r.device == env["device"] and r.target == env["target"]], env, tuning)

    def interrupt(self) -> None:
        """Asks a run of this handle in another thread to end soon; nothing is lost. It raises
        :class:`optune.Interrupted` there. Does nothing when none is under way."""
        self._run.interrupt()

    # ---- computing ----

    def function(self, workload: str, constants: Constants = None) -> Function:
        """The selected implementation as something to call on arrays, see
        :class:`optune.Function`. ``constants``: an array for each constant input, in order, or by
        the input's number."""
        return Function(self._counted, workload, constants)

    def graph(self, source: Path, bind: Optional[Mapping[str, Bound]] = None,
              precision: Optional[str] = None) -> Graph:
        """A graph from a file, or from text that has a line break; ``bind`` gives its symbolic dims
        numbers, or ranges, ``(1, 64)``; ``precision``: see :class:`optune.Graph`."""
        return Graph(self._counted, os.fspath(source), bind, precision)

    # ---- symbolic shapes ----

    def dispatch(self, workload_or_file: str) -> Dispatch:
        """The table of a workload with ranges, or of a file. NotFoundError: there is none yet,
        :meth:`tune_dispatch` makes one."""
        return Dispatch(self._counted, os.fspath(workload_or_file))

    def tune_dispatch(self, workload: str, *, output: Optional[Path] = None,
                      search: Optional[str] = None, trials: int = 0, seconds: float = 0,
                      points: int = 0, regret: int = 0, seed: int = 0,
                      log: Optional[Path] = None,
                      progress: Optional[ProgressCallback] = None) -> Dict[str, Any]:
        """Chooses shapes of a workload with ranges, tunes them, keeps the table in the database,
        and as C in ``output`` (FILE.c). 0 is the default of a number. Ends like :meth:`tune`."""
        options = filled(
            DispatchOptions, workload=encode(workload), output=_path(output),
            search=encode(search), trials=trials, seconds=seconds, points=points,
            regret=regret, seed=seed, log=_path(log))
        told: Dict[str, Any] = self._long(lib.optune_dispatch_tune, options, progress,
                                          lambda _, document: document)
        return told

    # ---- the rest ----

    def simulate(self, files: Union[Path, Sequence[Path]] = (), *,
                 workload: Optional[str] = None, log: Optional[Path] = None,
                 searches: Optional[Sequence[str]] = None, repeats: int = 0, seed: int = 0,
                 plot: Optional[Path] = None, trials: int = 0,
                 progress: Optional[ProgressCallback] = None) -> Dict[str, Any]:
        """Replays searches on recorded spaces and scores them: docs/search.md. Spaces are
        ``files``, and what the database has measured of ``workload``, or what a ``log`` has.
        ``plot``: also write performance over time to this file, as SVG; gnuplot draws it.
        ``trials``: a run has so many, and what counts is the best of them (``share``) instead of
        the score."""
        options = filled(SimulateOptions, files=texts(_paths(files)), searches=texts(searches),
                         repeats=repeats, seed=seed, plot=_path(plot),
                         workload=encode(workload), log=_path(log), trials=trials)
        told: Dict[str, Any] = self._long(
            lib.optune_simulate, options, progress, lambda _, document: document)
        return told

    def emit(self, workload: str, folder: Path) -> Dict[str, Any]:
        """Writes what is selected as C that builds without optune; the answer lists the files."""
        with self._counted as o:
            told: Dict[str, Any] = result_json(
                opened(lib.optune_emit, o, encode(workload), _path(folder)))
        return told

    def export(self, path: Path, op: Optional[str] = None, *, impl: Optional[str] = None,
               target: Optional[str] = None, threads: int = 0, device: Optional[str] = None,
               policy: Optional[str] = None, best: bool = False,
               tvm: bool = False) -> Dict[str, Any]:
        """Writes records as a log that other databases read; ``tvm``: only what AutoTVM can use."""
        with self._counted as o:
            told: Dict[str, Any] = result_json(self._export(
                o, op, impl, target, threads, device, policy, best, path, tvm))
        return told

    def import_(self, source: Path) -> Dict[str, Any]:
        """Reads a log of ours or AutoTVM's, a file or an https URL; the answer says line by line
        what was not taken and why. PartialError: it has lines, and none was taken; its ``result``
        is that answer."""
        place, err = c_void_p(), Err()
        with self._counted as o:
            status = lib.optune_import(o, _path(source), byref(place), byref(err))
        told: Dict[str, Any] = result_json(place) if place else {}
        if status < 0:
            raise failure(status, text_of(err.text), told or None)
        return told

    def hub(self, what: str, *words: str, keys: Sequence[str] = (), hints: bool = False,
            unsigned: bool = False, plain_http: bool = False, s3_region: Optional[str] = None,
            ops: Sequence[str] = (), all_devices: bool = False, finals: bool = False,
            imported: bool = False, key_file: Optional[Path] = None) -> Any:
        """Records of other machines (docs/hub.md): ``hub("add", NAME, URL, keys=[K])``,
        ``hub("pull")``, ``hub("push", NAME)``, ``"list"``, ``"verify"``, ``"remove"``, ``"key"``.

        ``hub("add", NAME, keys=[K])`` takes one more key's packs, ``hub("remove", NAME, keys=[K])``
        withdraws it. The answer is a list with an object for each hub. PartialError: packs or hubs were refused;
        its ``result`` is that list.
        """
        options = filled(
            HubOptions, what=encode(what), words=texts(words), keys=texts(keys),
            hints=hints, anybody=unsigned, plain_http=plain_http, s3_region=encode(s3_region),
            ops=texts(ops), all_devices=all_devices, finals=finals, imported=imported,
            key_file=None if key_file is None else encode(os.fspath(key_file)))
        return self._long(lib.optune_hub, options, None, lambda _, document: document)

    def list(self, what: str, name: Optional[str] = None) -> Dict[str, Any]:
        """What there is: "ops", "impls", "targets", "devices", "searches"; ``name`` narrows it."""
        with self._counted as o:
            told: Dict[str, Any] = result_json(
                opened(lib.optune_list, o, encode(what), encode(name)))
        return told

    # ---- the end ----

    @property
    def closed(self) -> bool:
        return self._counted.closed

    def close(self) -> None:
        """Closes it once nobody is in it any more. Calling it again is fine."""
        self._counted.close()

    def __enter__(self) -> "Optune":
        self._counted.refuse()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


