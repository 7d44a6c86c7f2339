# SPDX-License-Identifier: Apache-2.0
"""Selected kernels as operators of PyTorch, 2.4 or newer.

``optune::dense``, ``optune::conv2d`` and ``optune::batch_matmul`` compute on CPU tensors with what the
database says for their shapes; they have fake forms, for ``torch.compile`` and ``torch.export``, and
autograd forms, whose backward is PyTorch's own. ``frozen`` makes modules for inference with their
weights packed once. ``Inductor`` offers our products to ``torch.compile``'s autotuning::

    import optune.torch
    y = optune.torch.conv2d(x, weight, padding=1)          # as torch.nn.functional.conv2d
    net = optune.torch.frozen(net)                         # Linear and Conv2d become ours
    optune.torch.tune(net, x, seconds=60)                  # what it asks for, tuned
"""

from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from . import Function, Optune, Tuning, UnsupportedError, VersionError, default
from ._types import DTYPE_NAMES

if not hasattr(torch.library, "custom_op"):
    raise VersionError(f"optune.torch needs PyTorch 2.4 or newer, this is {torch.__version__}")

_DTYPES = {getattr(torch, name): dtype for dtype, name in DTYPE_NAMES.items()
           if hasattr(torch, name)}
_Ints = Union[int, Sequence[int]]


class _Functions:
    """Functions by workload, the last used ones; opened by the handle that is set."""

    most = 256

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[Optune] = None
        self._made: "collections.OrderedDict[str, Function]" = collections.OrderedDict()
        self.seen: Optional[Dict[str, None]] = None  # workloads, while somebody collects them

    @property
    def handle(self) -> Optune:
        return self._handle or default()

    def use(self, handle: Optional[Optune]) -> None:
        with self._lock:
            self._handle = handle
            self._made.clear()

    def forget(self) -> None:
        with self._lock:
            self._made.clear()

    def get(self, workload: str) -> Function:
        if self.seen is not None:
            self.seen[workload] = None
        with self._lock:
            made = self._made.get(workload)
            if made is None:
                made = self._made[workload] = self.handle.function(workload)
                if len(self._made) > self.most:
                    self._made.popitem(last=False)
            else:
                self._made.move_to_end(workload)
        return made


_functions = _Functions()


def use(handle: Optional[Optune]) -> None:
    """The handle that the operators ask; None: the default one."""
    _functions.use(handle)


def _text(t: torch.Tensor, kind: str = "") -> str:
    dtype = _DTYPES.get(t.dtype)
    if dtype is None:
        raise UnsupportedError(f"optune has no dtype for {t.dtype}")
    return f"{kind}{dtype}[{','.join(str(n) for n in t.shape)}]"


def _list(values: _Ints, n: int) -> List[int]:
    return [int(values)] * n if isinstance(values, int) else [int(v) for v in values]


def _conv2d_attrs(strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                  groups: int) -> str:
    return (f"strides={list(strides)}, padding={list(padding)}, dilation={list(dilation)}, "
            f"groups={groups}")


def _plain(t: torch.Tensor) -> torch.Tensor:
    return t.detach().resolve_neg().contiguous()


# ---- dense ------------------------------------------------------------------------------------


@torch.library.custom_op("optune::dense", mutates_args=(), device_types="cpu")
def _dense(x: torch.Tensor, weight: torch.Tensor,
           bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    arrays = [_plain(t) for t in (x, weight, bias) if t is not None]
    workload = "dense(" + ", ".join(_text(t, "var ") for t in arrays) + ")"
    return torch.as_tensor(_functions.get(workload)(*arrays))


@_dense.register_fake
def _(x: torch.Tensor, weight: torch.Tensor,
      bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    return x.new_empty(x.shape[0], weight.shape[0])


def _dense_context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
    x, weight, bias = inputs
    ctx.save_for_backward(x, weight)
    ctx.has_bias = bias is not None


def _dense_backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
    x, weight = ctx.saved_tensors
    need = ctx.needs_input_grad
    return (grad @ weight if need[0] else None, grad.t() @ x if need[1] else None,
            grad.sum(0) if ctx.has_bias and need[2] else None)


_dense.register_autograd(_dense_backward, setup_context=_dense_context)


def linear(x: torch.Tensor, weight: torch.Tensor,
           bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """As torch.nn.functional.linear: ``x`` [..., k], ``weight`` [n, k], ``bias`` [n]; gives [..., n]."""
    flat = x.reshape(-1, x.shape[-1])
    made: torch.Tensor = _dense(flat, weight, bias)
    return made.reshape(*x.shape[:-1], weight.shape[0])


# ---- batch_matmul -----------------------------------------------------------------------------


@torch.library.custom_op("optune::batch_matmul", mutates_args=(), device_types="cpu")
def _batch_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a, b = _plain(a), _plain(b)
    return torch.as_tensor(_functions.get(
        f"batch_matmul({_text(a, 'var ')}, {_text(b, 'var ')})")(a, b))


@_batch_matmul.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.new_empty(a.shape[0], a.shape[1], b.shape[1])


def _batch_matmul_backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
    a, b = ctx.saved_tensors
    return grad @ b, grad.transpose(1, 2) @ a


_batch_matmul.register_autograd(
    _batch_matmul_backward,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def batch_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a`` [b, m, k] times ``b`` [b, n, k] turned: [b, m, n], as the operator's text says it."""
    made: torch.Tensor = _batch_matmul(a, b)
    return made


# ---- conv2d -----------------------------------------------------------------------------------


@torch.library.custom_op("optune::conv2d", mutates_args=(), device_types="cpu")
def _conv2d(x: torch.Tensor, weight: torch.Tensor, strides: Sequence[int],
            padding: Sequence[int], dilation: Sequence[int], groups: int) -> torch.Tensor:
    x, weight = _plain(x), _plain(weight)
    return torch.as_tensor(_functions.get(
        f"conv2d({_text(x, 'var ')}, {_text(weight, 'var ')}, "
        f"{_conv2d_attrs(strides, padding, dilation, groups)})")(x, weight))


@_conv2d.register_fake
def _(x: torch.Tensor, weight: torch.Tensor, strides: Sequence[int], padding: Sequence[int],
      dilation: Sequence[int], groups: int) -> torch.Tensor:
    size = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1)
            // strides[i] + 1 for i in range(2)]
    return x.new_empty(x.shape[0], weight.shape[0], *size)


def _conv2d_context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.attrs = inputs[2:]


def _conv2d_backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
    x, weight = ctx.saved_tensors
    strides, padding, dilation, groups = ctx.attrs
    made = torch.ops.aten.convolution_backward(
        grad, x, weight, None, strides, padding, dilation, False, [0, 0], groups,
        [ctx.needs_input_grad[0], ctx.needs_input_grad[1], False])
    return made[0], made[1], None, None, None, None


_conv2d.register_autograd(_conv2d_backward, setup_context=_conv2d_context)


def conv2d(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None,
           stride: _Ints = 1, padding: _Ints = 0, dilation: _Ints = 1,
           groups: int = 1) -> torch.Tensor:
    """As torch.nn.functional.conv2d: ``x`` [n, c, h, w], ``weight`` [k, c/groups, kh, kw]."""
    made: torch.Tensor = _conv2d(x, weight, _list(stride, 2), _list(padding, 2),
                                 _list(dilation, 2), groups)
    return made if bias is None else made + bias[:, None, None]


# ---- modules for inference --------------------------------------------------------------------


class Frozen(torch.nn.Module):
    """A Linear or Conv2d whose weights are packed once for each shape of its input.

    What is done to the weights afterwards does not arrive, and no gradient goes through.
    """

    def __init__(self, module: Union[torch.nn.Linear, torch.nn.Conv2d]) -> None:
        super().__init__()
        if isinstance(module, torch.nn.Conv2d) and (
                module.padding_mode != "zeros" or isinstance(module.padding, str)):
            raise UnsupportedError("only a Conv2d with padding of zeros, in numbers, can be frozen")
        self._conv = module if isinstance(module, torch.nn.Conv2d) else None
        self._weights = [_plain(t) for t in (module.weight, module.bias) if t is not None]
        self._made: Dict[Tuple[int, ...], Function] = {}

    def _workload(self, x: torch.Tensor) -> str:
        texts = [_text(t, "const ") for t in self._weights]
        if self._conv is None:
            return f"dense({_text(x)}, {', '.join(texts)})"
        c = self._conv
        text = f"conv2d({_text(x)}, {texts[0]}, " + _conv2d_attrs(
            c.stride, c.padding, c.dilation, c.groups) + ")"  # type: ignore[arg-type]
        if len(self._weights) == 2:
            dtype = _DTYPES[x.dtype]
            text += f" -> add(const {dtype}[{self._weights[1].numel()},1,1])"
        return text

    def _function(self, x: torch.Tensor) -> Function:
        workload = self._workload(x)
        if _functions.seen is not None:
            _functions.seen[workload] = None
        weights = list(self._weights)
        if self._conv is not None and len(weights) == 2:
            weights[1] = weights[1].reshape(-1, 1, 1)
        return _functions.handle.function(workload, weights)

    def forget(self) -> None:
        """What was selected is asked anew at the next call."""
        self._made.clear()

    @torch.compiler.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = _plain(x)
        flat = x if self._conv is not None else x.reshape(-1, x.shape[-1])
        key = tuple(flat.shape)
        made = self._made.get(key)
        if made is None or _functions.seen is not None:
            made = self._made[key] = self._function(flat)
        y: torch.Tensor = torch.as_tensor(made(flat))
        return y if self._conv is not None else y.reshape(*x.shape[:-1], y.shape[-1])


def frozen(module: torch.nn.Module) -> torch.nn.Module:
    """The module with every Linear and Conv2d in it replaced by a :class:`Frozen`; those that
    cannot be stay as they are. The module given is changed, unless it is one of these itself."""
    if type(module) in (torch.nn.Linear, torch.nn.Conv2d):
        try:
            return Frozen(module)  # type: ignore[arg-type]
        except UnsupportedError:
            return module
    for name, child in module.named_children():
        setattr(module, name, frozen(child))
    return module


def tune(module: Callable[..., Any], *inputs: Any, **options: Any) -> Optional[Tuning]:
    """Runs a module or function once, tunes the workloads that it asked optune for, and lets it use
    what was found. ``options`` are those of :meth:`optune.Optune.tune`. None: it asked for none."""
    _functions.seen = {}
    try:
        with torch.no_grad():
            module(*inputs)
        workloads = list(_functions.seen)
    finally:
        _functions.seen = None
    if not workloads:
        return None
    try:
        return _functions.handle.tune(workloads, **options)
    finally:
        _functions.forget()
        if isinstance(module, torch.nn.Module):
            for part in module.modules():
                if isinstance(part, Frozen):
                    part.forget()


# ---- inductor ---------------------------------------------------------------------------------


def optune_mm(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    """``out`` = ``a`` [m, k] times ``b`` [k, n]. A ``b`` that is a turned weight is used in place."""
    made = _dense(a, b.t())
    return out.copy_(made)


class Inductor:
    """Offers our product of matrices to inductor's autotuning while it is entered; for
    ``torch.compile(mode="max-autotune")``. Inductor measures it beside its own and takes the
    fastest::

        with optune.torch.Inductor():
            fast = torch.compile(net, mode="max-autotune")
            fast(x)
    """

    def __enter__(self) -> "Inductor":
        from torch._inductor import config
        if not hasattr(config, "external_matmul"):
            raise VersionError(f"inductor of PyTorch {torch.__version__} takes no matmul of others")
        config.external_matmul = [*config.external_matmul, optune_mm]
        return self

    def __exit__(self, *_: object) -> None:
        from torch._inductor import config
        config.external_matmul = [f for f in config.external_matmul if f is not optune_mm]


__all__ = ["Frozen", "Inductor", "batch_matmul", "conv2d", "frozen", "linear", "optune_mm", "tune",
           "use"]
