# SPDX-License-Identifier: Apache-2.0
"""Operators of :mod:`optune.torch`: what PyTorch calls, and what its transforms need of them.

Each is an operator of ``torch.library`` with a fake form, which refuses what does not fit as the
operator would, an autograd form and a batching rule. What those of ``torch.library`` cannot have,
forward mode and ``torch.func``'s gradients, goes through an ``autograd.Function`` over the same
rules.
"""

from __future__ import annotations

import collections
import math
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch

from . import (Function, Optune, UnsupportedError, UsageError, VersionError, WorkloadTypeError,
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


functions = _Functions()


def written(t: torch.Tensor, kind: str = "") -> str:
    dtype = _DTYPES.get(t.dtype)
    if dtype is None:
        raise UnsupportedError(f"optune has no dtype for {t.dtype}")
    return f"{kind}{dtype}[{','.join(str(n) for n in t.shape)}]"


def _list(values: _Ints, n: int) -> List[int]:
    return [int(values)] * n if isinstance(values, int) else [int(v) for v in values]


def conv2d_attrs(strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                  groups: int) -> str:
    return (f"strides={list(strides)}, padding={list(padding)}, dilation={list(dilation)}, "
            f"groups={groups}")


def rows_of(x: torch.Tensor) -> torch.Tensor:
    if not x.dim():
        raise UsageError("linear takes a tensor of one dim or more, not a single number")
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])  # -1 is no number where k is 0


def plain(t: torch.Tensor) -> torch.Tensor:
    return t.detach().resolve_neg().contiguous()


def lowered(*tensors: Optional[torch.Tensor]) -> Tuple[Any, ...]:
    """Under ``torch.autocast`` in its dtype, as arguments of torch's own products are: doubles and
    integers stay. A cast is torch's, so gradients go through it."""
    if not torch.is_autocast_enabled("cpu"):
        return tensors
    dtype = torch.get_autocast_dtype("cpu")
    return tuple(t.to(dtype) if t is not None and t.is_floating_point() and t.dtype != torch.float64
                 else t for t in tensors)


# ---- what transforms need ---------------------------------------------------------------------


def _asked_by_transforms() -> bool:
    """Whether forward mode or torch.func is at work, of which operators of torch.library know
    nothing: the first would be answered by silence, the second by a failure."""
    if torch.compiler.is_compiling():
        return False
    active = getattr(torch._C, "_are_functorch_transforms_active", None)
    return bool(active and active()) or torch.autograd.forward_ad._current_level >= 0


class Rules:
    """How an operator goes through PyTorch's transforms.

    ``context(ctx, inputs)`` keeps what the rules need; ``backward(ctx, grad)`` gives a gradient, or
    None, for each input, and ``jvp(ctx, *tangents)`` the output's tangent; ``batched(n, dims,
    *inputs)`` the output over ``n`` of the inputs that have a batch dim in ``dims``, and where its
    own is.
    """

    @staticmethod
    def context(ctx: Any, inputs: Tuple[Any, ...]) -> None:
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        raise NotImplementedError

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        raise NotImplementedError

    @staticmethod
    def batched(n: int, dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
        raise NotImplementedError


def operator(op: Any, rules: Any) -> Callable[..., torch.Tensor]:
    """Tells PyTorch the rules; what it gives is to be called in place of the operator."""
    def context(ctx: Any, inputs: Tuple[Any, ...], output: torch.Tensor) -> None:
        rules.context(ctx, inputs)

    def batched(info: Any, dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
        made: Tuple[torch.Tensor, int] = rules.batched(info.batch_size, dims, *inputs)
        return made

    op.register_autograd(rules.backward, setup_context=context)
    if hasattr(op, "register_vmap"):  # since PyTorch 2.5
        op.register_vmap(batched)
    through: Any = type(rules.__name__, (torch.autograd.Function,), {
        "forward": staticmethod(lambda *inputs: op(*inputs)),
        "setup_context": staticmethod(context), "backward": staticmethod(rules.backward),
        "jvp": staticmethod(rules.jvp), "vmap": staticmethod(batched)})

    def call(*inputs: Any) -> torch.Tensor:
        made: torch.Tensor = through.apply(*inputs) if _asked_by_transforms() else op(*inputs)
        return made
    return call


def keep(ctx: Any, *tensors: Optional[torch.Tensor]) -> None:
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def total(*terms: Optional[torch.Tensor]) -> torch.Tensor:
    """Of those that are there; one is."""
    there = [term for term in terms if term is not None]
    made = there[0]
    for term in there[1:]:
        made = made + term
    return made


def front(n: int, tensor: torch.Tensor, dim: Optional[int]) -> torch.Tensor:
    """With the batch dim in front, of ``n`` where there was none."""
    return tensor.expand(n, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


def folded(n: int, tensor: torch.Tensor, dim: Optional[int]) -> torch.Tensor:
    """With the batch dim in front and one with the tensor's own first."""
    return front(n, tensor, dim).flatten(0, 1)


def unfolded(n: int, made: torch.Tensor) -> Tuple[torch.Tensor, int]:
    return made.reshape(n, made.shape[0] // n, *made.shape[1:]), 0


def fit(what: str, fits: bool, *tensors: Optional[torch.Tensor]) -> None:
    """Refuses, before anything is computed, tensors whose types or shapes do not fit together."""
    given = [t for t in tensors if t is not None]
    if fits and all(t.dtype == given[0].dtype for t in given):
        return
    told = ", ".join(f"{str(t.dtype).rpartition('.')[2]}{list(t.shape)}" for t in given)
    raise WorkloadTypeError(f"{what}, not {told}")


# ---- dense ------------------------------------------------------------------------------------


@torch.library.custom_op("optune::dense", mutates_args=(), device_types="cpu")
def _dense_op(x: torch.Tensor, weight: torch.Tensor,
              bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    arrays = [plain(t) for t in (x, weight, bias) if t is not None]
    workload = "dense(" + ", ".join(written(t, "var ") for t in arrays) + ")"
    return torch.as_tensor(functions.get(workload)(*arrays))


@_dense_op.register_fake
def _(x: torch.Tensor, weight: torch.Tensor,
      bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    fit("linear takes x [..., k], weight [n, k] and bias [n] of one dtype",
         weight.dim() == 2 and x.shape[1] == weight.shape[1]
         and (bias is None or (bias.dim() == 1 and bias.shape[0] == weight.shape[0])),
         x, weight, bias)
    return x.new_empty(x.shape[0], weight.shape[0])


class _Dense(Rules):
    @staticmethod
    def context(ctx: Any, inputs: Tuple[Any, ...]) -> None:
        keep(ctx, *inputs[:2])
        ctx.has_bias = inputs[2] is not None

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        x, weight = ctx.saved_tensors
        need = ctx.needs_input_grad
        return (grad @ weight if need[0] else None, grad.t() @ x if need[1] else None,
                grad.sum(0) if ctx.has_bias and need[2] else None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        x, weight = ctx.saved_tensors
        dx, dw, db = tangents
        made = total(None if dx is None else dx @ weight.t(), None if dw is None else x @ dw.t(),
                    db)
        return made.expand(x.shape[0], weight.shape[0])

    @staticmethod
    def batched(n: int, dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
        x, weight, bias = inputs
        if dims[1] is None and dims[2] is None:
            return unfolded(n, dense(folded(n, x, dims[0]), weight, bias))
        made = _batch_matmul(front(n, x, dims[0]), front(n, weight, dims[1]))
        return (made if bias is None else made + front(n, bias, dims[2])[:, None]), 0


dense = operator(_dense_op, _Dense)


def linear(x: torch.Tensor, weight: torch.Tensor,
           bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """As torch.nn.functional.linear: ``x`` [..., k], ``weight`` [n, k], ``bias`` [n];
    gives [..., n]."""
    x, weight, bias = lowered(x, weight, bias)
    made = dense(rows_of(x), weight, bias)
    return made.reshape(*x.shape[:-1], weight.shape[0])


# ---- batch_matmul -----------------------------------------------------------------------------


@torch.library.custom_op("optune::batch_matmul", mutates_args=(), device_types="cpu")
def _batch_matmul_op(a: torch.Tensor, b: torch.Tensor,
                     transpose_b: bool = True) -> torch.Tensor:
    a, b = plain(a), plain(b)
    shape = (*a.shape[:2], b.shape[1 if transpose_b else 2])
    if a.dim() == b.dim() == 3 and not (a.numel() and b.numel()):
        _batch_matmul_fits(a, b, transpose_b)
        return a.new_zeros(shape)
    return torch.as_tensor(functions.get(
        f"batch_matmul({written(a, 'var ')}, {written(b, 'var ')}"
        f"{'' if transpose_b else ', transpose_b=false'})")(a, b))


def _batch_matmul_fits(a: torch.Tensor, b: torch.Tensor, transpose_b: bool) -> None:
    fit("batch_matmul takes a [b, m, k] and b "
         + ("[b, n, k]" if transpose_b else "[b, k, n]") + " of one dtype",
         a.dim() == 3 and b.dim() == 3 and a.shape[0] == b.shape[0]
         and a.shape[2] == b.shape[2 if transpose_b else 1], a, b)


@_batch_matmul_op.register_fake
def _(a: torch.Tensor, b: torch.Tensor, transpose_b: bool = True) -> torch.Tensor:
    _batch_matmul_fits(a, b, transpose_b)
    return a.new_empty(a.shape[0], a.shape[1], b.shape[1 if transpose_b else 2])


class _BatchMatmul(Rules):
    @staticmethod
    def context(ctx: Any, inputs: Tuple[Any, ...]) -> None:
        keep(ctx, *inputs[:2])
        ctx.transpose_b = inputs[2]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        a, b = ctx.saved_tensors
        da = grad @ (b if ctx.transpose_b else b.mT) if ctx.needs_input_grad[0] else None
        db = None
        if ctx.needs_input_grad[1]:
            db = grad.mT @ a if ctx.transpose_b else a.mT @ grad
        return da, db, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        a, b = ctx.saved_tensors
        da, db = tangents[:2]

        def right(t: torch.Tensor) -> torch.Tensor:
            return t.mT if ctx.transpose_b else t
        return total(None if da is None else da @ right(b), None if db is None else a @ right(db))

    @staticmethod
    def batched(n: int, dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
        a, b, transpose_b = inputs
        return unfolded(n, _batch_matmul(folded(n, a, dims[0]), folded(n, b, dims[1]),
                                          transpose_b))


_batched = operator(_batch_matmul_op, _BatchMatmul)


def _batch_matmul(a: torch.Tensor, b: torch.Tensor, transpose_b: bool = True) -> torch.Tensor:
    return _batched(a, b, transpose_b)


def batch_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a`` [b, m, k] times ``b`` [b, n, k] turned: [b, m, n], as the operator's text says it."""
    return _batch_matmul(*lowered(a, b))


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As torch.bmm: ``a`` [b, m, k] times ``b`` [b, k, n]. A ``b`` that is a turned tensor is used
    in place."""
    a, b = lowered(a, b)
    if b.dim() == 3 and b.mT.is_contiguous() and not b.is_contiguous():
        return _batch_matmul(a, b.mT)
    return _batch_matmul(a, b, False)


# ---- conv2d -----------------------------------------------------------------------------------


@torch.library.custom_op("optune::conv2d", mutates_args=(), device_types="cpu")
def _conv2d_op(x: torch.Tensor, weight: torch.Tensor, strides: Sequence[int],
               padding: Sequence[int], dilation: Sequence[int], groups: int) -> torch.Tensor:
    x, weight = plain(x), plain(weight)
    if x.dim() == weight.dim() == 4 and not x.shape[0]:
        return x.new_empty(_conv2d_shape(x, weight, strides, padding, dilation, groups))
    return torch.as_tensor(functions.get(
        f"conv2d({written(x, 'var ')}, {written(weight, 'var ')}, "
        f"{conv2d_attrs(strides, padding, dilation, groups)})")(x, weight))


def _conv2d_shape(x: torch.Tensor, weight: torch.Tensor, strides: Sequence[int],
                  padding: Sequence[int], dilation: Sequence[int], groups: int) -> List[int]:
    """Of the output, of tensors that fit."""
    fit("conv2d takes x [n, c, h, w] and weight [k, c/groups, kh, kw] of one dtype and "
         f"groups={groups}",
         x.dim() == 4 and weight.dim() == 4 and x.shape[1] == weight.shape[1] * groups
         and weight.shape[0] % groups == 0, x, weight)
    size = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (weight.shape[2 + i] - 1) - 1)
            // strides[i] + 1 for i in range(2)]
    fit("conv2d takes an x that with its padding is no smaller than the weight's kernel",
         size[0] > 0 and size[1] > 0, x, weight)
    return [x.shape[0], weight.shape[0], *size]


@_conv2d_op.register_fake
def _(x: torch.Tensor, weight: torch.Tensor, strides: Sequence[int], padding: Sequence[int],
      dilation: Sequence[int], groups: int) -> torch.Tensor:
    return x.new_empty(_conv2d_shape(x, weight, strides, padding, dilation, groups))


class _Conv2d(Rules):
    @staticmethod
    def context(ctx: Any, inputs: Tuple[Any, ...]) -> None:
        keep(ctx, *inputs[:2])
        ctx.attrs = inputs[2:]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        x, weight = ctx.saved_tensors
        strides, padding, dilation, groups = ctx.attrs
        made = torch.ops.aten.convolution_backward(
            grad, x, weight, None, strides, padding, dilation, False, [0, 0], groups,
            [ctx.needs_input_grad[0], ctx.needs_input_grad[1], False])
        return made[0], made[1], None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        x, weight = ctx.saved_tensors
        dx, dw = tangents[:2]

        def conv(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.conv2d(x, weight, None, *ctx.attrs)
        return total(None if dx is None else conv(dx, weight),
                    None if dw is None else conv(x, dw))

    @staticmethod
    def batched(n: int, dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
        x, weight, strides, padding, dilation, groups = inputs
        if dims[1] is None:
            return unfolded(n, _conv2d(folded(n, x, dims[0]), weight, strides, padding,
                                        dilation, groups))
        # Each of the batch is a group, or several, of one convolution.
        x = front(n, x, dims[0]).movedim(0, 1).flatten(1, 2)
        made = _conv2d(x, folded(n, weight, dims[1]), strides, padding, dilation, n * groups)
        return made.reshape(made.shape[0], n, made.shape[1] // n, *made.shape[2:]), 1


_conv2d = operator(_conv2d_op, _Conv2d)


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
    x, weight, bias = lowered(x, weight, bias)
    strides, dilations = _list(stride, 2), _list(dilation, 2)
    if padding == "same" and strides != [1, 1]:
        raise UsageError("padding 'same' goes with a stride of 1")
    made = _conv2d(x, weight, strides, _padding(padding, weight, dilations), dilations, groups)
    if bias is None:
        return made
    if bias.dtype != made.dtype or bias.shape != weight.shape[:1]:
        fit("conv2d takes a bias [k] of the dtype of x and weight [k, ...]", False, x, weight,
             bias)
    return made + bias[:, None, None]


__all__ = ["batch_matmul", "bmm", "conv2d", "linear"]
