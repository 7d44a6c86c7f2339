# SPDX-License-Identifier: Apache-2.0
"""Records travel from one database to another by way of a hub of files."""

import pytest

import optune

WORKLOAD = "relu(f32[64])"


def test_hub(tmp_path):
    hub, key_file = "file://%s/hub" % tmp_path, tmp_path / "key"
    with optune.open(db=str(tmp_path / "a")) as mine, optune.open(db=str(tmp_path / "b")) as other:
        key = mine.hub("key", key_file=key_file)[0]["key"]
        assert len(key) == 64
        mine.tune(WORKLOAD, trials=2, seconds=30)
        mine.hub("add", "team", hub, keys=[key])
        pushed = mine.hub("push", "team", key_file=key_file)[0]
        assert pushed["records"] >= 2 and pushed["packs"] == 1
        other.hub("add", "team", hub, keys=[key])
        assert other.hub("pull")[0]["new"] == pushed["records"]
        assert other.select(WORKLOAD).tier == mine.select(WORKLOAD).tier == "tuned"
        assert other.select(WORKLOAD).cost == mine.select(WORKLOAD).cost
        other.hub("remove", "team")
        assert other.select(WORKLOAD).tier != "tuned"
        other.hub("add", "team", hub, keys=["0" * 64])
        with pytest.raises(optune.PartialError) as refused:
            other.hub("pull")
        assert refused.value.result[0]["packs_refused"] == 1
        with pytest.raises(optune.UsageError):
            other.hub("add", "x", "https://me:secret@hub.example.org")
