# SPDX-License-Identifier: Apache-2.0
"""Attention of :mod:`optune.torch`, with its rules for PyTorch's transforms."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

import torch

from ._errors import UnsupportedError, UsageError
from ._torch_ops import (Rules, fit, folded, front, functions, keep, lowered, operator, plain,
                         total, unfolded, written)


@torch.library.custom_op("optune::attention", mutates_args=(), device_types="cpu")
def _attention_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                  mask: Optional[torch.Tensor], causal: bool, scale: float) -> torch.Tensor:
    arrays = [plain(t) for t in (q, k, v, mask) if t is not None]
    shape = _attention_shape(q, k, v, mask)
    if not q.shape[3] and k.shape[2] and math.prod(shape):
        raise UnsupportedError("attention of keys without elements is not supported")
    if not all(t.numel() for t in arrays[:3]):
        return q.new_zeros(shape)
    return torch.as_tensor(functions.get(
        f"attention({', '.join(written(t, 'var ') for t in arrays)}, "
        f"causal={str(causal).lower()}, scale={scale!r})")(*arrays))


def _attention_shape(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                     mask: Optional[torch.Tensor]) -> List[int]:
    """Of the output, of tensors that fit."""
    of_numbers = mask if mask is not None and mask.dtype != torch.bool else None
    fit("attention takes q [b, h, s, d], k [b, g, t, d], v [b, g, t, e], h a multiple of g, and a "
        "mask of bool or numbers that has s and t, of one dtype",
        q.dim() == k.dim() == v.dim() == 4 and k.shape[:3] == v.shape[:3]
        and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3]
        and k.shape[1] != 0 and q.shape[1] % k.shape[1] == 0
        and (mask is None or (mask.dim() == 4 and all(
             m in (1, n) for m, n in zip(mask.shape, (*q.shape[:3], k.shape[2]))))),
        q, k, v, of_numbers)
    return [*q.shape[:3], v.shape[3]]


@_attention_op.register_fake
def _(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Optional[torch.Tensor],
      causal: bool, scale: float) -> torch.Tensor:
    return q.new_empty(_attention_shape(q, k, v, mask))


class _Attention(Rules):
    """Gradients by PyTorch's products, from probabilities computed anew."""

    @staticmethod
    def context(ctx: Any, inputs: Tuple[Any, ...]) -> None:
        keep(ctx, *inputs[:4])
        ctx.attrs = inputs[4:]

    @staticmethod
    def _wide(t: torch.Tensor) -> torch.Tensor:
        return t.float() if t.dtype in (torch.float16, torch.bfloat16) else t

    @classmethod
    def _parts(cls, ctx: Any) -> Tuple[torch.Tensor, ...]:
        """q, k, v, a head of its own for each of q's, and the probabilities, all in 32 bits."""
        q, k, v, mask = ctx.saved_tensors
        causal, scale = ctx.attrs
        k, v = (cls._heads(q, cls._wide(t)) for t in (k, v))
        q = cls._wide(q)
        scores = scale * (q @ k.mT)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool \
                else scores + cls._wide(mask)
        if causal:
            rows, columns = scores.shape[-2:]
            seen = torch.ones(rows, columns, dtype=torch.bool, device=q.device)
            scores = scores.masked_fill(~seen.tril(columns - rows), -math.inf)
        blind = (scores == -math.inf).all(-1, keepdim=True)  # it sees no key, and gives zeros
        return q, k, v, scores.masked_fill(blind, 0).softmax(-1).masked_fill(blind, 0)

    @staticmethod
    def _heads(q: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return t.repeat_interleave(q.shape[1] // t.shape[1], 1)

    @staticmethod
    def _shared(grad: torch.Tensor, of: torch.Tensor) -> torch.Tensor:
        """The sum over heads that shared one."""
        parts = (of.shape[1], grad.shape[1] // of.shape[1])
        return grad.reshape(grad.shape[0], *parts, *grad.shape[2:]).sum(2).to(of.dtype)

    @classmethod
    def backward(cls, ctx: Any, grad: torch.Tensor) -> Tuple[Any, ...]:
        own = ctx.saved_tensors
        need, scale = ctx.needs_input_grad, ctx.attrs[1]
        q, k, v, p = cls._parts(ctx)
        grad = cls._wide(grad)
        dp = grad @ v.mT
        ds = p * (dp - (p * dp).sum(-1, keepdim=True))
        dmask = None
        if own[3] is not None and need[3] and own[3].dtype != torch.bool:
            dmask = ds.sum_to_size(own[3].shape).to(own[3].dtype)
        return (scale * (ds @ k).to(own[0].dtype) if need[0] else None,
                cls._shared(scale * (ds.mT @ q), own[1]) if need[1] else None,
                cls._shared(p.mT @ grad, own[2]) if need[2] else None, dmask, None, None)

    @classmethod
    def jvp(cls, ctx: Any, *tangents: Any) -> torch.Tensor:
        own, scale = ctx.saved_tensors[0], ctx.attrs[1]
        dq, dk, dv, dmask = tangents[:4]
        q, k, v, p = cls._parts(ctx)
        made = None
        if dq is not None or dk is not None or dmask is not None:
            ds = total(None if dq is None else scale * (cls._wide(dq) @ k.mT),
                      None if dk is None else scale * (q @ cls._heads(own, cls._wide(dk)).mT),
                      None if dmask is None else cls._wide(dmask))
            made = (p * (ds - (p * ds).sum(-1, keepdim=True))) @ v
        return total(made, None if dv is None else p @ cls._heads(own, cls._wide(dv))).to(own.dtype)

    @staticmethod
    def batched(n: int, dims: Tuple[Any, ...], *inputs: Any) -> Tuple[torch.Tensor, int]:
        q, k, v, mask, causal, scale = inputs
        q, k, v = (folded(n, t, dim) for t, dim in zip((q, k, v), dims))
        if mask is not None and (dims[3] is not None or mask.shape[0] != 1):
            mask = front(n, mask, dims[3])
            mask = mask.expand(n, q.shape[0] // n, *mask.shape[2:]).flatten(0, 1)
        return unfolded(n, _attention(q, k, v, mask, causal, scale))


_attention = operator(_attention_op, _Attention)


def scaled_dot_product_attention(
        query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
        attn_mask: Optional[torch.Tensor] = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: Optional[float] = None,
        enable_gqa: bool = False) -> torch.Tensor:
    """As torch.nn.functional.scaled_dot_product_attention: ``query`` [..., h, s, d], ``key`` and
    ``value`` [..., h, t, d], with fewer heads where ``enable_gqa``; a ``attn_mask`` of bool (true
    keeps a key) or of numbers that are added; a query that sees no key gives zeros. There is no
    dropout."""
    if dropout_p:
        raise UnsupportedError("attention has no dropout here: dropout_p=0")
    if is_causal and attn_mask is not None:
        raise UsageError("a mask and is_causal do not go together: let the mask say both")
    lead = query.shape[:-3]
    if query.dim() < 3 or key.shape[:-3] != lead or value.shape[:-3] != lead:
        raise UsageError("attention takes [..., h, s, d] of one number of dims, and the same dims "
                         f"in front, not {list(query.shape)}, {list(key.shape)} and "
                         f"{list(value.shape)}")
    if not enable_gqa and query.shape[-3] != key.shape[-3]:
        raise UsageError(f"{query.shape[-3]} heads ask and {key.shape[-3]} have keys: enable_gqa "
                         "lets them share")
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    if not math.isfinite(scale) or scale == 0:
        raise UnsupportedError(f"a scale of {scale} is not supported")
    query, key, value = lowered(query, key, value)
    if is_causal and query.shape[-2] != key.shape[-2]:
        # Where they differ PyTorch counts from the first key, the operator from the last.
        is_causal, attn_mask = False, torch.ones(
            query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    if attn_mask is not None:
        if attn_mask.is_floating_point() and attn_mask.dtype != query.dtype:
            attn_mask, = lowered(attn_mask)
        if attn_mask.dim() > query.dim():
            raise UsageError(f"a mask {list(attn_mask.shape)} has more dims than the query")
        attn_mask = attn_mask[(None,) * (max(query.dim(), 4) - attn_mask.dim())]
        if query.dim() > 4:
            attn_mask = attn_mask.expand(*lead, *attn_mask.shape[-3:]).flatten(0, -4)
    shape = query.shape

    def four(t: torch.Tensor) -> torch.Tensor:
        return t[None] if t.dim() == 3 else t.flatten(0, -4)
    made = _attention(four(query), four(key), four(value), attn_mask, is_causal, float(scale))
    return made.reshape(*shape[:-1], value.shape[-1])


__all__ = ["scaled_dot_product_attention"]
