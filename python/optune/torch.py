# SPDX-License-Identifier: Apache-2.0
"""Selected kernels as operators of PyTorch, 2.4 or newer.

``optune::dense``, ``optune::conv2d``, ``optune::batch_matmul`` and ``optune::attention`` compute on
CPU tensors with what the database says for their shapes; they have fake forms, for
``torch.compile`` and ``torch.export``, autograd forms, whose backward is PyTorch's own, and rules
for ``torch.func``, ``vmap`` and forward mode. ``frozen`` makes modules for inference with their
weights packed once. ``Inductor`` offers our products to ``torch.compile``'s autotuning::

    import optune.torch
    y = optune.torch.conv2d(x, weight, padding=1)          # as torch.nn.functional.conv2d
    net = optune.torch.frozen(net)                         # Linear and Conv2d become ours
    optune.torch.tune(net, x, seconds=60)                  # what it asks for, tuned
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union, cast

import torch

from . import Function, Optune, Tuning, UnsupportedError, VersionError
from ._torch_attention import scaled_dot_product_attention
from ._torch_ops import (batch_matmul, bmm, conv2d, conv2d_attrs, dense, functions, linear, lowered,
                         plain, rows_of, written)


def use(handle: Optional[Optune]) -> None:
    """The handle that the operators ask; None: the default one."""
    functions.use(handle)


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
        self._attrs = (conv2d_attrs(
            module.stride, module.padding, module.dilation,  # type: ignore[arg-type]
            module.groups) if isinstance(module, torch.nn.Conv2d) else None)
        self._said = f"{type(module).__name__}: {module.extra_repr()}"
        self.register_buffer("weight", plain(module.weight))
        self.register_buffer("bias", None if module.bias is None else plain(module.bias))
        self._made: Dict[Tuple[Any, ...], Function] = {}
        self.register_load_state_dict_post_hook(_forget)  # type: ignore[no-untyped-call]

    def _workload(self, x: torch.Tensor, weights: Sequence[torch.Tensor]) -> str:
        texts = [written(t, "const ") for t in weights]
        if self._attrs is None:
            return f"dense({written(x)}, {', '.join(texts)})"
        text = f"conv2d({written(x)}, {texts[0]}, {self._attrs})"
        return f"{text} -> add({texts[1]})" if len(texts) > 1 else text

    def _function(self, x: torch.Tensor) -> Function:
        bias = self.bias if self.bias is None or self._attrs is None else self.bias[:, None, None]
        weights = [plain(t) for t in lowered(self.weight, bias) if t is not None]
        workload = self._workload(x, weights)
        if functions.seen is not None:
            functions.seen[workload] = None
        return functions.handle.function(workload, weights)

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
        x = plain(*lowered(x))
        if self._attrs is None:
            flat = rows_of(x)
        else:
            flat = x if x.dim() != 3 else x[None]
        key = (x.dtype, *flat.shape)
        made = self._made.get(key)
        if made is None or functions.seen is not None:
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
    functions.seen = {}
    try:
        with torch.no_grad():
            module(*inputs)
        workloads = list(functions.seen)
    finally:
        functions.seen = None
    if not workloads:
        return None
    try:
        return functions.handle.tune(workloads, **options)
    finally:
        functions.forget()
        if isinstance(module, torch.nn.Module):
            for part in module.modules():
                if isinstance(part, Frozen):
                    part.forget()


# ---- inductor ---------------------------------------------------------------------------------


def optune_mm(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    """``out`` = ``a`` [m, k] times ``b`` [k, n]. A ``b`` that is a turned weight is used in
    place."""
    made = dense(a, b.t())
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


__all__ = ["Frozen", "Inductor", "batch_matmul", "bmm", "conv2d", "frozen", "linear", "optune_mm",
           "scaled_dot_product_attention", "tune", "use"]
