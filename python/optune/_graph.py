# SPDX-License-Identifier: Apache-2.0
"""A graph of operators: read from a file, selected, tuned and run."""

from __future__ import annotations

import ctypes
import itertools
import json
import operator
import re
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_int64, c_void_p
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ._arrays import empty, memory, overlap, part, shape_of
from ._errors import NotFoundError, UsageError, WorkloadTypeError, text_of
from ._library import Binding, Counted, Err, Here, Tensor, check, computing, encode, lib, opened
from ._types import TensorType

#: What a symbolic dim is bound to: a number, or the least and the largest that it can be.
Bound = Union[int, Tuple[int, int]]


#: The largest size of a dim.
_LARGEST = 2**40


def _bounds(dim: str, bound: Any) -> Tuple[int, int]:
    """The least and the largest of a bound, the same for a number."""
    ends = bound if isinstance(bound, (tuple, list)) else (bound, bound)
    try:
        low, high = map(operator.index, ends)
    except (TypeError, ValueError):  # none that counts; not two
        low, high = -1, -1
    if not (0 <= low <= _LARGEST and 0 <= high <= _LARGEST):
        raise UsageError(f"bind={{'{dim}': {bound!r}}}: a dim is a number, or (LOWEST, LARGEST), "
                         "such as (1, 64), of whole numbers from 0 to 2**40")
    return low, high


def _type(text: str, const: bool) -> TensorType:
    """From "f32[1,?n:1..64,?n/2]"; an open dim is None."""
    dtype, _, rest = text.partition("[")
    dims = rest.rstrip("]")
    if not rest or dims == "...":
        return TensorType(dtype, None, const)
    shape = tuple(int(d) if d.strip().isdigit() else None for d in dims.split(",")) \
        if dims else ()
    return TensorType(dtype, shape, const)


def _bounded(text: str) -> TensorType:
    """The same with a range at its upper end, where it has one: as large as an output can be."""
    most = re.sub(r"\?[^,:\]]*:\d+\.\.(\d+)", r"\1", text)
    return _type(most, False)


class Graph(Here):
    """A graph on a handle. Made by :meth:`optune.Optune.graph`.

    ``inputs``, ``constants`` and ``outputs`` are types by name, in order. Elements of constants
    come from the file, from ``g["weight"] = array`` or from ``fill()``; then ``g(x)`` computes,
    with one array for each input, by position or by name, and gives an array for each output::

        g = o.graph("mlp.graph", bind={"batch": 64})
        g.fill(seed=1)
        y = g(x)

    A dim that is a range, ``bind={"batch": (1, 64)}``, may have another size in every call: that of
    the arrays. What comes out is as large as they make it.

    ``precision="bfloat16"`` or ``"float16"`` computes products of float32 in fewer bits; inputs
    and outputs stay what they are. A constant ``w`` that products read is ``w_bf16`` or ``w_f16``
    then, of that dtype (bfloat16 by ``ml_dtypes``).
    """

    _again = "read it again with graph()"

    def __init__(self, handle: Counted, source: Union[str, Path],
                 bind: Optional[Mapping[str, Bound]] = None,
                 precision: Optional[str] = None) -> None:
        self._graph: Optional[Counted] = None
        self._partition: Optional[Counted] = None
        self._program: Optional[Counted] = None
        self._used: Optional[Counted] = None
        self._lock = threading.RLock()
        bounds = {dim: _bounds(dim, bound) for dim, bound in (bind or {}).items()}
        ranges = {dim: ends for dim, ends in bounds.items()
                  if isinstance((bind or {})[dim], (tuple, list))}
        numbers = {dim: ends[0] for dim, ends in bounds.items() if dim not in ranges}
        if isinstance(source, str) and "\n" in source:
            pointer = opened(lib.optune_graph_parse, encode(source), b"graph")
        else:  # a model's dims are bound while it is read
            given = [Binding(encode(dim), value) for dim, value in numbers.items()]
            numbers = {}
            pointer = opened(lib.optune_graph_read_bound, encode(str(source)),
                             (Binding * len(given))(*given), len(given))
        self._graph = Counted("graph", pointer, lib.optune_graph_close)
        err = Err()
        with self._graph as g:
            for dim, value in numbers.items():
                check(lib.optune_graph_bind(g, encode(dim), value, byref(err)), err)
            check(lib.optune_graph_infer(g, byref(err)), err)
            for dim, (low, high) in ranges.items():
                check(lib.optune_graph_bound(g, encode(dim), low, high, byref(err)), err)
                check(lib.optune_graph_infer(g, byref(err)), err)
        if precision is not None and precision != "float32":
            self._narrow(precision)
        with self._graph as g:
            self._read(json.loads(lib.optune_graph_json(g)))
        self._renew(handle)
        handle.__enter__()  # until close()
        self._used = handle

    def _narrow(self, precision: str) -> None:
        wide = self._graph
        with self._live(wide) as g:
            pointer = opened(lib.optune_graph_narrow, g, encode(precision))
        self._graph = Counted("graph", pointer, lib.optune_graph_close)
        wide.close()

    def _renew(self, handle: Counted) -> None:
        """As it is computed by what the database says now: layouts are decided here, once."""
        before = self._partition
        if before and handle.closed:
            return  # what is open goes on as it is
        with self._live(self._graph) as g, handle as o:
            self._partition = Counted("graph", opened(lib.optune_partition_open, o, g),
                                      lib.optune_partition_close, self._graph)
        if before:
            before.close()

    def _read(self, told: Dict[str, Any]) -> None:
        nodes = {node["name"]: node for node in told["nodes"]}
        #: Types by name, in order.
        self.inputs: Dict[str, TensorType] = {
            name: _type(node["types"][0], False) for name, node in nodes.items()
            if node["kind"] == "var"}
        self.constants: Dict[str, TensorType] = {
            name: _type(node["types"][0], True) for name, node in nodes.items()
            if node["kind"] == "const"}
        #: Of the tensors that come out, tuples taken apart.
        self.outputs: Tuple[TensorType, ...] = tuple(
            _type(text, False) for name in told["outputs"]
            for text in self._of(nodes, name))
        #: As large as outputs can be, where their dims follow from values.
        self._room: Tuple[TensorType, ...] = tuple(
            _bounded(text) for name in told["outputs"] for text in self._of(nodes, name))
        self._written = {name: node["types"][0] for name, node in nodes.items()
                         if node["kind"] == "var"}
        largest = [_bounded(text) for text in self._written.values()]
        self._open_types = [str(t) for t in (*largest, *self._room)
                            if t.shape is None or None in t.shape]
        #: Whether inputs have another size in every call.
        self._sized = any(t.shape is None or None in t.shape for t in self.inputs.values())

    @staticmethod
    def _of(nodes: Dict[str, Any], name: str) -> List[str]:
        if name in nodes:
            return list(nodes[name]["types"])
        base, _, field = name.rpartition(".")  # of a tuple
        return [nodes[base]["types"][int(field)]]

    @property
    def text(self) -> str:
        """The graph as a file, with every inferred type."""
        with self._lock, self._live(self._graph) as g:
            return text_of(lib.optune_graph_text(g, True))

    @staticmethod
    def _live(part: Optional[Counted]) -> Counted:
        if part is None:
            raise UsageError("this graph is closed")
        return part

    @property
    def workloads(self) -> List[str]:
        """The distinct workloads of what is computed as one."""
        with self._lock, self._live(self._partition) as p:
            groups = [text_of(lib.optune_partition_workload(p, i))
                      for i in range(lib.optune_partition_size(p))]
        return list(dict.fromkeys(groups))

    def constants_to_tune(self) -> List[str]:
        """The workloads whose dims are numbers, as :meth:`optune.Optune.tune` measures them;
        those of ranges get dispatch tables."""
        found = POINTER(c_char_p)()
        err = Err()
        with self._lock, self._live(self._partition) as p:
            check(lib.optune_partition_workloads(p, byref(found), byref(err)), err)
            n = next(i for i in itertools.count() if not found[i])
            return [text_of(found[i]) for i in range(n)]

    @property
    def policy(self) -> str:
        """How :meth:`optune.Optune.tune` measures this graph's workloads, "model-128M" say: with
        constants that come from where a model of that size finds them."""
        with self._lock, self._live(self._partition) as p:
            return text_of(lib.optune_partition_policy(p))

    def select(self, explain: bool = False) -> Dict[str, Any]:
        """What would be used for each group now: `optune select --graph --json` of
        docs/formats.md, and under "text" the same for people."""
        err = Err()
        with self._lock:
            self._renew(self._live(self._used))
            with self._live(self._partition) as p:
                check(lib.optune_partition_select(p, byref(err)), err)
                told: Dict[str, Any] = json.loads(lib.optune_partition_json(p))
                told["text"] = text_of(lib.optune_partition_text(p, explain))
        return told

    # ---- constants ----

    def __setitem__(self, name: str, array: Any) -> None:
        """Elements of a constant, copied. The graph is compiled anew at the next call."""
        if name not in self.constants:
            raise NotFoundError(f"no constant '{name}' in this graph; there are: "
                                + (", ".join(self.constants) or "none"))
        address, keep = memory(array, self.constants[name], f"constant '{name}'")
        err = Err()
        with self._lock, self._live(self._graph) as g:
            self._forget()
            node = lib.optune_graph_find(g, encode(name))
            check(lib.optune_graph_set_data(g, node, address or 1, byref(err)), err)
        del keep

    def fill(self, seed: int = 0) -> "Graph":
        """Made-up elements for the constants that have none."""
        err = Err()
        with self._lock, self._live(self._graph) as g:
            self._forget()
            check(lib.optune_graph_fill(g, seed, byref(err)), err)
        return self

    # ---- running ----

    def _forget(self) -> None:
        if self._program:
            self._program.close()
        self._program = None

    def compile(self) -> "Graph":
        """Selects for every group what the database says now, compiles it and packs the constants.
        The first call does it, too; after tuning, this takes up what was found."""
        with self._lock:
            self._live(self._partition)
            if self._open_types:
                raise WorkloadTypeError("types of this graph are not known: "
                                        + ", ".join(self._open_types)
                                        + "; give its dims numbers or ranges with bind=, "
                                        "(1, 64) say; what follows from values has to have "
                                        "a bound")
            self._forget()
            self._renew(self._live(self._used))
            with self._live(self._partition) as p:
                self._program = Counted("graph", opened(computing(lib.optune_program_open), p),
                                        lib.optune_program_close, self._partition)
        return self

    def _arrays(self, arrays: Tuple[Any, ...], named: Mapping[str, Any]) -> List[Any]:
        names = list(self.inputs)
        for name in named:
            if name not in names:
                raise NotFoundError(f"no input '{name}' in this graph; there are: "
                                    + ", ".join(names))
        given = dict(zip(names, arrays))
        if len(arrays) > len(names) or set(given) & set(named) \
                or len(given) + len(named) != len(names):
            raise UsageError(f"{len(arrays) + len(named)} arrays are given, the graph takes one "
                             f"for each of {len(names)} inputs: " + ", ".join(
                                 f"{name}: {t}" for name, t in self.inputs.items()))
        given.update(named)
        return [given[name] for name in names]

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """Computes the outputs: an array, or a tuple of several; see the class. Each of ``out`` has
        the shape that its output has in this call, or the largest that it can have, of which the
        true part is returned. Where dims follow from values, it is the largest."""
        with self._lock:
            if self._program is None:
                self.compile()
            given = self._arrays(arrays, named)
            types = self._types_of(given)
            sources = [memory(a, t, f"input '{name}'")
                       for a, t, name in zip(given, types, self.inputs)]
            err = Err()
            with self._live(self._program) as program:
                rooms = self._rooms(program, types)
                made = [empty(t, given[0] if given else None) for t in rooms] \
                    if out is None else list(out) if isinstance(out, (tuple, list)) else [out]
                if len(made) != len(self.outputs):
                    raise UsageError(f"out has {len(made)} arrays, the graph has "
                                     f"{len(self.outputs)} outputs")
                if out is not None and rooms != self._room:
                    rooms = tuple(self._room_in(a, i, t)
                                  for i, (a, t) in enumerate(zip(made, rooms)))
                targets = [memory(a, t, f"output {i}", writable=True)
                           for i, (a, t) in enumerate(zip(made, rooms))]
                if overlap([(s[0], t.nbytes) for s, t in zip(sources, types)],
                           [(s[0], t.nbytes) for s, t in zip(targets, rooms)]):
                    raise UsageError("out shares memory with an input, or with itself")
                ins = (c_void_p * (len(sources) + 1))(*[s[0] for s in sources])
                outs = (c_void_p * (len(targets) + 1))(*[t[0] or 1 for t in targets])
                check(computing(lib.optune_program_run)(program, ctypes.addressof(ins),
                                             ctypes.addressof(outs), byref(err)), err)
                if self._room != self.outputs:
                    made = [part(a, self._shape(program, i)) for i, a in enumerate(made)]
        return made[0] if len(made) == 1 else tuple(made)

    def _types_of(self, given: List[Any]) -> List[TensorType]:
        """Of inputs, where a dim is a range with the size that the array has."""
        if not self._sized:
            return list(self.inputs.values())
        return [t if t.shape is None or None not in t.shape else
                self._sized_type(name, t, shape_of(a, f"input '{name}'"))
                for a, (name, t) in zip(given, self.inputs.items())]

    def _sized_type(self, name: str, t: TensorType, shape: Tuple[int, ...]) -> TensorType:
        written = self._written[name].partition("[")[2].rstrip("]").split(",")
        if len(shape) != len(written):
            raise UsageError(f"input '{name}' is of shape {shape}, the graph has "
                             f"{self._written[name]}")
        for n, dim in zip(shape, written):
            at = re.fullmatch(r"\?(.*):(\d+)\.\.(\d+)", dim.strip())
            if at and not int(at[2]) <= n <= int(at[3]):
                dims = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", at[1]))  # one, or computed of them
                remedy = ", ".join(f"'{dim}': (LOWEST, LARGEST)" for dim in dims)
                raise UsageError(f"input '{name}' is of shape {shape}, the graph has "
                                 f"{self._written[name]}: '{at[1]}' is {at[2]} to {at[3]}; "
                                 f"bind={{{remedy}}} says what it can be")
        return TensorType(t.dtype, tuple(n if dim is None else dim
                                         for n, dim in zip(shape, t.shape or ())))

    def _rooms(self, program: Any, types: List[TensorType]) -> Tuple[TensorType, ...]:
        """Of outputs in this call, as large as they can be with inputs of these types."""
        if not self._sized:
            return self._room
        self._resize(program, types)
        return tuple(TensorType(t.dtype, self._shape(program, i))
                     for i, t in enumerate(self._room))

    def _room_in(self, array: Any, output: int, room: TensorType) -> TensorType:
        """Of an array that is handed over for an output."""
        largest = self._room[output]
        shape = shape_of(array, f"output {output}")
        if shape not in (room.shape, largest.shape):
            raise UsageError(f"output {output} is of shape {shape}, in this call it is {room}; "
                             f"an array of the largest, {largest}, is taken, too")
        return largest if shape == largest.shape else room

    def _resize(self, program: Any, types: List[TensorType]) -> None:
        told = (Tensor * len(types))()
        err = Err()
        with self._live(self._graph) as g:
            for i, t in enumerate(types):
                told[i] = lib.optune_graph_input_type(g, i)[0]
                for d, n in enumerate(t.shape or ()):
                    told[i].dim[d].min = told[i].dim[d].max = n
        check(lib.optune_program_resize(program, told, byref(err)), err)

    @staticmethod
    def _shape(program: Any, output: int) -> Tuple[int, ...]:
        """Of an output as it came out of the last run."""
        dims = (c_int64 * 8)()
        err = Err()
        return tuple(dims[:check(lib.optune_program_shape(
            program, output, ctypes.addressof(dims), byref(err)), err)])

    def time(self) -> Tuple[float, float, float]:
        """Seconds of one run over the last call's inputs: median, and its 95 % interval."""
        at = [c_double() for _ in range(3)]
        err = Err()
        with self._lock:
            if self._program is None:
                self.compile()
            with self._live(self._program) as program:
                check(computing(lib.optune_program_time)(program, *map(byref, at), byref(err)), err)
        return at[0].value, at[1].value, at[2].value

    # ---- the end ----

    def close(self) -> None:
        """Frees it. Calling it again is fine."""
        if self._graph is None or self._graph.closed or self._graph.refused_here():
            return
        with self._lock:
            self._forget()
            for part in (self._partition, self._graph):
                if part:
                    part.close()
            if self._used:
                self._used.__exit__()

    def __del__(self) -> None:
        try:
            self.close()
        except AttributeError:
            pass

    def __enter__(self) -> "Graph":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
