# SPDX-License-Identifier: Apache-2.0
"""Random ONNX models, computed here and by onnxruntime, or where that refuses one, by the `onnx`
package's evaluator. A model is made of its number alone.

    python3 scripts/onnx_random single 0 1000             one operator each, odd attributes
    python3 scripts/onnx_random single 0 100 --only Conv,Resize --opset 13
    python3 scripts/onnx_random chain 0 200               3 to 12 operators behind each other
    python3 scripts/onnx_random net 0 50 --compiled       small networks over images and lines
    python3 scripts/onnx_random attn 0 50 --compiled      attention in the ways that exporters have
    python3 scripts/onnx_random graph 0 1000              odd structure: bodies, no elements, ...
    python3 scripts/onnx_random quant 0 200               quantised: qdq, operators or dynamic (--only)

Says of each that is WRONG, or disputed (the evaluator agrees with us), and keeps it in --keep.
Exit code 1: one was wrong. It needs onnx, onnxruntime and numpy; without them it says so and ends
with 0.
"""

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
try:
    import numpy as np
    import peers
except ImportError as missing:
    print(f"skipped: {missing}; pip install onnx onnxruntime numpy")
    sys.exit(0)
import compositions  # noqa: E402
from models import Skip  # noqa: E402
from ours import bound, compiled, differ, evaluated, optune  # noqa: E402


def judged(model, path, feeds, want, handle):
    """ok, WRONG, disputed or refused; and why."""
    try:
        bind = bound(model, feeds)
        got = compiled(handle, path, feeds, bind) if handle else evaluated(path, feeds, want, bind)
    except optune.Error as why:
        return "refused", str(why).split(".onnx: ")[-1]
    except AssertionError as why:
        return "WRONG", str(why)
    why = differ(want, got, model)
    if not why:
        return "ok", ""
    try:
        with np.errstate(all="ignore"):
            other = peers.by_reference(model, feeds)
    except Exception:  # it has no such operator, or fails in its own way
        return "WRONG", why
    return ("WRONG" if differ(other, got, model) else "disputed"), why


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=["single", "chain", "net", "attn", "graph", "quant"])
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--compiled", action="store_true", help="not by references")
    parser.add_argument("--only", help="operators, a style of attention, or a way of quantising")
    parser.add_argument("--opset", type=int)
    parser.add_argument("--refused", action="store_true", help="say which were, and why")
    parser.add_argument("--keep", help="where models that differ are left")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    count = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(args.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        handle = optune.open(db=str(Path(scratch) / "db")) if args.compiled else None
        for seed in range(args.first, args.first + args.count):
            try:
                label, model, feeds, _ = compositions.make(args.kind, seed, args.only, args.opset)
                want = peers.peer(model, feeds)
            except Skip:
                continue
            except RuntimeError:  # no peer takes it
                count["no peer"] += 1
                continue
            path = folder / f"{args.kind}_{seed}.onnx"
            path.write_bytes(model.SerializeToString())
            outcome, why = judged(model, str(path), feeds, want, handle)
            count[outcome] += 1
            if outcome in ("WRONG", "disputed") or (outcome == "refused" and args.refused):
                opset = model.opset_import[0].version
                why = " ".join(why.split())[:300]
                print(f"{outcome}: {args.kind} {seed}, opset {opset}, {label}: {why}", flush=True)
            else:
                path.unlink()
    print(", ".join(f"{n} {what}" for what, n in sorted(count.items())))
    return 1 if count["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
