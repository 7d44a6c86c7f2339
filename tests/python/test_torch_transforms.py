# SPDX-License-Identifier: Apache-2.0
"""Operators of PyTorch under its transforms, held against its own: attention, vmap, torch.func,
forward mode; what the fake forms refuse."""

import warnings

import pytest

torch = pytest.importorskip("torch")
if not hasattr(torch.library, "custom_op"):
    pytest.skip("PyTorch is older than 2.4", allow_module_level=True)

import optune  # noqa: E402
import optune.torch as ot  # noqa: E402
import torch.nn.functional as F  # noqa: E402

sdpa = F.scaled_dot_product_attention


@pytest.fixture(autouse=True)
def handle(o):
    ot.use(o)
    torch.manual_seed(1)
    yield o
    ot.use(None)


def same(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64)


# Ours, PyTorch's, and what they are called on.
OPERATORS = {
    "linear": (ot.linear, F.linear, (double(3, 4), double(5, 4), double(5))),
    "bmm": (ot.bmm, torch.bmm, (double(2, 3, 4), double(2, 4, 5))),
    "batch_matmul": (ot.batch_matmul, lambda a, b: a @ b.mT, (double(2, 3, 4), double(2, 5, 4))),
    "conv2d": (lambda x, w: ot.conv2d(x, w, stride=2, padding=(1, 0), groups=2),
               lambda x, w: F.conv2d(x, w, stride=2, padding=(1, 0), groups=2),
               (double(2, 4, 5, 6), double(6, 2, 3, 3))),
    "attention": (ot.scaled_dot_product_attention, sdpa,
                  (double(2, 4, 3, 5), double(2, 4, 6, 5), double(2, 4, 6, 5), double(2, 1, 3, 6))),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_forward_mode(name):
    """It was answered by zeros, as if the output depended on nothing."""
    ours, theirs, tensors = OPERATORS[name]
    tangents = tuple(torch.randn_like(t) for t in tensors)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        same(torch.func.jvp(ours, tensors, tangents), torch.func.jvp(theirs, tensors, tangents))
    ad = torch.autograd.forward_ad
    for i, tensor in enumerate(tensors):
        with ad.dual_level(), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            given = list(tensors)
            given[i] = ad.make_dual(tensor, tangents[i])
            got, want = (ad.unpack_dual(f(*given)).tangent for f in (ours, theirs))
            assert got is not None
            same(got, want)


@pytest.mark.parametrize("name", OPERATORS)
def test_functional_gradients(name):
    ours, theirs, tensors = OPERATORS[name]
    every = tuple(range(len(tensors)))
    got, want = (torch.func.grad(lambda *ts, f=f: f(*ts).square().sum(), every)(*tensors)
                 for f in (ours, theirs))
    for a, b in zip(got, want):
        same(a, b)
    leaves = tuple(t.clone().requires_grad_() for t in tensors)
    assert torch.autograd.gradcheck(ours, leaves)
    assert torch.autograd.gradgradcheck(ours, leaves)


@pytest.mark.parametrize("name", OPERATORS)
def test_vmap(name):
    """Over each of the inputs alone and over all of them, by a rule and not by a loop."""
    ours, theirs, tensors = OPERATORS[name]
    n = len(tensors)
    for batched in [*([i] for i in range(n)), list(range(n))]:
        dims = tuple((-1 if i % 2 else 0) if i in batched else None for i in range(n))
        given = [t if dim is None else torch.stack([t, t + 1, 2 * t], dim)
                 for t, dim in zip(tensors, dims)]
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # "performance drop": there is no rule
            got = torch.vmap(ours, dims)(*given)
        want = torch.stack([theirs(*(t if dim is None else t.select(dim, k)
                                     for t, dim in zip(given, dims))) for k in range(3)])
        same(got, want)


def test_gradients_of_each_sample():
    w, xs = double(5, 4), double(3, 2, 4)

    def per_sample(f):
        return torch.vmap(torch.func.grad(lambda w, x: f(x, w).square().sum()), (None, 0))(w, xs)
    same(per_sample(ot.linear), per_sample(F.linear))
    same(torch.func.jacfwd(lambda x: ot.linear(x, w))(xs[0]),
         torch.func.jacrev(lambda x: ot.linear(x, w))(xs[0]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention(dtype):
    def close(got, want):
        assert got.dtype == want.dtype and got.shape == want.shape
        loose = 1e-4 if dtype == torch.float32 else 3e-2
        torch.testing.assert_close(got, want, rtol=loose, atol=loose)

    q, k, v = (torch.randn(2, 4, n, 8).to(dtype) for n in (5, 7, 7))
    keep = torch.rand(2, 1, 5, 7) > 0.3
    keep[:, :, 2] = False  # sees nothing
    for options in ({}, {"scale": 0.3}, {"is_causal": True},
                    {"attn_mask": keep[:, :, :2].any(2, True)},
                    {"attn_mask": torch.randn(5, 7).to(dtype)},
                    {"attn_mask": torch.randn(4, 1, 7).to(dtype)}):
        close(ot.scaled_dot_product_attention(q, k, v, **options), sdpa(q, k, v, **options))
    got = ot.scaled_dot_product_attention(q, k, v, keep)
    assert not got[:, :, 2].any() and not got.isnan().any()
    close(ot.scaled_dot_product_attention(q, q, q, is_causal=True), sdpa(q, q, q, is_causal=True))
    close(ot.scaled_dot_product_attention(q[0], k[0], v[0]), sdpa(q[0], k[0], v[0]))
    five = [t[None].expand(3, *t.shape) for t in (q, k, v)]
    close(ot.scaled_dot_product_attention(*five), sdpa(*five))
    close(ot.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True),
          sdpa(q, k[:, :2].repeat_interleave(2, 1), v[:, :2].repeat_interleave(2, 1)))
    strided = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in (q, k, v)]
    close(ot.scaled_dot_product_attention(*strided), sdpa(*strided))
    assert ot.scaled_dot_product_attention(q[:0], k[:0], v[:0]).shape == (0, 4, 5, 8)


def test_attention_refuses():
    q, k = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 3, 8)
    for why, arrays, options in (
            ("enable_gqa", (q, k, k), {}), ("no dropout", (q, q, q), {"dropout_p": 0.1}),
            ("do not go together", (q, q, q), {"is_causal": True, "attn_mask": q[0, 0, :, :3] > 0}),
            ("same dims in front", (q, q[0], q[0]), {}), ("scale of 0", (q, q, q), {"scale": 0}),
            ("attention takes", (q, q.double(), q), {}),
            ("attention takes", (q, q[..., :7], q), {}),
            ("attention takes", (q, q, q), {"attn_mask": torch.randn(2, 2)}),
            ("attention takes", (q, q, q), {"attn_mask": torch.ones(3, 3).double()})):
        with pytest.raises(optune.Error, match=why):
            ot.scaled_dot_product_attention(*arrays, **options)


def test_grouped_gradients():
    q, k, v = double(1, 4, 3, 5), double(1, 2, 6, 5), double(1, 2, 6, 4)
    mask = (torch.rand(1, 1, 3, 6) > 0.4)
    mask[..., 0, :] = False

    def attend(q, k, v):
        return ot.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
    leaves = tuple(t.requires_grad_() for t in (q, k, v))
    assert torch.autograd.gradcheck(attend, leaves) and torch.autograd.gradgradcheck(attend, leaves)


def test_sound():
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    q, k = torch.randn(1, 2, 3, 4, requires_grad=True), torch.randn(1, 2, 5, 4)
    torch.library.opcheck(torch.ops.optune.attention.default, (q, k, k, None, False, 0.5),
                          test_utils=checks)
    torch.library.opcheck(torch.ops.optune.batch_matmul.default, (q[0], k[0], True),
                          test_utils=checks)


def test_bmm_takes_layouts():
    a, b = torch.randn(3, 4, 5), torch.randn(3, 5, 6)
    for right in (b, b.mT.contiguous().mT, b.expand(2, 3, 5, 6)[1], b[:, :, ::2]):
        same(ot.bmm(a, right), torch.bmm(a, right))
    same(ot.bmm(a[:, :0], b), torch.bmm(a[:, :0], b))
    same(ot.bmm(a.mT, a), torch.bmm(a.mT, a))


def test_an_empty_batch_is_convolved():
    x, w = torch.randn(0, 4, 9, 9), torch.randn(8, 2, 3, 3)
    got = ot.conv2d(x, w, torch.randn(8), stride=2, groups=2)
    assert got.shape == F.conv2d(x, w, None, 2, groups=2).shape == (0, 8, 4, 4)


def test_a_bias_of_another_kind_is_refused():
    x, w = torch.randn(1, 2, 4, 4), torch.randn(3, 2, 2, 2)
    for bias in (torch.randn(3).double(), torch.randn(2), torch.randn(1, 3)):
        with pytest.raises(optune.WorkloadTypeError, match="bias"):
            ot.conv2d(x, w, bias)


def test_what_is_traced_is_checked():
    """An export or a compilation fails where the call would."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode():
        x, image = torch.randn(4, 16), torch.randn(1, 4, 9, 9)
        for wrong in (lambda: ot.linear(x, torch.randn(8, 15)),
                      lambda: ot.linear(x, torch.randn(8, 16).double()),
                      lambda: ot.linear(x, torch.randn(8, 16), torch.randn(7)),
                      lambda: ot.bmm(x[None], torch.randn(1, 15, 3)),
                      lambda: ot.conv2d(image, torch.randn(8, 3, 3, 3)),
                      lambda: ot.conv2d(image, torch.randn(8, 4, 12, 3)),
                      lambda: ot.scaled_dot_product_attention(image, image, image[..., :3, :])):
            with pytest.raises(optune.WorkloadTypeError, match="takes"):
                wrong()
        assert ot.linear(x, torch.randn(8, 16)).shape == (4, 8)


def test_compiled():
    q = torch.randn(1, 2, 6, 8)

    def block(q):
        return ot.scaled_dot_product_attention(q, q, q, is_causal=True).relu()
    fast = torch.compile(block, backend="aot_eager", fullgraph=True)
    same(fast(q), sdpa(q, q, q, is_causal=True).relu())
    leaf = q.clone().requires_grad_()
    fast(leaf).sum().backward()
    twin = q.clone().requires_grad_()
    sdpa(twin, twin, twin, is_causal=True).relu().sum().backward()
    same(leaf.grad, twin.grad)


def test_attention_without_keys():
    """No keys give zeros and no slopes; keys without elements are refused."""
    q, k, v = (torch.randn(1, 1, n, 4, requires_grad=True) for n in (2, 0, 0))
    y = ot.scaled_dot_product_attention(q, k, v)
    y.sum().backward()
    assert not y.any() and not q.grad.any() and k.grad.shape == (1, 1, 0, 4)
    with pytest.raises(optune.UnsupportedError, match="without elements"):
        ot.scaled_dot_product_attention(torch.zeros(1, 1, 2, 0), torch.zeros(1, 1, 3, 0),
                                        torch.randn(1, 1, 3, 4))
