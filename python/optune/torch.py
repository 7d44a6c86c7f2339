# SPDX-License-Identifier: Apache-2.0
"""Selected kernels as operators of PyTorch, 2.4 or newer.

``optune::dense``, ``optune::conv2d`` and ``optune::batch_matmul`` compute on CPU tensors with
what the database says for their shapes; they have fake forms, for ``torch.compile`` and
``torch.export``, and
autograd forms, whose backward is PyTorch's own. ``frozen`` makes modules for inference with their
weights packed once. ``Inductor`` offers our products to ``torch.compile``'s autotuning::

    import optune.torch
    y = optune.torch.conv2d(x, weight, padding=1)          # as torch.nn.functional.conv2d
    net = optune.torch.frozen(net)                         # Linear and Conv2d become ours
    optune.torch.tune(net, x, seconds=60)                  # what it asks for, tuned
"""

from __future__ import annotations

import collections
import math
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, cast

import torch

from . import (Function, Optune, Tuning, UnsupportedError, UsageError, VersionError,
               default)
from ._library import Forks
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
        self._handle: Optional[Optune] = None
        self.seen: Optional[Dict[str, None]] = None  # workloads, while somebody collects them
        self._begin()

    def _begin(self) -> None:
        """Nothing is made yet in this process; the lock may have been held at a fork."""
        self._made: "collections.OrderedDict[str, Function]" = collections.OrderedDict()
        self._lock = threading.Lock()
        self._generation = Forks.generation  # last: who sees it takes the lock

    def _mine(self) -> threading.Lock:
        if self._generation != Forks.generation:
            self._begin()
        return self._lock

    @property
    def handle(self) -> Optune:
        return self._handle or default()

    def use(self, handle: Optional[Optune]) -> None:
        with self._mine():
            self._handle = handle
            self._made.clear()

    def forget(self) -> None:
        with self._mine():
            self._made.clear()

    def get(self, workload: str) -> Function:
        if self.seen is not None:
            self.seen[workload] = None
        with self._mine():
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


def _rows(x: torch.Tensor) -> torch.Tensor:
    if not x.dim():
        raise UsageError("linear takes a tensor of one dim or more, not a single number")
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])  # -1 is no number where k is 0


def _plain(t: torch.Tensor) -> torch.Tensor:
    return t.detach().resolve_neg().contiguous()


def _lowered(*tensors: Optional[torch.Tensor]) -> Tuple[Any, ...]:
    """Under ``torch.autocast`` in its dtype, as arguments of torch's own products are: doubles and
    integers stay. A cast is torch's, so gradients go through it."""
    if not torch.is_autocast_enabled("cpu"):
        return tensors
    dtype = torch.get_autocast_dtype("cpu")
    return tuple(t.to(dtype) if t is not None and t.is_floating_point() and t.dtype != torch.float64
                 else t for t in tensors)


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
    """As torch.nn.functional.linear: ``x`` [..., k], ``weight`` [n, k], ``bias`` [n];
    gives [..., n]."""
    x, weight, bias = _lowered(x, weight, bias)
    made: torch.Tensor = _dense(_rows(x), weight, bias)
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
    made: torch.Tensor = _batch_matmul(*_lowered(a, b))
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


def _padding(padding: Union[str, _Ints], weight: torch.Tensor,
             dilation: Sequence[int]) -> List[int]:
    """In numbers; "same" only where both ends get as much."""
    if not isinstance(padding, str):
        return _list(padding, 2)
    if padding not in ("valid", "same"):
        raise UsageError(f"padding is 'valid', 'same' or numbers, not {padding!r}")
    both = [dilation[i] * (weight.shape[2 + i] - 1) if padding == "same" else 0 for i in range(2)]
    if any(n % 2 for n in both):
        raise UnsupportedError(f"padding 'same' of a kernel {tuple(weight.shape[2:])} is more at "
                               "one end than at the other: torch.nn.functional.pad does that")
    return [n // 2 for n in both]


def conv2d(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None,
           stride: _Ints = 1, padding: Union[str, _Ints] = 0, dilation: _Ints = 1,
           groups: int = 1) -> torch.Tensor:
    """As torch.nn.functional.conv2d: ``x`` [n, c, h, w] or [c, h, w], ``weight`` [k, c/groups, kh,
    kw]."""
    if x.dim() == 3:
        return conv2d(x[None], weight, bias, stride, padding, dilation, groups)[0]
    x, weight, bias = _lowered(x, weight, bias)
    strides, dilations = _list(stride, 2), _list(dilation, 2)
    if padding == "same" and strides != [1, 1]:
        raise UsageError("padding 'same' goes with a stride of 1")
    made: torch.Tensor = _conv2d(x, weight, strides, _padding(padding, weight, dilations),
                                 dilations, groups)
    return made if bias is None else made + bias[:, None, None]


# ---- modules for inference --------------------------------------------------------------------


class Frozen(torch.nn.Module):
    """A Linear or Conv2d whose weights are packed once for each shape of its input.

    What is done to the weights afterwards does not arrive unless it is by ``load_state_dict``,
    ``to`` and their like, and no gradient goes through.
    """

    weight: torch.Tensor
    bias: Optional[torch.Tensor]

    def __init__(self, module: Union[torch.nn.Linear, torch.nn.Conv2d]) -> None:
        super().__init__()
        if isinstance(module, torch.nn.Conv2d) and (
                module.padding_mode != "zeros" or isinstance(module.padding, str)):
            raise UnsupportedError("only a Conv2d with padding of zeros, in numbers, can be frozen")
        # No module: its parameters are not ours.
        self._attrs = (_conv2d_attrs(
            module.stride, module.padding, module.dilation,  # type: ignore[arg-type]
            module.groups) if isinstance(module, torch.nn.Conv2d) else None)
        self._said = f"{type(module).__name__}: {module.extra_repr()}"
        self.register_buffer("weight", _plain(module.weight))
        self.register_buffer("bias", None if module.bias is None else _plain(module.bias))
        self._made: Dict[Tuple[Any, ...], Function] = {}
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def _workload(self, x: torch.Tensor, weights: Sequence[torch.Tensor]) -> str:
        texts = [_text(t, "const ") for t in weights]
        if self._attrs is None:
            return f"dense({_text(x)}, {', '.join(texts)})"
        text = f"conv2d({_text(x)}, {texts[0]}, {self._attrs})"
        return f"{text} -> add({texts[1]})" if len(texts) > 1 else text

    def _function(self, x: torch.Tensor) -> Function:
        bias = self.bias if self.bias is None or self._attrs is None else self.bias[:, None, None]
        weights = [_plain(t) for t in _lowered(self.weight, bias) if t is not None]
        workload = self._workload(x, weights)
        if _functions.seen is not None:
            _functions.seen[workload] = None
        return _functions.handle.function(workload, weights)

    def forget(self) -> None:
        """What was selected is asked anew at the next call."""
        self._made.clear()

    def _apply(self, *args: Any, **options: Any) -> "Frozen":
        self.forget()  # `to`, `double` ...: the weights are others
        super()._apply(*args, **options)  # type: ignore[no-untyped-call]
        return self

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_made": {}}  # copies, in this process or a file, open their own

    def extra_repr(self) -> str:
        return self._said

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = _plain(*_lowered(x))
        if self._attrs is None:
            flat = _rows(x)
        else:
            flat = x if x.dim() != 3 else x[None]
        key = (x.dtype, *flat.shape)
        made = self._made.get(key)
        if made is None or _functions.seen is not None:
            made = self._made[key] = self._function(flat)
        y: torch.Tensor = torch.as_tensor(made(flat))
        if self._attrs is not None:
            return y if x.dim() != 3 else y[0]
        return y.reshape(*x.shape[:-1], y.shape[-1])


def _forget(module: Frozen, _: Any) -> None:
    module.forget()


def frozen(module: torch.nn.Module) -> torch.nn.Module:
    """The module with every Linear and Conv2d in it replaced by a :class:`Frozen`; those that
    cannot be stay as they are. The module given is changed, unless it is one of these itself."""
    return _frozen(module, {})


def _frozen(module: torch.nn.Module,
            made: Dict[torch.nn.Module, torch.nn.Module]) -> torch.nn.Module:
    if module in made:  # in several places: one there, too
        return made[module]
    made[module] = module
    if type(module) in (torch.nn.Linear, torch.nn.Conv2d):
        try:
            made[module] = Frozen(module)  # type: ignore[arg-type]
        except UnsupportedError:
            pass
        return made[module]
    for name, child in list(module._modules.items()):
        if child is not None:
            setattr(module, name, _frozen(child, made))
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
    """``out`` = ``a`` [m, k] times ``b`` [k, n]. A ``b`` that is a turned weight is used in
    place."""
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
        # Code that inductor keeps from another process names the product, and nothing there would
        # have said whose it is.
        from torch._inductor.kernel import mm
        if hasattr(mm, "lazy_register_extern_choice"):
            mm.lazy_register_extern_choice(optune_mm)
        config.external_matmul = [*config.external_matmul, cast(Any, optune_mm)]
        return self

    def __exit__(self, *_: object) -> None:
        from torch._inductor import config
        ours = cast(Any, optune_mm)
        config.external_matmul = [f for f in config.external_matmul if f is not ours]


__all__ = ["Frozen", "Inductor", "batch_matmul", "conv2d", "frozen", "linear", "optune_mm", "tune",
           "use"]
