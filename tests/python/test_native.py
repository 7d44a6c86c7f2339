# SPDX-License-Identifier: Apache-2.0
"""The part of a call that is in C: it takes what it should, leaves the rest, and can be missing."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import types
import weakref

import optune
import pytest
from conftest import DENSE, ROOT
from optune import _caller
from optune._arrays import Numpy
from optune._fast import _teach_numpy, _teach_torch, ways

numpy = pytest.importorskip("numpy")
present = pytest.mark.skipif(_caller.native is None, reason="built without Python's headers")


class Slowly(Exception):
    """A call came to the way in Python."""


@pytest.fixture
def only_fast(monkeypatch):
    """From now on whatever the part in C leaves raises."""
    def refuse(function, *arrays, out=None):
        raise Slowly
    return lambda: monkeypatch.setattr(optune.Function, "_call", refuse)


def misaligned(x):
    return numpy.frombuffer(b"\0" + x.tobytes(), "u1")[1:].view(x.dtype).reshape(x.shape)


def read_only(x):
    y = x.copy()
    y.flags.writeable = False
    return y


class Sub(numpy.ndarray):
    pass


@present
def test_numpy_is_taken(o, dense, only_fast):
    x, w, want = dense
    out = numpy.empty_like(want)
    with o.function(DENSE, [w]) as f:
        f(x)
        assert Numpy.agrees
        only_fast()
        assert numpy.allclose(f(x), want, atol=1e-4) and f(x).dtype == want.dtype
        assert f(x) is not f(x)
        assert f(x, out=out) is out and numpy.allclose(out, want, atol=1e-4)
        assert numpy.allclose(f(read_only(x), out=None), want, atol=1e-4)
        for wrong in (x.astype("f8"), x.astype(">f4"), x[:8], x.reshape(32, 16), x[None],
                      numpy.asfortranarray(x), numpy.repeat(x, 2, 1)[:, ::2], misaligned(x),
                      x.view(Sub), x.tolist(), None):
            with pytest.raises(Slowly):
                f(wrong)
        for wrong in (out.astype("f8"), out.T, read_only(out), misaligned(out), [1]):
            with pytest.raises(Slowly):
                f(x, out=wrong)
        for words in ({"into": out}, {"out": out, "more": 1}):
            with pytest.raises(TypeError):
                f(x, **words)
        for arrays in ((), (x, x)):
            with pytest.raises(Slowly):
                f(*arrays)
    with pytest.raises(Slowly):
        f(x)


@present
def test_memory_that_is_shared_is_left(o, only_fast):
    f = o.function("add(f32[64], f32[64])")
    x = numpy.ones(128, "f4")
    f(x[:64], x[64:])
    only_fast()
    assert (f(x[:64], x[64:]) == 2).all()
    for out in (x[:64], x[64:], x[63:127], x[1:65]):
        with pytest.raises(Slowly):
            f(x[:64], x[64:], out=out)
    y = numpy.ones(192, "f4")
    assert (f(y[:64], y[64:128], out=y[128:]) == 2).all()


@present
@pytest.mark.parametrize("dtype", ["f64", "i8", "i32", "i64", "u8", "f16"])
def test_dtypes(o, dtype, only_fast):
    name = {"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:]
    f = o.function(f"add({dtype}[4], {dtype}[4])")
    x = numpy.array([0, 1, 1, 0]).astype(name)
    want = f(x, x)
    only_fast()
    assert (f(x, x) == want).all() and f(x, x).dtype == x.dtype
    with pytest.raises(Slowly):
        f(x, x.astype("uint16"))


@present
@pytest.mark.parametrize("constants", [0, 33, 63])
def test_as_many_inputs_as_a_call_can_have(o, constants, only_fast):
    parts = [numpy.full((2, 4), i, "f4") for i in range(64)]
    kinds = ["const f32[2,4]"] * constants + ["f32[2,4]"] * (64 - constants)
    f = o.function(f"concatenate({', '.join(kinds)})", parts[:constants])
    f(*parts[constants:])
    only_fast()
    assert (f(*parts[constants:]) == numpy.concatenate(parts)).all()


@present
def test_what_is_not_learned_is_not_kept(o):
    f = o.function("relu(f32[4])")

    class Dtype:
        pass
    dtype, good = Dtype(), (0, Dtype(), 2, 32, (4,), 4, 16)
    before = sys.getrefcount(dtype)
    for wrong in ((64, dtype, 2, 32, (4,), 4, 16), (-1, dtype, 2, 32, (4,), 4, 16),
                  (0, dtype, 2, 32, (1,) * 9, 4, 16), (0, dtype, 2, 32, [4], 4, 16),
                  (0, dtype, "f"), (0, dtype, 2, 32, ("4",), 4, 16)):
        for inputs, output in (((wrong,), good), ((good,), wrong), ((wrong, wrong), good)):
            with pytest.raises((TypeError, ValueError)):
                f._learn(numpy.ndarray, Numpy.head, (), numpy.empty, (), {}, inputs, output)
    del wrong, inputs, output
    assert sys.getrefcount(dtype) == before


@present
def test_a_later_exchange_is_left(o, monkeypatch):
    """DLPack's version 2, by a stand-in for torch: calls stay as they are."""
    name, table = b"dlpack_exchange_api", (ctypes.c_uint32 * 32)(2)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    kind = type("Tensor", (), {"requires_grad": property(), "is_neg": None,
                               "__dlpack_c_exchange_api__": new(table, name, None)})
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(
        Tensor=kind, strided=0, float32="f4", empty_strided=numpy.empty))
    known = {}
    f = o.function("relu(f32[4])")
    ways(f, known, kind)
    assert known[kind] is not None
    with pytest.raises(ValueError, match="DLPack"):
        _teach_torch(f)


@present
def test_torch_is_taken(o, dense, only_fast):
    torch = pytest.importorskip("torch")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("a PyTorch from before the exchange of tensors in C")
    x, w, want = (torch.from_numpy(a) for a in dense)
    f = o.function(DENSE, [w])
    f(x)
    only_fast()
    y = f(x)
    assert type(y) is torch.Tensor and torch.allclose(y, want, atol=1e-4)
    assert y.shape == want.shape and y.is_contiguous() and y.dtype == torch.float32
    assert f(x, out=y) is y
    for wrong in (x.double(), x.bfloat16(), x[:8], x.reshape(32, 16), x.t().contiguous().t(),
                  x.clone().requires_grad_(), torch.nn.Parameter(x), x.to("meta"), x.to_sparse(),
                  torch._neg_view(x)):
        with pytest.raises(Slowly):
            f(wrong)
    with pytest.raises(Slowly):
        f(x, out=y.t())
    with pytest.raises(Slowly):
        torch.func.vmap(lambda a: f(a))(torch.stack([x, x]))
    one = o.function("relu(f32[])")
    with pytest.raises(Slowly):
        one(torch.tensor(-2.0))  # its first call


@present
def test_a_first_call_teaches_it(o):
    f = o.function("relu(f32[])")
    x = numpy.array(-2.0, "f4")
    assert f(x) == 0 and f(x) == 0 and f(x).shape == ()


@present
def test_threads_take_turns(o, dense):
    x, w, want = dense
    f = o.function(DENSE, [w])
    step = f.bind(x)
    wrong = []

    def work(k):
        for _ in range(300):
            made = f(x * k)
            if not numpy.allclose(made, want * k, atol=1e-3):
                wrong.append(k)
            step()
            with f._lock:
                pass
    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@present
def test_what_fails_is_raised(o, dense):
    """A status of the library's, by a stand-in for the function that computes."""
    x, w, _ = dense
    f = o.function(DENSE, [w])
    failing = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(lambda *_: -4)
    g = object.__new__(optune.Function)
    g._ready(_caller.new_lock(), ctypes.cast(failing, ctypes.c_void_p).value, 0, f._err,
             ctypes.addressof(f._err), _caller.raises, 1)
    g.type, g._places = f.type, f._places
    f(x)
    _teach_numpy(g)
    with pytest.raises(optune.Error):
        g(x)
    with pytest.raises(optune.Error):  # the lock was given back
        g(x)
    with pytest.raises(ValueError, match="twice"):
        g._ready(_caller.new_lock(), 0, 0, f._err, 0, _caller.raises, 1)


@present
def test_nothing_is_kept(o, dense):
    x, w, _ = dense
    with o.function(DENSE, [w]) as f:
        f(x)
        out = f(x)
        step = f.bind(x, out=out)
        before = [sys.getrefcount(a) for a in (x, out, f, numpy.empty, x.dtype)]
        for _ in range(100):
            f(x), f(x, out=out), step()
            for wrong in (x[:8], None):
                with pytest.raises(optune.UsageError):
                    f(wrong)
        after = [sys.getrefcount(a) for a in (x, out, f, numpy.empty, x.dtype)]
        assert all(b - a < 10 for a, b in zip(before, after)), (before, after)


def test_cycles_are_collected(o, dense):
    """A bound call that its function keeps, and what a failure is told by."""
    x, w, _ = dense
    layer, other = o.function(DENSE, [w]), o.function(DENSE, [w])
    layer.step = layer.bind(x)
    layer.step(), layer(x), layer(x)
    other._err.of = other
    held = [weakref.ref(a) for a in (layer, layer.step, other)]
    before = sys.getrefcount(optune.Bound)
    del layer, other
    gc.collect()
    after = sys.getrefcount(optune.Bound)
    assert [a() for a in held] == [None, None, None] and after == before - 1


def test_what_is_closed_does_not_run(o, dense):
    """A finalizer may call what the collector has closed already."""
    x, w, _ = dense
    f = o.function(DENSE, [w])
    f(x), f(x)
    step = f.bind(x)
    f._counted.__del__()
    for call in (lambda: f(x), step):
        with pytest.raises(optune.UsageError, match="closed"):
            call()


WITHOUT = """
import sysconfig
sysconfig.get_config_vars()["Py_GIL_DISABLED"] = 1  # as one that cannot load it says
import numpy, optune
from optune import _caller
assert _caller.native is None
with optune.function("add(f32[4], f32[4])") as f:
    x, y = numpy.ones(4, "f4"), numpy.empty(4, "f4")
    for _ in range(3):
        assert (f(x, x) == 2).all() and f(x, x, out=y) is y and f.bind(x, x, out=y)() is y
    for wrong in (x[:2], x.astype("f8")):
        try:
            f(x, wrong)
        except optune.UsageError:
            continue
        raise SystemExit("taken")
try:
    f(x, x)
except optune.UsageError as error:
    print(error)
"""


def test_without_it_calls_are_the_same():
    done = subprocess.run([sys.executable, "-c", WITHOUT], universal_newlines=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0 and "closed" in done.stdout, done.stderr
