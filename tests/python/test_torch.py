# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch: values, gradients, fake forms, frozen modules, inductor."""

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "custom_op"):
    pytest.skip("PyTorch is older than 2.4", allow_module_level=True)

import optune  # noqa: E402
import optune.torch as ot  # noqa: E402
import torch.nn.functional as F  # noqa: E402


@pytest.fixture(autouse=True)
def handle(o):
    ot.use(o)
    torch.manual_seed(1)
    yield o
    ot.use(None)


def same(a, b):
    torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-3)


class Computed(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return ot.linear(torch.ones(1, 16), torch.full((8, 16), float(i)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_workers_that_fork_open_their_own():
    ot.use(None)  # the default handle, which each process opens
    before = Computed()[1]
    loader = torch.utils.data.DataLoader(Computed(), num_workers=1, batch_size=None,
                                         multiprocessing_context="fork", timeout=60)
    assert [float(y[0, 0]) for y in loader] == [0, float(before[0, 0])] == [0, 16]


def test_values():
    x, w, b = torch.randn(2, 3, 16), torch.randn(8, 16), torch.randn(8)
    same(ot.linear(x, w), F.linear(x, w))
    same(ot.linear(x, w, b), F.linear(x, w, b))
    same(ot.linear(x.transpose(0, 1), w.double().float(), b), F.linear(x.transpose(0, 1), w, b))
    with pytest.raises(optune.UsageError, match="one dim or more"):
        ot.linear(torch.ones(()), w)
    a, c = torch.randn(2, 5, 7), torch.randn(2, 4, 7)
    same(ot.batch_matmul(a, c), a @ c.transpose(1, 2))
    image = torch.randn(1, 4, 9, 9)
    for groups, stride, padding, dilation in ((1, 1, 1, 1), (2, 2, (0, 1), 1), (4, 1, 2, 2)):
        kernel = torch.randn(8, 4 // groups, 3, 3)
        same(ot.conv2d(image, kernel, b, stride, padding, dilation, groups),
             F.conv2d(image, kernel, b, stride, padding, dilation, groups))


def test_gradients():
    def both(ours, theirs, *tensors):
        grads = []
        for f in (ours, theirs):
            leaves = [t.clone().requires_grad_() for t in tensors]
            f(*leaves).square().sum().backward()
            grads.append([t.grad for t in leaves])
        for a, b in zip(*grads):
            same(a, b)

    both(ot.linear, F.linear, torch.randn(3, 6), torch.randn(4, 6), torch.randn(4))
    both(lambda x, w, b: ot.conv2d(x, w, b, stride=2, padding=1),
         lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1),
         torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3), torch.randn(4))
    both(ot.batch_matmul, lambda a, b: a @ b.transpose(1, 2), torch.randn(2, 3, 5),
         torch.randn(2, 4, 5))


def test_gradients_of_gradients():
    def leaf(*shape):
        return torch.randn(*shape, dtype=torch.float64, requires_grad=True)

    for f, leaves in ((ot.linear, (leaf(3, 4), leaf(5, 4), leaf(5))),
                      (ot.batch_matmul, (leaf(2, 3, 4), leaf(2, 5, 4))),
                      (lambda x, w: ot.conv2d(x, w, stride=2, padding=(1, 0), groups=2),
                       (leaf(1, 4, 4, 5), leaf(2, 2, 3, 3)))):
        assert torch.autograd.gradcheck(f, leaves)
        assert torch.autograd.gradgradcheck(f, leaves)


@pytest.mark.skipif(not hasattr(torch.export, "Dim"), reason="no export of shapes that vary")
def test_an_exported_network_takes_other_batches():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.randn(4, 3, 3, 3))
            self.v = torch.nn.Parameter(torch.randn(5, 4 * 16))

        def forward(self, x):
            return ot.linear(ot.conv2d(x, self.w, padding=1).flatten(1), self.v)

    net, batch = Net(), torch.export.Dim("batch", min=1, max=64)
    made = torch.export.export(net, (torch.randn(2, 3, 4, 4),), dynamic_shapes=({0: batch},))
    assert {"optune.conv2d.default", "optune.dense.default"} <= {
        str(node.target) for node in made.graph.nodes}
    for n in (2, 5):
        x = torch.randn(n, 3, 4, 4)
        same(made.module()(x), F.linear(F.conv2d(x, net.w, padding=1).flatten(1), net.v))


def test_operators_are_sound():
    x, w = torch.randn(3, 6, requires_grad=True), torch.randn(4, 6, requires_grad=True)
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(torch.ops.optune.dense.default, (x, w), test_utils=checks)
    torch.library.opcheck(torch.ops.optune.conv2d.default,
                          (torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3), [2, 2], [1, 1],
                           [1, 1], 1), test_utils=checks)


def test_frozen_and_tuned(handle):
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 8, 3, padding="same"),  # stays as it is
        torch.nn.Flatten(), torch.nn.Linear(8 * 36, 5)).eval()
    x = torch.randn(2, 3, 6, 6)
    with torch.no_grad():
        want = net(x)
        net = ot.frozen(net)
        assert [type(m).__name__ for m in net] == ["Frozen", "ReLU", "Conv2d", "Flatten", "Frozen"]
        for _ in range(2):
            same(net(x), want)
        t = ot.tune(net, x, trials=1, seconds=30)
        assert len(t.workloads) == 2 and handle.select(t.workloads[0].workload).tier == "tuned"
        same(net(x), want)
        same(net(x[:1]), want[:1])
    assert ot.tune(torch.nn.ReLU(), x) is None


def test_dtypes():
    import optune
    for dtype in (torch.float64, torch.float16, torch.bfloat16, torch.int32):
        x, w = torch.arange(8).reshape(2, 4).to(dtype), torch.ones(3, 4).to(dtype)
        y = ot.linear(x, w)
        assert y.dtype == dtype and torch.equal(y, (x.long() @ w.long().t()).to(dtype))
    with pytest.raises(optune.WorkloadTypeError, match="8-bit"):
        ot.linear(torch.ones(2, 4).char(), torch.ones(3, 4).char())
    with pytest.raises(optune.UnsupportedError):
        ot.linear(torch.ones(2, 4, dtype=torch.complex64),
                  torch.ones(3, 4, dtype=torch.complex64))


def test_shapes_as_torch_takes_them():
    import optune
    image, kernel, b = torch.randn(4, 9, 9), torch.randn(8, 4, 3, 5), torch.randn(8)
    same(ot.conv2d(image, kernel, b, padding=1), F.conv2d(image, kernel, b, padding=1))
    for padding in ("same", "valid"):
        same(ot.conv2d(image[None], kernel, padding=padding, dilation=(2, 1)),
             F.conv2d(image[None], kernel, padding=padding, dilation=(2, 1)))
    with pytest.raises(optune.UnsupportedError, match="at one end"):
        ot.conv2d(image[None], torch.randn(8, 4, 2, 3), padding="same")
    with pytest.raises(optune.UsageError, match="'full'"):
        ot.conv2d(image[None], kernel, padding="full")
    for shape in ((0, 4), (4,), (2, 0, 4), (1, 2, 3, 4)):
        x, w = torch.randn(shape), torch.randn(3, 4)
        same(ot.linear(x, w), F.linear(x, w))
    assert torch.equal(ot.linear(torch.ones(2, 0), torch.ones(3, 0)), torch.zeros(2, 3))


def test_frozen_is_a_module():
    import copy
    import io
    part = torch.nn.Linear(4, 4)
    net = ot.frozen(torch.nn.Sequential(part, torch.nn.Tanh(), part).eval())
    x = torch.randn(2, 4)
    with torch.no_grad():
        want = part(torch.tanh(part(x)))
        same(net(x), want)
        assert net[0] is net[2] and "in_features=4" in repr(net)
        file = io.BytesIO()
        torch.save(net, file)
        file.seek(0)
        for other in (copy.deepcopy(net), torch.load(file, weights_only=False)):
            same(other(x), want)
        same(net.double()(x.double()).float(), want)
        state = {name: 2 * value for name, value in net.float().state_dict().items()}
        net.load_state_dict(state)
        same(net[0](x), 2 * part(x))
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        x = torch.randn(2, 3, 8)
        want = layer(x)
        same(ot.frozen(layer)(x), want)
        conv = torch.nn.Conv2d(3, 4, 3)
        image = torch.randn(3, 8, 8)
        same(ot.frozen(conv)(image), conv(image))


def test_compiled():
    w = torch.randn(8, 16)
    x = torch.randn(4, 16)
    fast = torch.compile(lambda x: ot.linear(x, w).relu(), backend="aot_eager", fullgraph=True)
    same(fast(x), F.linear(x, w).relu())


def test_inductor_is_offered_our_product():
    from torch._inductor import config
    before = list(config.external_matmul)
    with ot.Inductor():
        from torch._inductor.select_algorithm import extern_kernels
        assert config.external_matmul[-1] is ot.optune_mm
        assert extern_kernels.optune_mm is ot.optune_mm  # kept code of another process finds it
        a, b, out = torch.randn(3, 5), torch.randn(5, 4), torch.empty(3, 4)
        assert ot.optune_mm(a, b, out=out) is out
        same(out, a @ b)
    assert config.external_matmul == before


def test_autocast():
    """As torch's own products: bfloat16 where it is on, whatever comes; gradients in their own."""
    def both(f):
        return f(ot.linear, ot.conv2d), f(F.linear, F.conv2d)

    x, w, b = torch.randn(4, 16), torch.randn(8, 16, requires_grad=True), torch.randn(8)
    image, kernel = torch.randn(1, 4, 7, 7), torch.randn(8, 4, 3, 3)

    def inside(linear, conv2d):
        w.grad = None
        with torch.autocast("cpu", dtype=torch.bfloat16):
            made = [linear(x, w, b), linear(x.bfloat16(), w), conv2d(image, kernel, b)]
            made.append(linear(x.double(), w.detach().double()))
        made[0].float().sum().backward()
        return [*made, w.grad]

    for ours, theirs in zip(*both(inside)):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=2e-2, atol=2e-1)

    net = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(200, 4))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        want = net(image)
    plain = net(image).detach()
    fast = ot.frozen(net)
    with torch.no_grad():
        same(fast(image), plain)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            got = fast(image)
        assert got.dtype == want.dtype == torch.bfloat16
        torch.testing.assert_close(got, want, rtol=2e-2, atol=1e-1)
        same(fast(image), plain)  # and as before behind it
