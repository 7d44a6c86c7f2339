# SPDX-License-Identifier: Apache-2.0
"""As much of PyTorch as bench/torch_peers uses, over numpy: written out as a package `torch` of its
own, so that the bench is tried where there is neither PyTorch nor a GPU. Its clock moves by work: a
run takes a microsecond, the first after other memory was read two. What a way costs more is in
COSTS; a fused attention refuses float32, and `tf32` in TORCH_STAND_IN rounds products."""

import pathlib

SOURCE = '''
import contextlib
import os
import types

import numpy

__version__ = "stand-in"
float64, float32, float16, bool = "f8", "f4", "f2", "?"
bfloat16 = "f4"  # numpy has none
int32 = "i4"
contiguous_format, channels_last = "NCHW", "NHWC"
COSTS = {"cublaslt": 1, "NHWC": 2, "MATH": 5}
now = 0
flushed = False
recorded = None
library = "cublas"
backend = "MATH"


def work(cost=0):
    global now, flushed
    if recorded is not None:
        recorded.append(cost)
        return
    now += 1 + flushed + cost
    flushed = False


class Tensor:
    def __init__(self, array, form="NCHW"):
        self.array, self.form = numpy.asarray(array), form
        self.shape, self.dtype = self.array.shape, self.array.dtype.str[1:].replace("b1", "?")

    def of(self, array):
        return Tensor(array, self.form)

    def double(self): return self.of(self.array.astype("f8"))
    def to(self, kind): return self.of(self.array.astype(kind))
    def contiguous(self, memory_format): return Tensor(self.array, memory_format)
    def transpose(self, a, b): return self.of(numpy.swapaxes(self.array, a, b))
    def repeat_interleave(self, n, axis): return self.of(numpy.repeat(self.array, n, axis))
    def tril(self, k): return self.of(numpy.tril(self.array, k))
    def masked_fill(self, mask, value): return self.of(numpy.where(mask.array, value, self.array))
    def abs(self): return self.of(abs(self.array))
    def max(self): return self.of(self.array.max())
    def item(self): return float(self.array)
    def __sub__(self, other): return self.of(self.array - getattr(other, "array", other))
    def __mul__(self, other): return self.of(self.array * other)
    def __add__(self, other): return self.of(self.array + other.array)
    def __and__(self, other): return self.of(self.array & other.array)
    def __invert__(self): return self.of(~self.array)
    def __truediv__(self, other): return self.of(self.array / other.array)
    def __lt__(self, other): return self.of(self.array < other)

    def sum(self):
        global flushed
        flushed = True


source = numpy.random.default_rng(0)
manual_seed = set_grad_enabled = lambda value: None
def rand(dims, device): return Tensor(source.random(dims).astype("f4"))
def ones(*dims, dtype, device): return Tensor(numpy.ones(dims, dtype))
def zeros_like(tensor, dtype): return Tensor(numpy.zeros(tensor.shape, dtype))


def rounded(a):
    coarse = "tf32" in os.environ.get("TORCH_STAND_IN", "") and a.dtype == "f4"
    return a.astype("f2").astype("f4") if coarse else a


def matmul(a, b):
    work(COSTS.get(library, 0))
    return Tensor(rounded(a.array) @ rounded(b.array))


def linear(x, w, bias):
    out = matmul(x, w.transpose(-1, -2))
    return out if bias is None else out + bias


def conv2d(x, w, bias, stride, padding, dilation, groups):
    assert groups == 1 and dilation == (1, 1)
    work(COSTS.get(x.form, 0))
    padded = numpy.pad(x.array, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], (2, 3))
    windows = windows[:, :, ::stride[0], ::stride[1]]
    return Tensor(numpy.einsum("nchwkl,ockl->nohw", windows, w.array))


def attend(q, k, v, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
    if backend in ("CUDNN_ATTENTION", "FLASH_ATTENTION") and q.dtype == "f4":
        raise RuntimeError("No available kernel. Aborting execution.")
    work(COSTS.get(backend, 0))
    n = q.shape[1] // k.shape[1]
    assert n == 1 or enable_gqa
    k, v = (numpy.repeat(t.array, n, 1) for t in (k, v))
    scores = q.array @ numpy.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5)
    if is_causal:
        attn_mask = Tensor(numpy.tril(numpy.ones(scores.shape[-2:], "?")))
    if attn_mask is not None:
        mask = attn_mask.array
        scores = numpy.where(mask, scores, -1e30) if mask.dtype == "?" else scores + mask
    share = numpy.exp(scores - scores.max(-1, keepdims=True))
    return Tensor(share / share.sum(-1, keepdims=True) @ v)


def softmax(x, axis):
    work()
    share = numpy.exp(x.array - x.array.max(axis, keepdims=True))
    return Tensor(share / share.sum(axis, keepdims=True))


def sum(x, axes, keepdim):
    work()
    return Tensor(x.array.sum(axes, keepdims=keepdim))


def add(a, b):
    work()
    return Tensor(a.array + b.array)


def relu(a):
    work()
    return Tensor(numpy.maximum(a.array, 0))


class Event:
    def __init__(self, enable_timing): pass
    def record(self): self.at = now
    def synchronize(self): pass
    def elapsed_time(self, end): return (end.at - self.at) * 1e-3


class Stream:
    def wait_stream(self, other): pass


class CUDAGraph:
    def replay(self):
        for cost in self.work:
            work(cost)


@contextlib.contextmanager
def capturing(made):
    global recorded
    recorded = made.work = []
    yield
    recorded = None


def prefer(name):
    global library
    library = name


@contextlib.contextmanager
def kernel(name):
    global backend
    backend, before = name, backend
    yield
    backend = before


names = types.SimpleNamespace
cuda = names(is_available=lambda: True, get_device_name=lambda i: "stand-in", Event=Event,
             get_device_properties=lambda i: names(L2_cache_size=1 << 20), Stream=Stream,
             current_stream=Stream, stream=lambda s: contextlib.nullcontext(),
             synchronize=lambda: None, CUDAGraph=CUDAGraph, graph=capturing)
version = names(cuda="0")
backends = names(cuda=names(matmul=names(), preferred_blas_library=prefer),
                 cudnn=names(version=lambda: 0))
'''
PARTS = {
    "nn/__init__.py": "",
    "nn/functional.py": "from torch import attend as scaled_dot_product_attention\n"
                        "from torch import conv2d, linear\n",
    "nn/attention/__init__.py": "import types\nfrom torch import kernel as sdpa_kernel\n"
                                "SDPBackend = types.SimpleNamespace(**{n: n for n in ("
                                "'CUDNN_ATTENTION', 'EFFICIENT_ATTENTION', 'FLASH_ATTENTION', "
                                "'MATH')})\n",
    "nn/attention/bias.py": "import numpy\nimport torch\n"
                            "def causal_lower_right(n, m):\n"
                            "    return torch.Tensor(numpy.tril(numpy.ones((n, m), '?'), m - n))\n",
}


def write(folder):
    package = pathlib.Path(folder, "torch")
    for name, text in {"__init__.py": SOURCE + "\nimport torch.nn.functional\nnn = torch.nn\n",
                       **PARTS}.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
