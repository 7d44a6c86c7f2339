# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the little of TVM that optune.tvm meets, for where no TVM is: what the classes of
tvm.autotvm.task document of themselves, and a target's text and keys. It compiles nothing."""

import sys
import types


class DispatchContext:
    current = None

    def __init__(self):
        self._old_ctx = DispatchContext.current

    def query(self, target, workload):
        found = self._query_inside(target, workload)
        return self._old_ctx.query(target, workload) if found is None else found

    def __enter__(self):
        self._old_ctx = DispatchContext.current
        DispatchContext.current = self
        return self

    def __exit__(self, kind, value, trace):
        DispatchContext.current = self._old_ctx


class ConfigEntity:
    is_fallback = False
    cost = None

    @staticmethod
    def from_json_dict(told):
        made = ConfigEntity()
        made.told = told
        return made

    def to_json_dict(self):
        return self.told


class FallbackConfigEntity(ConfigEntity):
    is_fallback = True


class FallbackContext(DispatchContext):
    def _query_inside(self, target, workload):
        return FallbackConfigEntity()


class Target:
    def __init__(self, text):
        self._text = text
        kind = text.split()[0]
        self.keys = ["cpu"] if kind == "llvm" else [kind, "gpu"]

    def __str__(self):
        return self._text


def install():
    names = ("tvm", "tvm.autotvm", "tvm.autotvm.task", "tvm.target")
    made = {name: types.ModuleType(name) for name in names}
    made["tvm.autotvm.task"].DispatchContext = DispatchContext
    made["tvm.autotvm.task"].ConfigEntity = ConfigEntity
    made["tvm.target"].Target = Target
    DispatchContext.current = FallbackContext()
    sys.modules.update(made)
