# SPDX-License-Identifier: Apache-2.0
"""Functions and graphs on arrays: what they compute, and which arrays they refuse."""

import array
import copy
import gc
import pickle
import threading

import optune
import pytest
from conftest import DENSE, ROOT
from optune._arrays import empty, memory

numpy = pytest.importorskip("numpy")


def close(a, b, tolerance=1e-4):
    return numpy.allclose(numpy.asarray(a, float), numpy.asarray(b, float), atol=tolerance,
                          rtol=tolerance)


def test_numpy(o, dense):
    x, w, want = dense
    with o.function(DENSE, [w]) as f:
        assert f.inputs == (optune.TensorType("f32", (16, 32)),) and "dense" in f.impl
        w[:] = 0  # it was packed
        for _ in range(3):
            y = f(x)
            assert close(y, want) and y.dtype == numpy.float32
        out = numpy.empty_like(y)
        assert f(x, out=out) is out and close(out, want)
        step = f.bind(x, out=out)
        out[:] = 0
        assert step() is out and close(out, want)
        x *= 2
        assert close(step(), 2 * want)
    with pytest.raises(optune.UsageError, match="closed"):
        f(x)
    with pytest.raises(optune.UsageError, match="closed"):
        step()
    assert "closed" in repr(f)


def test_as_many_inputs_as_a_call_can_have(o):
    parts = [numpy.full((3, 1 + i % 3), i, numpy.float32) for i in range(64)]
    types = ", ".join(f"f32[3,{part.shape[1]}]" for part in parts)
    f = o.function(f"concatenate({types}, axis=1)")
    want = numpy.concatenate(parts, axis=1)
    assert (numpy.asarray(f(*parts)) == want).all()
    parts[63] += 1
    assert (numpy.asarray(f(*parts)) == numpy.concatenate(parts, axis=1)).all()
    with pytest.raises(optune.WorkloadSyntaxError, match="takes at most 64.*a graph makes"):
        o.function(f"concatenate({types}, f32[3,1], axis=1)")


def test_it_outlives_its_handle(dense, tmp_path):
    x, w, want = dense
    o = optune.open(db=tmp_path)
    f = o.function(DENSE, {1: w})
    o.close()
    del o
    gc.collect()
    assert close(f(x), want)


def test_other_arrays(o, dense):
    x, w, want = dense
    f = o.function(DENSE, [w])
    plain = memoryview(array.array("f", x.ravel())).cast("B").cast("f", (16, 32))
    out = memoryview(bytearray(16 * 8 * 4)).cast("f", (16, 8))
    f(plain, out=out)
    assert close(out, want)
    read_only = x.copy()
    read_only.flags.writeable = False
    assert close(f(read_only), want)  # by its own address; DLPack would refuse it

    class Dlpack:
        """Only what the protocol asks for."""

        def __dlpack__(self, **_):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return x.__dlpack_device__()

    assert close(f(Dlpack()), want)

    class Versioned(Dlpack):
        def __init__(self, of):
            self.of = of

        def __dlpack__(self, max_version=None, **_):
            assert max_version == (1, 0)
            return self.of.__dlpack__(max_version=max_version)

    made = numpy.empty((16, 8), "f4")
    try:
        made.__dlpack__(max_version=(1, 0))
    except TypeError:
        return  # a numpy from before versions
    f(Versioned(read_only), out=Versioned(made))
    assert close(made, want)
    made.flags.writeable = False
    with pytest.raises(optune.UsageError, match="out is read-only"):
        f(x, out=Versioned(made))


@pytest.mark.parametrize("why, make", [
    ("of dtype float64", lambda x: x.astype("f8")),
    ("of dtype byte-swapped float32", lambda x: x.astype(">f4")),
    (r"of shape \(32, 16\)", lambda x: x.reshape(32, 16)),
    ("of shape", lambda x: x[:8]),
    ("not contiguous", lambda x: numpy.asfortranarray(x)),
    ("not contiguous", lambda x: numpy.repeat(x, 2, 1)[:, ::2]),
    ("not aligned", lambda x: numpy.frombuffer(b"\0" + x.tobytes(), "u1")[1:].view("f4")
     .reshape(x.shape)),
    ("no array.*numpy.asarray", lambda x: x.tolist()),
    ("masked elements", lambda x: numpy.ma.masked_array(x, x > 0)),
    ("no array", lambda x: None),
    ("of dtype .*format", lambda x: memoryview(x.tobytes())[::1].cast("c", (16, 128))),
])
def test_arrays_that_do_not_fit(o, dense, why, make):
    x, w, _ = dense
    f = o.function(DENSE, [w])
    for _ in range(2):  # the slow way, and then the fast one
        with pytest.raises(optune.UsageError, match=why):
            f(make(x))
        f(x)


def test_calls_that_do_not_fit(o, dense):
    x, w, want = dense
    f = o.function(DENSE, [w])
    assert close(f(numpy.ma.masked_array(x)), want)  # nothing of it is masked
    with pytest.raises(optune.UsageError, match="out has masked elements"):
        f(x, out=numpy.ma.masked_array(numpy.empty((16, 8), "f4"), True))
    with pytest.raises(optune.UsageError, match="2 arrays are given"):
        f(x, w)
    with pytest.raises(optune.UsageError, match="read-only"):
        out = numpy.empty((16, 8), "f4")
        out.flags.writeable = False
        f(x, out=out)
    square = o.function("relu(f32[64])")
    z = numpy.ones(64, "f4")
    with pytest.raises(optune.UsageError, match="shares memory"):
        square(z, out=z)
    with pytest.raises(optune.UsageError, match="input 1 .* is a constant"):
        o.function(DENSE)
    with pytest.raises(optune.UsageError, match="2 constants are given"):
        o.function(DENSE, [w, w])
    with pytest.raises(optune.UsageError, match="no constant input"):
        o.function(DENSE, {0: x, 1: w})
    with pytest.raises(optune.UsageError, match="constant 1 is of shape"):
        o.function(DENSE, [w.T])
    with pytest.raises(optune.WorkloadTypeError, match="known sizes"):
        o.function("relu(f32[?n:1..4])")


@pytest.mark.parametrize("dtype", ["f64", "i8", "i32", "i64", "u8"])
def test_dtypes(o, dtype):
    name = {"f": "float", "i": "int", "u": "uint"}[dtype[0]] + dtype[1:]
    f = o.function(f"copy({dtype}[3,5])")
    x = numpy.arange(15).reshape(3, 5).astype(name)
    y = f(x)
    assert y.dtype == x.dtype and (y == x).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_precision(dtype):
    """Processors have no implementation for it yet: the arrays alone."""
    name = "float16" if dtype == "f16" else pytest.importorskip("ml_dtypes").bfloat16
    x = numpy.arange(16).reshape(2, 8).astype(name)
    wanted = optune.TensorType(dtype, (2, 8))
    assert memory(x, wanted, "x")[0] == x.__array_interface__["data"][0]
    assert empty(wanted).dtype == x.dtype
    with pytest.raises(optune.UsageError, match="of dtype float32"):
        memory(x.astype("f4"), wanted, "x")


def test_several_outputs_and_scalars(o):
    x = numpy.random.default_rng(2).permutation(50).astype("f4").reshape(1, 50)
    values, indices = o.function("topk(f32[1,50], k=4)")(x)
    assert (values[0] == [49, 48, 47, 46]).all()
    assert (x[0][indices[0].astype(int)] == values[0]).all()
    total = o.function("sum(f32[1,50], axis=[0,1])")(x)
    assert total.shape == () and abs(float(total) - 49 * 25) < 1e-2


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_scalars_of_numpy(o, dtype):
    make = {"f32": numpy.float32, "f16": numpy.float16}.get(dtype) or \
        pytest.importorskip("ml_dtypes").bfloat16
    add = o.function(f"add({dtype}[], {dtype}[])")
    assert float(add(make(1), numpy.array(2, make))) == 3
    with pytest.raises(optune.UsageError, match="out is read-only"):
        add(make(1), make(2), out=make(0))


def test_booleans_and_fields_of_tuples(o):
    x = numpy.array([1, 5, 2, 4], dtype="f4")
    larger = o.function("greater(f32[4], f32[4])")
    assert larger.outputs == (optune.TensorType("bool", (4,)),) and larger.outputs[0].nbytes == 4
    y = larger(x, numpy.full(4, 3, dtype="f4"))
    assert y.dtype == bool and y.tolist() == [False, True, False, True]
    choose = o.graph("m = var bool[4]\nx = var f32[4]\nz = var f32[4]\ny = where(m, x, z)\n"
                     "output y\n")
    assert choose(y, x, -x).tolist() == [-1, 5, -2, 4]
    best = o.graph("x = var f32[1,4]\nt = topk(x, k=2, axis=1)\noutput t.1, t.0\n")
    where, values = best(x.reshape(1, 4))
    assert where.tolist() == [[1, 3]] and values.tolist() == [[5, 4]]


def test_torch(o, dense):
    torch = pytest.importorskip("torch")
    x, w, want = dense
    f = o.function(DENSE, [torch.from_numpy(w)])
    y = f(torch.from_numpy(x))
    assert isinstance(y, torch.Tensor) and close(y.numpy(), want)
    with pytest.raises(optune.UsageError, match="gradient"):
        f(torch.ones(16, 32, requires_grad=True))
    with pytest.raises(optune.UsageError, match="nested"):
        f(torch.nested.nested_tensor([torch.ones(32)] * 16))
    with torch._subclasses.fake_tensor.FakeTensorMode(), \
            pytest.raises(optune.UsageError, match="argument 0 is a FakeTensor without memory"):
        f(torch.empty(16, 32))
    with pytest.raises(optune.UsageError, match="not contiguous"):
        f(torch.ones(32, 16).T)
    b = torch.arange(16).reshape(2, 8).to(torch.bfloat16)
    assert memory(b, optune.TensorType("bf16", (2, 8)), "b")[0] == b.data_ptr()


def test_threads_call_one_function(o, dense):
    x, w, want = dense
    f = o.function(DENSE, [w])
    wrong = []

    def work(scale):
        mine = x * scale
        for _ in range(100):
            if not close(f(mine), want * scale, 1e-3):
                wrong.append(scale)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_close_while_others_call(o, dense):
    x, w, _ = dense
    f = o.function(DENSE, [w])
    ended = []

    def work():
        try:
            while True:
                f(x)
        except optune.UsageError as error:
            ended.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]
    f.close()
    [t.join(60) for t in threads]
    assert len(ended) == 3 and all("closed" in text for text in ended)


def test_graph(o, dense):
    x, w, want = dense
    text = ("x = var f32[?n:1..64,32]\nw = const f32[8,32]\n"
            "y = relu(dense(x, w))\noutput y, x\n")
    with o.graph(text, bind={"n": 16}) as g:
        assert list(g.inputs) == ["x"] and g.inputs["x"].shape == (16, 32)
        assert len(g.workloads) == 1 and "f32[16,8]" in g.text
        with pytest.raises(optune.UsageError, match="w.*no elements"):
            g(x)
        g["w"] = w
        y, again = g(x)
        assert close(y, numpy.maximum(want, 0)) and close(again, x)
        g["w"] = -w
        assert close(g(x=x)[0], numpy.maximum(-want, 0))
        assert g.select()["groups"] and g.time()[0] > 0
        with pytest.raises(optune.NotFoundError, match="no input 'q'"):
            g(q=x)
        with pytest.raises(optune.UsageError, match="0 arrays are given"):
            g()
        with pytest.raises(optune.UsageError, match="input 'x' is of shape"):
            g(x[:3])
        with pytest.raises(optune.NotFoundError, match="no constant"):
            g["v"] = w
    with pytest.raises(optune.UsageError, match="closed"):
        g(x)
    with o.graph(text, bind={"n": 16}, precision="float16") as g:
        assert list(g.constants) == ["w_f16"]
        g["w_f16"] = w.astype(numpy.float16)
        y, again = g(x)
        assert y.dtype == numpy.float32 and close(again, x)
        assert abs(y - numpy.maximum(want, 0)).max() < 4e-3 * abs(want).max()
    with pytest.raises(optune.UsageError, match="bfloat16 or float16"):
        o.graph(text, precision="int8")
    with pytest.raises(optune.Error):
        o.graph(text, bind={"q": 1})
    with o.graph(text.replace(":1..64", "")) as g:
        with pytest.raises(optune.WorkloadTypeError, match="bind="):
            g.fill()(x)


def test_a_graph_of_ranges_takes_arrays_of_any_size(o, tmp_path):
    text = ("x = var f32[?n,?m:2..9]\nz = var f32[?n]\n"
            "s = add(sum(x, axis=[1]), z)\nc = concatenate(x, x)\n"
            "k = strided_slice(c, begin=[0,0], end=[3,2])\noutput relu(x), s, c, k\n")
    path = tmp_path / "sized.graph"
    path.write_text(text)
    for source in (text, path):
        with o.graph(source, bind={"n": (1, 64)}) as g:
            assert g.inputs["x"].shape == (None, None) and "?2*n:2..128" in g.text
            for n, m in ((1, 2), (64, 9), (17, 5)):
                x = (numpy.arange(n * m, dtype="f4") - n).reshape(n, m)
                z = numpy.arange(n, dtype="f4")
                y, s, c, k = g(x, z=z)
                twice = numpy.concatenate([x, x])
                assert y.shape == (n, m) and (y == numpy.maximum(x, 0)).all()
                assert s.shape == (n,) and close(s, x.sum(1) + z)
                assert (c == twice).all() and (k == twice[:3, :2]).all()
            with pytest.raises(optune.UsageError, match="'n' is 1 to 64; bind={'n'"):
                g(numpy.zeros((65, 3), "f4"), numpy.zeros(65, "f4"))
            with pytest.raises(optune.UsageError, match="'m' is 2 to 9"):
                g(numpy.zeros((3, 1), "f4"), numpy.zeros(3, "f4"))
            with pytest.raises(optune.WorkloadTypeError, match="z.*'n' is 4 in an input before"):
                g(numpy.zeros((4, 3), "f4"), numpy.zeros(5, "f4"))
            with pytest.raises(optune.UsageError, match="of shape .3,., the graph has"):
                g(numpy.zeros(3, "f4"), numpy.zeros(3, "f4"))
            with pytest.raises(optune.UsageError, match="no shape"):
                g(3.5, numpy.zeros(3, "f4"))
            assert g(x, z)[0].shape == (17, 5)  # what was refused changed nothing
    with o.graph("x = var f32[?n,4]\nz = var f32[?2*n,4]\noutput add(concatenate(x, x), z)\n",
                 bind={"n": (1, 6)}) as g:
        for x, z, why in (((3, 4), (13, 4), "'2.n' is 2 to 12; bind={'n': .LOWEST, LARGEST.}"),
                          ((3, 4), (5, 4), "'2.n' is 6 with the sizes of the other inputs")):
            with pytest.raises(optune.Error, match=why):
                g(numpy.zeros(x, "f4"), numpy.zeros(z, "f4"))
    for bound in ((1, 2, 3), (1.5, 64), (1, "64"), (), 3.7, "3", None, range(1, 64), -1, 2**64 + 5,
                  (1, 2**40 + 1), numpy.float32(3)):
        with pytest.raises(optune.UsageError,
                           match="'n': .*: a dim is a number, or .LOWEST, LARGEST."):
            o.graph(text, bind={"n": bound})
    with o.graph(text, bind={"n": numpy.int64(5)}) as g:
        assert g.inputs["x"].shape[0] == 5
    with pytest.raises(optune.WorkloadTypeError, match="'.n' cannot be 9..3"):
        o.graph(text, bind={"n": (9, 3)})


def test_outputs_of_ranges_are_as_large_as_in_this_call(o):
    """Nothing is made or demanded for sizes that others may have: only where values decide."""
    text = ("x = var f32[?n,16]\nw = const f32[8,16]\nk = argwhere(sum(x, axis=[1]))\n"
            "output relu(x), dense(concatenate(x, x), w), reshape(x, newshape=[-1]), k\n")
    with o.graph(text, bind={"n": (0, 5000)}) as g:
        w = numpy.arange(128, dtype="f4").reshape(8, 16) / 128
        g["w"] = w
        for n in (64, 0, 5000, 3):
            x = numpy.arange(n * 16, dtype="f4").reshape(n, 16) - 7
            want = (numpy.maximum(x, 0), numpy.concatenate([x, x]) @ w.T, x.reshape(-1),
                    numpy.argwhere(x.sum(1)))
            made = g(x)
            for a, b in zip(made, want):
                assert a.shape == b.shape and numpy.allclose(a, b, rtol=1e-4, atol=1e-3)
            assert all(a.base is None or a.base.nbytes == a.nbytes for a in made[:3])
            rooms = [numpy.full((r.size + 64,), 77, r.dtype) for r in (*want[:3], numpy.zeros(
                5000, made[3].dtype))]
            outs = [r[:-64].reshape(a.shape) for r, a in zip(rooms, (*want[:3], numpy.zeros(
                (5000, 1))))]
            again = g(x, out=outs)
            for a, b, room in zip(again, want, rooms):
                assert a.shape == b.shape and numpy.allclose(a, b, rtol=1e-4, atol=1e-3)
                assert (room[-64:] == 77).all()
        largest = [numpy.empty(s, "f4") for s in ((5000, 16), (10000, 8), 80000)] + outs[3:]
        assert [a.shape for a in g(x, out=largest)] == [(3, 16), (6, 8), (48,), want[3].shape]
        with pytest.raises(optune.UsageError, match="output 1 is of shape .5, 8., in this call it "
                           r"is f32.6,8.; an array of the largest, f32.10000,8., is taken"):
            g(x, out=[outs[0], numpy.empty((5, 8), "f4"), *outs[2:]])


def test_layouts_are_taken_up(o, monkeypatch):
    """Whether a graph is computed in blocks of channels is decided where a partition is opened, so
    what was tuned since is asked for anew; a closed handle leaves things as they are."""
    from optune import _graph
    asked = []
    real = _graph.lib.optune_partition_open

    class Library:
        def __getattr__(self, name):
            if name == "optune_partition_open":
                asked.append(name)
                return real
            return getattr(optune._library.lib, name)

    monkeypatch.setattr(_graph, "lib", Library())
    g = o.graph("x = var f32[4]\ny = relu(x)\noutput y\n")
    assert len(asked) == 1
    x = numpy.array([-1, 2, -3, 4], numpy.float32)
    assert g.compile()(x).tolist() == [0, 2, 0, 4]
    assert len(asked) == 2
    assert g.select()["groups"] and len(asked) == 3
    assert g(x).tolist() == [0, 2, 0, 4]
    o.close()
    assert g.compile()(x).tolist() == [0, 2, 0, 4]
    assert len(asked) == 3
    g.close()


def test_graph_file(o):
    g = o.graph(ROOT / "examples" / "mlp.graph", bind={"batch": 2}).fill(seed=3)
    y = g(numpy.zeros(g.inputs["data"].shape, "f4"))
    assert y.shape == (2, 10)
    with pytest.raises(optune.Error):
        o.graph("/nonexistent.graph")


def test_lookups_stay_in_the_table(o):
    """An index below 0 counts from the end; what is outside is the first or the last slice."""
    table = numpy.arange(15, dtype=numpy.float32).reshape(5, 3)
    asked = numpy.array([4, -1, -5, 5, 1 << 40, -6, -(1 << 40)], numpy.int64)
    with o.function("take(f32[5,3], i64[7])") as f:
        assert (f(table, asked) == table[[4, 4, 0, 4, 4, 0, 0]]).all()


def test_shapes_that_follow_from_values(o):
    x = numpy.array([[0, 1, 2], [0, 0, 3]], dtype="f4")
    found = o.function("argwhere(f32[2,3])")
    assert found(x).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert found.shapes == ((3, 2),)
    assert found(numpy.zeros((2, 3), dtype="f4")).shape == (0, 2)
    room = numpy.empty((6, 2), dtype="i8")
    part = found(x, out=room)
    assert part.shape == (3, 2) and numpy.shares_memory(part, room) and not room[3:].any()
    values, first, which, counts = o.function("unique(f32[5], return_counts=true)")(
        numpy.array([3, 1, 3, 1, 2], dtype="f4"))
    assert values.tolist() == [1, 2, 3] and first.tolist() == [1, 4, 0]
    assert which.tolist() == [2, 0, 2, 0, 1] and counts.tolist() == [2, 1, 2]
    with pytest.raises(optune.UsageError, match="more numbers than limit=5"):
        o.function("arange(i64[], i64[], i64[], limit=5)")(*map(numpy.array, (0, 9, 1)))
    g = o.graph("x = var f32[6]\ni = argwhere(x)\nd = add(i, i)\noutput d, x\n")
    assert g.outputs[0].shape == (None, 1)
    doubled, same = g(numpy.array([0, 1, 0, 1, 0, 0], dtype="f4"))
    assert doubled.tolist() == [[2], [6]] and same.shape == (6,)
    # what is computed of such dims has an expression, and a bound that room is made for
    g = o.graph("x = var f32[6]\ni = argwhere(x)\nj = concatenate(i, i)\noutput j, i\n")
    assert g.outputs[0].shape == (None, 1)
    twice, once = g(numpy.array([0, 1, 0, 1, 0, 1], dtype="f4"))
    assert once.tolist() == [[1], [3], [5]] and twice.tolist() == 2 * once.tolist()


def test_what_is_here_stays_here(o, dense):
    x, w, _ = dense
    f = o.function(DENSE, [w])
    graph = o.graph("x = var f32[2]\ny = relu(x)\noutput y\n")
    for thing, remedy in ((o, r"optune\.open"), (f, "workload"), (f.bind(x), "bind"),
                          (graph, "graph")):
        for way in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"cannot be pickled or copied.*{remedy}"):
                way(thing)
    for value in (o.select(DENSE), f.type, optune.NotFoundError("none"), f.inputs[0]):
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value) and str(again) == str(value)
        assert str(copy.deepcopy(value)) == str(value)
