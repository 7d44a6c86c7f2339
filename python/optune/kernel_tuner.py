# SPDX-License-Identifier: Apache-2.0
"""``tune_kernel`` as scripts for Kernel Tuner call it: the same arguments, answered by optune.

    from optune.kernel_tuner import tune_kernel
    results, env = tune_kernel("vector_add", "vector_add.cl", size, [c, a, b, n],
                               {"block_size_x": [64, 128, 256]}, answer=[a + b, None, None, None])

Inputs and outputs are told apart by ``answer``, whose items are given for outputs, else by what
the source calls ``const``. What the source changes where it stands (``c[i] += ...``, ``atomicAdd``)
is read and written, as are ``inouts``, names of parameters. Every config is verified on random
inputs against the first one; the best one is run on the given arrays, too, and compared with
``answer``. Results have the configs
that ran, with times in milliseconds; ``env["failed"]`` has the others. What has no meaning here is
refused with what to do instead.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import Optune, default
from ._errors import Error, UsageError
from ._kernel import KernelTuning, _language

_STRATEGIES = {"brute_force": None, "random_sample": "random", "genetic_algorithm": "genetic",
               "simulated_annealing": "anneal", "bayes_opt": "forest"}
_ELSEWHERE = {
    "smem_args": "give the bytes as `shared` to Optune.tune_kernel",
    "cmem_args": "pass it as an argument: there is no constant memory",
    "texmem_args": "there are no textures",
    "verify": "a `reference` function in C judges every config: Optune.tune_kernel",
    "observers": "counters are recorded with every trial",
    "simulation_mode": "`optune simulate` replays caches",
    "cache": "the database keeps all trials; `optune export NAME --format kernel-tuner` writes one",
    "objective_higher_is_better": "time is minimised",
    "compiler": "the target chooses it",
}
Metric = Union[str, Callable[[Dict[str, Any]], Any]]


def _source(kernel_source: Any) -> Tuple[str, str]:
    """Its text and its suffix."""
    if callable(kernel_source):
        raise UsageError("a source that a function makes is not taken: give text or a file")
    text = os.fspath(kernel_source)
    if "\n" not in text and "{" not in text:
        return Path(text).read_text(encoding="utf-8-sig"), Path(text).suffix
    return text, ""


def _parameters(name: str, text: str) -> List[Tuple[str, bool]]:
    """Names of the kernel's parameters, and which may be written."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    found = re.search(rf"\b{re.escape(name)}\s*\(([^()]*)\)\s*\{{", plain)
    if not found:
        raise UsageError(f"the source has no function '{name}' with its parameters")
    told = []
    for one in found.group(1).split(","):
        word = re.search(r"(\w+)\s*(\[\s*\w*\s*\])?\s*$", one)
        if word:
            told.append((word.group(1), "const" not in one.split()))
    return told


def _changes(text: str, parameter: str) -> bool:
    """Whether the source reads and writes an element of the parameter in one expression."""
    p = rf"(?<![\w.]){re.escape(parameter)}"
    element = rf"{p}\s*\[(?:[^\[\]]|\[[^\]]*\])*\]"
    return re.search(rf"{element}\s*(?:(?:[-+*/%&|^]|<<|>>)=(?!=)|\+\+|--)|(?:\+\+|--)\s*{element}|"
                     rf"\batom\w*\s*\([^,;]*{p}\b", text) is not None


def _arguments(name: str, text: str, arguments: Sequence[Any], answer: Optional[Sequence[Any]],
               named: Sequence[str]) -> Tuple[Dict[str, Any], List[str], List[str]]:
    """The arguments by name; which of them are outputs; which are read and written."""
    parameters = _parameters(name, text)
    if len(parameters) != len(arguments):
        raise UsageError(f"'{name}' has {len(parameters)} parameters, and there are "
                         f"{len(arguments)} arguments")
    if answer is not None and len(answer) != len(arguments):
        raise UsageError(f"the answer has {len(answer)} items for {len(arguments)} arguments: "
                         "one for each, None where it is no output")
    told: Dict[str, Any] = {}
    outputs: List[str] = []
    inouts: List[str] = []
    for name_of in named:
        if name_of not in [parameter for parameter, _ in parameters]:
            raise UsageError(f"inouts: '{name}' has no parameter '{name_of}'")
    for i, ((parameter, written), value) in enumerate(zip(parameters, arguments)):
        array = getattr(value, "shape", ()) != ()
        told[parameter] = value.ravel() if array else value
        if array and (parameter in named or (written and _changes(text, parameter))):
            inouts.append(parameter)
        elif array and (answer[i] is not None if answer is not None else written):
            outputs.append(parameter)
    if not outputs and not inouts:
        raise UsageError("nothing says what is an output: give `answer`, or call inputs `const`")
    return told, outputs, inouts


def _grid(problem_size: Any, divisors: Sequence[Optional[Sequence[str]]], names: Sequence[str],
          knobs: Mapping[str, Any]) -> List[str]:
    sizes = problem_size if isinstance(problem_size, (tuple, list)) else (problem_size,)
    if any(callable(size) for size in sizes):
        raise UsageError("problem_size: numbers or expressions, not functions")
    grid = []
    for axis, size in enumerate(sizes):
        by = divisors[axis]
        by = ([names[axis]] if names[axis] in knobs else []) if by is None else by
        if callable(by) or isinstance(by, str):
            raise UsageError(f"grid_div_{'xyz'[axis]} is a list of expressions")
        grid.append(f"-(-({size}) // ({' * '.join(f'({d})' for d in by) or '1'}))")
    return grid


def _check_answer(o: Optune, tuned: KernelTuning, told: Mapping[str, Any], outputs: Sequence[str],
                  inouts: Sequence[str], answer: Sequence[Any], atol: float) -> None:
    import numpy
    inputs = [v for n, v in told.items() if n not in outputs and getattr(v, "shape", ()) != ()]
    got = o.function(tuned.kernel.workload)(*inputs)
    expected = {name: numpy.asarray(value).ravel()
                for name, value in zip(told, answer) if value is not None}
    written = [name for name in told if name in outputs or name in inouts]
    for name, value in zip(written, got if isinstance(got, (tuple, list)) else [got]):
        right = expected.get(name)
        if right is not None and not numpy.allclose(value, right, atol=atol):
            most = float(numpy.max(numpy.abs(value - right)))
            raise Error(f"'{name}' of the best config is not the answer: up to {most:.6g} apart, "
                        f"atol is {atol:g}")


def _add_metrics(row: Dict[str, Any], metrics: Optional[Mapping[str, Metric]]) -> None:
    """In their order: later ones see earlier ones."""
    for name, metric in (metrics or {}).items():
        row[name] = (metric(row) if callable(metric)
                     else eval(metric, {"__builtins__": {}}, dict(row)))  # the caller's own text


def tune_kernel(kernel_name: str, kernel_source: Any, problem_size: Any, arguments: Sequence[Any],
                tune_params: Mapping[str, Sequence[Any]],
                grid_div_x: Optional[Sequence[str]] = None,
                grid_div_y: Optional[Sequence[str]] = None,
                grid_div_z: Optional[Sequence[str]] = None,
                restrictions: Union[None, str, Sequence[str]] = None,
                answer: Optional[Sequence[Any]] = None, atol: float = 1e-6, *,
                lang: Optional[str] = None, block_size_names: Optional[Sequence[str]] = None,
                compiler_options: Optional[Sequence[str]] = None, strategy: Optional[str] = None,
                strategy_options: Optional[Mapping[str, Any]] = None,
                metrics: Optional[Mapping[str, Metric]] = None, objective: str = "time",
                seed: int = 0, handle: Optional[Optune] = None, name: Optional[str] = None,
                folder: Union[None, str, "os.PathLike[str]"] = None,
                inouts: Sequence[str] = (),
                **others: Any) -> Tuple[List[Dict[str, Any]], Dict[str, Any]]:
    """The configs that ran and what they ran on. ``handle``: one whose target is of the kernel's
    language (default: :func:`optune.default`, the cpu); ``name``, ``folder``: as of
    :meth:`optune.Optune.tune_kernel`. Without a strategy all configs are tried, and with one
    ``strategy_options["max_fevals"]`` of them, for ``["time_limit"]`` seconds at most. What only
    says how Kernel Tuner measures or prints (``iterations``, ``verbose``, ``quiet``, ``device``,
    ...) changes nothing."""
    for key, remedy in _ELSEWHERE.items():
        if others.get(key):
            raise UsageError(f"{key} is not taken: {remedy}")
    idle = {"device", "platform", "iterations", "verbose", "quiet", "log", "defines"}
    for key in others:
        if key not in idle and key not in _ELSEWHERE:
            raise TypeError(f"tune_kernel() got an unexpected keyword argument '{key}'")
    if objective != "time":
        raise UsageError("the objective is time; metrics add what else is of interest")
    if strategy is not None and strategy not in {*_STRATEGIES, *_STRATEGIES.values()}:
        raise UsageError(f"no strategy '{strategy}' here: there are {', '.join(_STRATEGIES)}")
    one = isinstance(restrictions, str) or callable(restrictions)
    conditions: List[Any] = [restrictions] if one else list(restrictions or [])
    if any(callable(condition) for condition in conditions):
        raise UsageError("a function is no restriction here, as constraints are kept with the "
                         "kernel: write it as an expression, 'block_size_x * block_size_y <= 1024'")
    text, suffix = _source(kernel_source)
    language = _language(lang, suffix, text)
    told, outputs, changed = _arguments(kernel_name, text, arguments, answer, inouts)
    launch: Dict[str, Any] = {}
    if language != "c":
        names = list(block_size_names or []) + ["block_size_x", "block_size_y", "block_size_z"][
            len(block_size_names or []):]
        launch = {"grid": _grid(problem_size, (grid_div_x, grid_div_y, grid_div_z), names,
                                tune_params),
                  "block": [n if n in tune_params else 256 if i == 0 else 1
                            for i, n in enumerate(names)]}
    o = handle or default()
    options: Mapping[str, Any] = strategy_options or {}
    tuned = o.tune_kernel(
        kernel_name, os.fspath(kernel_source), told, tune_params, outputs=outputs,
        inouts=changed, lang=language,
        restrictions=conditions or None, flags=" ".join(compiler_options or []) or None,
        name=name, folder=folder, search=_STRATEGIES.get(strategy or "", strategy), seed=seed,
        trials=int(options.get("max_fevals", 0)) or _all_of(tune_params, strategy),
        seconds=float(options.get("time_limit", -1)), **launch)
    results: List[Dict[str, Any]] = []
    failed: List[Dict[str, Any]] = []
    for found in tuned.results:
        row = {knob: found[knob] for knob in tune_params}
        if found["time"] is None:
            failed.append({**row, "outcome": found["outcome"], "message": found["message"]})
            continue
        row["time"] = found["time"] * 1e3
        _add_metrics(row, metrics)
        results.append(row)
    if answer is not None and tuned.best:
        _check_answer(o, tuned, told, outputs, changed, answer, atol)
    return results, {**tuned.env, "kernel": tuned.kernel, "failed": failed}


def _all_of(tune_params: Mapping[str, Sequence[Any]], strategy: Optional[str]) -> int:
    """As many trials as there are configs, where nothing else is asked for; 0: the usual number."""
    if strategy not in (None, "brute_force"):
        return 0
    n = 1
    for values in tune_params.values():
        n *= len(values)
    return min(n, 1 << 30)
