# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hand-off module on real files: hashes, the contract, variants, copies, refusals with nothing written."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils import handoff_files, run_lock
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core import schema
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.ledger import LEDGER_SCHEMA, SCHEMA_ID
from ansible_collections.inference_ops.dynamo.plugins.modules import recipe_handoff

from .conftest import Outcome, RunModule

DGD = """\
# the assigned one
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: agg
spec:
  services:
    Frontend:
      componentType: frontend
    Worker:
      componentType: worker
      replicas: 2
      extraPodSpec:
        mainContainer:
          image: runtime:1
          command: [python3, -m, dynamo.vllm]
          args: [--model, acme/x, --quantization, fp8, --tp, "4"]
"""
CACHE = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: the-cache}
spec: {storageClassName: your-storage-class-name, accessModes: [ReadWriteMany]}  # note
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: load-%s}
spec: {template: {spec: {containers: [{name: main, env: [{name: Y, value: "y"}, {name: N, value: "08"}]}]}}}
"""


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Room:
    """An experiment root and handed-off files, and the module run on them."""

    def __init__(self, root: Path, run: RunModule) -> None:
        self.root = root / "exp"
        self.root.mkdir()
        self.files = root / "recipe"
        self.files.mkdir()
        self.run_module = run
        self.write("deploy.yaml", DGD)

    def write(self, name: str, text: str) -> str:
        path = self.files / name
        path.write_text(text)
        return str(path)

    def contract(self, **changes: Any) -> dict[str, Any]:
        inputs = self.root / "inputs"
        inputs.mkdir(exist_ok=True)
        (inputs / "user_provided_dgd.yaml").write_text(DGD)
        data: dict[str, Any] = {
            "kubernetes": {"kube_context": "gpu", "namespace": "serving", "storage_class": ""},
            "deployment": {"dgd_path": "exp/inputs/user_provided_dgd.yaml", "dgd_sha256": sha(DGD)},
            "resources": {"gpu_ceiling": 16, "pinned": ["mode", "precision"]},
            "preferences": {"precision": ""},
        }
        for name, value in changes.items():
            head, _unused, tail = name.partition("__")
            data[head][tail] = value
        path = self.root / "user_workload.yaml"
        path.write_text(json.dumps(data))
        return {"user_workload": str(path), "user_workload_sha256": sha(path.read_text())}

    def run(self, check: bool = False, diff: bool = False, **more: Any) -> Outcome:
        arguments = {"exp_root": str(self.root), "dgd_path": str(self.files / "deploy.yaml"), "namespace": "serving"}
        merged = {key: value for key, value in {**arguments, **more}.items() if value is not None}
        return self.run_module(recipe_handoff, merged, check=check, diff=diff)

    def applied(self, iteration: int = 0) -> dict[str, str]:
        folder = self.root / "artifacts" / f"deploy-iter-{iteration:03d}" / "applied_manifests"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())} if folder.exists() else {}

    def ledger(self, iteration: int, **fields: Any) -> None:
        folder = self.root / "artifacts" / f"deploy-iter-{iteration:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        base = {
            "schema": SCHEMA_ID,
            "status": "blocked",
            "iteration": iteration,
            "dgd_name": f"dgd-{iteration}",
            "namespace": "serving",
            "source_dgd_sha256": "0" * 64,
        }
        (folder / "deployment_ledger.json").write_text(json.dumps({**base, **fields}))


@pytest.fixture
def room(tmp_path: Path, run_module: RunModule) -> Room:
    return Room(tmp_path, run_module)


def test_a_plain_hand_off(room: Room) -> None:
    cache, job = room.write("pvc.yaml", CACHE), room.write("fetch.yml", JOB % "model")
    outcome = room.run(support_manifests=[job, cache], context="gpu", storage_class="nfs", gpu_ceiling=8)
    assert not outcome.failed, outcome.message
    result = outcome.result
    assert list(room.applied()) == ["deploy.yaml", "model-cache.yaml", "model-download.yaml"]
    assert room.applied()["deploy.yaml"] == DGD
    assert [item["name"] for item in result["manifests"]] == ["model-cache.yaml", "model-download.yaml", "deploy.yaml"]
    assert result["jobs"] == {"model-download": ["load-model"], "model-validate": []}
    assert result["claims"] == ["the-cache"]
    assert result["dgd"]["sha256"] == result["dgd"]["applied_sha256"] == sha(DGD)
    assert (result["dgd"]["served_model"], result["dgd"]["precision"]) == ("acme/x", "fp8")
    assert result["patches"][0]["operations"][0]["value"] == "nfs"
    assert "storageClassName: nfs" in room.applied()["model-cache.yaml"]
    definitions = [item for manifest in result["manifests"] for item in manifest["definitions"]]
    assert {item["metadata"]["namespace"] for item in definitions} == {"serving"}
    ledger = {**result["ledger_fields"], "schema": SCHEMA_ID, "status": "prepared"}
    schema.check(ledger, LEDGER_SCHEMA, "ledger")
    assert ledger["applied_manifests"][0]["path"] == "artifacts/deploy-iter-000/applied_manifests/model-cache.yaml"
    assert any("teardown" in command for command in ledger["cleanup_commands"])
    assert room.run(support_manifests=[job, cache], context="gpu", storage_class="nfs").result["changed"] is False
    assert (room.files / "pvc.yaml").read_text() == CACHE


def test_check_mode_writes_nothing_and_returns_everything(room: Room) -> None:
    cache = room.write("model-cache.yaml", CACHE)
    checked = room.run(check=True, diff=True, support_manifests=[cache], storage_class="nfs")
    assert room.applied() == {}
    assert checked.result["changed"] is True
    assert [item["after_header"].rpartition("/")[2] for item in checked.result["diff"]] == [
        "model-cache.yaml",
        "deploy.yaml",
    ]
    real = room.run(support_manifests=[cache], storage_class="nfs")
    for name in ("manifests", "patches", "dgd", "ledger_fields", "findings"):
        assert checked.result[name] == real.result[name]


def test_the_ledger_is_started_once(room: Room) -> None:
    path = room.root / "artifacts" / "deploy-iter-000" / "deployment_ledger.json"
    checked = room.run(check=True, ledger=True)
    assert not path.exists()
    assert checked.result["record"]["ledger"]["status"] == "prepared"
    first = room.run(ledger=True)
    assert (first.result["changed"], first.result["record"]["path"]) == (True, str(path))
    written = json.loads(path.read_text())
    assert first.result["record"]["ledger"] == written
    assert {**written, **first.result["ledger_fields"]} == written
    assert written["created_at"].endswith("Z")
    assert [item["after_header"] for item in first.result["diff"]][-1] == str(path)
    # A rerun finds everything as it is; without the option no ledger is looked at.
    again = room.run(ledger=True)
    assert (again.result["changed"], json.loads(path.read_text())) == (False, written)
    assert "record" not in room.run().result


def test_a_root_that_another_run_has_is_left_alone(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.fork()
    if other == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        while True:
            signal.pause()
    try:
        monkeypatch.setattr(handoff_files, "_LOCK_TIMEOUT", 0)
        monkeypatch.setattr(run_lock, "run_owner", lambda: run_lock.Owner(os.getpid(), run_lock.start_of(os.getpid())))
        theirs = run_lock.Owner(other, run_lock.start_of(other))
        run_lock.hold(str(room.root), theirs, timeout=0, check_mode=False)
        for check in (False, True):
            refused = room.run(check=check, lock=True, ledger=True)
            assert refused.failed
            assert "another run holds this experiment root" in refused.message
        assert not (room.root / "artifacts").exists()
        run_lock.give_back(str(room.root), theirs)
        assert not room.run(lock=True).failed
        assert run_lock.look(str(room.root), run_lock.run_owner()).ours
        run_lock.give_back(str(room.root), run_lock.run_owner())
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)


def test_bad_input_takes_no_lock(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_lock, "run_owner", lambda: pytest.fail("the lock was asked for"))
    assert room.run(lock=True, ledger=True, dgd_sha256="0" * 64).failed
    assert list(room.root.iterdir()) == []


def test_a_patched_copy_means_the_same_to_every_reader(room: Room) -> None:
    job = room.write("model-download.yaml", JOB % "x")
    toleration = {"key": "a", "operator": "Exists", "reason": "b", "jobs": True}
    room.run(support_manifests=[job], tolerations=[toleration])
    text = room.applied()["model-download.yaml"]
    assert 'value: "y"' in text
    assert "value: '08'" in text or 'value: "08"' in text


def test_a_corrected_file_replaces_the_copies_of_a_blocked_attempt(room: Room) -> None:
    job = room.write("model-download.yaml", JOB % "x")
    room.run(support_manifests=[job])
    room.ledger(0, source_dgd_sha256=sha(DGD))
    room.write("deploy.yaml", DGD.replace("replicas: 2", "replicas: 1"))
    outcome = room.run()
    assert list(room.applied()) == ["deploy.yaml"]
    assert "replicas: 1" in room.applied()["deploy.yaml"]
    assert "handoff_dgd_reassigned" in [finding["reason_code"] for finding in outcome.result["findings"]]


def test_a_live_iteration_keeps_its_dgd(room: Room) -> None:
    room.run()
    room.ledger(0, source_dgd_sha256=sha(DGD), status="applying")
    room.write("deploy.yaml", DGD.replace("replicas: 2", "replicas: 1"))
    outcome = room.run()
    assert "iteration: this iteration is applying with another DGD" in outcome.message
    assert "replicas: 2" in room.applied()["deploy.yaml"]
    room.ledger(0, source_dgd_sha256=sha(DGD), status="ready", torn_down_at="2026-01-31T12:00:00Z")
    assert not room.run().failed


# -- the contract ------------------------------------------------------------------------------------------------------


def test_iteration_0_is_the_contracts(room: Room) -> None:
    outcome = room.run(dgd_path=None, namespace=None, **room.contract())
    assert not outcome.failed, outcome.message
    result = outcome.result
    assert (result["context"], result["namespace"], result["gpu_ceiling"]) == ("gpu", "serving", 16)
    assert result["pinned"] == ["mode", "precision"]
    assert result["provenance"] == "user-interviewer"
    assert result["user_workload"]["sha256"] == sha((room.root / "user_workload.yaml").read_text())
    assert result["ledger_fields"]["source_dgd_path"] == "inputs/user_provided_dgd.yaml"
    assert result["ledger_fields"]["user_workload_path"] == "user_workload.yaml"
    assert [item["reason_code"] for item in result["findings"]] == ["pinned_kept", "pinned_kept"]


def test_a_later_iteration_is_held_against_the_baseline(room: Room) -> None:
    contract = room.contract()
    room.ledger(
        0,
        status="succeeded",
        smoke={"success": 1},
        kube_context="gpu",
        applied_manifests=[{"name": "deploy.yaml", "path": "x", "sha256": "0" * 64}],
    )
    candidate = room.write("deploy.yaml", DGD.replace("fp8", "mxfp4"))
    outcome = room.run(iteration=1, dgd_path=candidate, dgd_sha256=sha(DGD.replace("fp8", "mxfp4")), **contract)
    assert not outcome.failed, outcome.message
    result = outcome.result
    assert (result["verdict"], result["provenance"]) == ("fail", "hypothesis-challenger")
    assert result["findings"][0]["reason_code"] == "pinned_changed"
    assert result["previous"]["dgd_name"] == "dgd-0"
    assert result["previous"]["ledger"].endswith("deploy-iter-000/deployment_ledger.json")
    assert list(room.applied(1)) == ["deploy.yaml"]


def test_what_other_iterations_still_hold(room: Room) -> None:
    live = {"status": "ready", "kube_context": "gpu"}
    room.ledger(0, **live)
    room.ledger(1, **live, torn_down_at="2026-01-31T12:00:00Z")
    room.ledger(2, status="ready", kube_context="other")
    room.ledger(3, **live)
    outcome = room.run(iteration=4, context="gpu")
    assert outcome.result["run_dgds"] == ["dgd-0"]
    assert outcome.result["previous"]["dgd_name"] == "dgd-3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"exp_root": "/no/such/root"}, "exp_root: the experiment root does not exist; create it first"),
        ({"dgd_path": "/no/such/file"}, "/no/such/file: no such file"),
        ({"dgd_path": None}, "dgd_path: the assigned DGD's path is needed"),
        ({"dgd_sha256": "0" * 64}, "the file's SHA-256 is not the one handed off as dgd_sha256"),
        ({"dgd_sha256": "abc"}, "dgd_sha256: must be a SHA-256"),
        ({"iteration": 1}, "iteration 1 needs the ledger of the previous one"),
        ({"iteration": -1}, "iteration: must be a whole number from 0"),
        ({"provenance": "hypothesis-challenger"}, "provenance: iteration 0 is handed off by user-interviewer"),
        ({"iteration": 1, "provenance": "user-interviewer"}, "iteration 1 is handed off by hypothesis-challenger"),
        ({"gpu_ceiling": -1}, "gpu_ceiling: must be a whole number from 0"),
        ({"pinned": ["mode"]}, "baseline: pinned knobs need a baseline"),
        ({"support_manifests": [7]}, r"support_manifests[0]: must be a path, or a mapping with src and name"),
        ({"support_manifests": ["/no/such"]}, "/no/such: no such file"),
        ({"tolerations": [{"key": "a"}]}, "tolerations[0]: reason: a reason is needed"),
        ({"patches": [{"manifest": "x.yaml"}]}, "patches[0]: manifest: no such manifest"),
        (
            {"namespace": "another", "dgd_path": "@ns"},
            "metadata.namespace: the manifest's namespace is not another",
        ),
        ({"namespace": "Not_A_Name"}, "namespace: not the name of a namespace (found 'Not_A_Name')"),
        ({"namespace": "<namespace>"}, "namespace: not the name of a namespace"),
        ({"storage_class": "<your-class>"}, "storage_class: not the name of a storage class (found '<your-class>')"),
    ],
)
def test_bad_input_writes_nothing(room: Room, arguments: dict[str, Any], said: str) -> None:
    if arguments.get("dgd_path") == "@ns":
        arguments = {
            **arguments,
            "dgd_path": room.write("ns.yaml", DGD.replace("name: agg", "name: agg\n  namespace: x")),
        }
    outcome = room.run(**arguments)
    assert outcome.failed
    assert said in outcome.message.replace("\\", "")
    assert not (room.root / "artifacts").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file holds no object"),
        ("a: 1\na: 2\n", "key given twice"),
        ("a: [\n", "not YAML"),
        (DGD + "---\n" + DGD, "2 objects of kind DynamoGraphDeployment"),
        (CACHE, "no DynamoGraphDeployment"),
        (DGD.replace("v1alpha1", "v9"), "unknown apiVersion"),
        (DGD + "---\n{apiVersion: v1, kind: Secret, metadata: {name: s}}\n", "kind: a manifest must not hold a Secret"),
        (DGD.replace("replicas: 2", "replicas: two"), "replicas: must be a whole number"),
        (DGD.replace("name: agg", "name: a/b"), "metadata.name: not a name that Kubernetes takes (found 'a/b')"),
        (DGD.replace("name: agg", "name: " + "x" * 254), "metadata.name: not a name that Kubernetes takes"),
        (DGD + "---\n{apiVersion: v1, metadata: {name: s}}\n", "kind and metadata.name are needed"),
    ],
)
def test_a_file_that_is_no_dgd(room: Room, text: str, said: str) -> None:
    outcome = room.run(dgd_path=room.write("bad.yaml", text))
    assert outcome.failed
    assert said in outcome.message
    assert "bad.yaml" in outcome.message
    assert not (room.root / "artifacts").exists()


@pytest.mark.parametrize(
    ("changes", "more", "said"),
    [
        ({}, {"user_workload_sha256": "0" * 64}, "not the one handed off as user_workload_sha256"),
        ({}, {"user_workload_sha256": None}, "user_workload_sha256: is needed with user_workload"),
        ({"kubernetes__kube_context": ""}, {}, "kubernetes.kube_context: is missing"),
        ({"kubernetes__namespace": None}, {"namespace": None}, "kubernetes.namespace: is missing"),
        ({"kubernetes__namespace": 7}, {}, "kubernetes.namespace: must be text"),
        ({"deployment__dgd_sha256": ""}, {}, "deployment.dgd_sha256: is missing"),
        ({"deployment__dgd_sha256": "x"}, {}, "deployment.dgd_sha256: must be a SHA-256"),
        ({"deployment__dgd_sha256": "0" * 64}, {"dgd_path": None}, "not the one handed off as dgd_sha256"),
        ({"deployment__dgd_path": "no/such.yaml"}, {}, "deployment.dgd_path: the contract's DGD is not there"),
        ({"resources__gpu_ceiling": "8"}, {}, "resources.gpu_ceiling: must be a whole number from 0"),
        ({"resources__pinned": "mode"}, {}, "resources.pinned: must be a list of texts"),
        ({}, {"context": "other"}, "context: the play variable is not the contract's"),
        ({}, {"namespace": "other"}, "namespace: the play variable is not the contract's"),
        ({}, {}, "deployment.dgd_path: at iteration 0 the assigned DGD is the contract's"),
        ({}, {"iteration": 1}, "dgd_sha256: the assigned DGD's SHA-256 is needed with a contract"),
    ],
)
def test_a_contract_that_is_broken(room: Room, changes: dict[str, Any], more: dict[str, Any], said: str) -> None:
    outcome = room.run(**{**room.contract(**changes), **more})
    assert outcome.failed
    assert said in outcome.message
    assert not (room.root / "artifacts").exists()


def test_a_contract_that_is_no_mapping(room: Room) -> None:
    path = room.write("user_workload.yaml", "- a\n")
    outcome = room.run(user_workload=path, user_workload_sha256=sha("- a\n"))
    assert "a workload contract must be a mapping" in outcome.message
    path = room.write("user_workload.yaml", "kubernetes: x\n")
    outcome = room.run(user_workload=path, user_workload_sha256=sha("kubernetes: x\n"))
    assert "kubernetes: must be a mapping" in outcome.message


def test_a_copy_of_the_baseline_is_not_the_baseline(room: Room) -> None:
    contract = room.contract()
    link = room.files / "link.yaml"
    link.symlink_to(room.root / "inputs" / "user_provided_dgd.yaml")
    assert not room.run(dgd_path=str(link), **contract).failed
    assert "at iteration 0" in room.run(**contract).message


# -- variants and names ------------------------------------------------------------------------------------------------


def chosen(outcome: Outcome, name: str) -> tuple[str, str]:
    (item,) = [item for item in outcome.result["manifests"] if item["name"] == name]
    return os.path.basename(item["source"]), item["reason"]


def test_the_variant_for_the_precision(room: Room) -> None:
    files = [room.write(f"model-download-{name}.yaml", JOB % name) for name in ("fp8", "nvfp4")]
    source, reason = chosen(room.run(support_manifests=files), "model-download.yaml")
    assert source == "model-download-fp8.yaml"
    assert reason == "the DGD's precision is fp8 (--quantization fp8 of component Worker)"


def test_a_variant_in_the_dgds_own_words(room: Room) -> None:
    plain = room.write("gptq.yaml", DGD.replace("fp8", "gptq"))
    files = [room.write(f"model-download-{name}.yaml", JOB % name) for name in ("awq", "gptq", "fp8")]
    source, reason = chosen(room.run(dgd_path=plain, support_manifests=files), "model-download.yaml")
    assert source == "model-download-gptq.yaml"
    assert reason.endswith("and it alone has the same word for it")
    other = room.run(dgd_path=room.write("w4.yaml", DGD.replace("fp8", "w4a16")), support_manifests=files)
    assert "none of 3 variants" in other.message


CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: %s}}\n"


@pytest.mark.parametrize("own", [False, True])
def test_no_object_is_handed_off_twice_with_different_content(room: Room, own: bool) -> None:
    one = room.write("cfg.yaml", CONFIG % "b")
    other = room.write("more.yaml", CONFIG % "b")
    assert not room.run(support_manifests=[one, other]).failed
    if own:
        outcome = room.run(dgd_path=room.write("both.yaml", DGD + "---\n" + CONFIG % "c"), support_manifests=[one])
    else:
        outcome = room.run(support_manifests=[one, room.write("more.yaml", CONFIG % "c")])
    assert outcome.failed
    assert "ConfigMap/c: the object is handed off twice with different content (found also in" in outcome.message


def test_no_link_leads_to_what_is_not_the_runs_own(room: Room) -> None:
    folder = room.root / "artifacts" / "deploy-iter-000"
    patch = [{"key": "a", "reason": "r"}]
    folder.mkdir(parents=True)
    (folder / "applied_manifests").symlink_to(room.files)
    assert "a link leads out of the run's own folder" in room.run(tolerations=patch).message
    (folder / "applied_manifests").unlink()
    (folder / "applied_manifests").mkdir()
    copy = folder / "applied_manifests" / "deploy.yaml"
    copy.symlink_to(room.files / "deploy.yaml")
    assert "a link leads out of the run's own folder" in room.run(tolerations=patch).message
    copy.unlink()
    copy.write_text(DGD)
    assert "a source lies among the run's own copies" in room.run(dgd_path=str(copy)).message
    assert (room.files / "deploy.yaml").read_text() == copy.read_text() == DGD


def test_a_root_behind_a_link_is_as_good(room: Room, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(room.root)
    assert not room.run(exp_root=str(tmp_path / "link")).failed
    assert not room.run().failed


def test_no_variant_for_the_precision(room: Room) -> None:
    files = [room.write(f"model-download-{name}.yaml", JOB % name) for name in ("bf16", "nvfp4")]
    outcome = room.run(support_manifests=files)
    assert "none of 2 variants of model-download.yaml is clearly for the DGD" in outcome.message
    assert "model-download-bf16.yaml (bf16)" in outcome.message
    assert room.applied() == {}


def test_a_precision_that_only_the_hand_off_tells(room: Room) -> None:
    plain = room.write("plain.yaml", DGD.replace("--quantization, fp8, ", ""))
    files = [room.write(f"model-download-{name}.yaml", JOB % name) for name in ("fp8", "nvfp4")]
    assert "neither a quantization" in room.run(dgd_path=plain, support_manifests=files).message
    outcome = room.run(dgd_path=plain, support_manifests=files, precision="FP4")
    assert chosen(outcome, "model-download.yaml")[0] == "model-download-nvfp4.yaml"


def test_a_variant_that_alone_names_the_model(room: Room) -> None:
    one = room.write("model-download-a.yaml", JOB % "a" + "  # acme/x\n")
    other = room.write("model-download-b.yaml", (JOB % "b").replace('"y"', '"acme/x"'))
    source, reason = chosen(room.run(support_manifests=[one, other]), "model-download.yaml")
    assert (source, reason) == ("model-download-b.yaml", "it alone names the model acme/x")


def test_the_only_one_is_taken_and_doubted(room: Room) -> None:
    outcome = room.run(support_manifests=[room.write("model-download-nvfp4.yaml", JOB % "a")])
    assert chosen(outcome, "model-download.yaml")[1] == "it is the only one handed off"
    assert "handoff_variant_differs" in [finding["reason_code"] for finding in outcome.result["findings"]]


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("01_model_cache.yaml", CACHE, "model-cache.yaml"),
        ("storage.yaml", CACHE, "model-cache.yaml"),
        ("check.yaml", JOB % "validate-it", "model-validate.yaml"),
        ("Download.yaml", JOB % "x", "model-download.yaml"),
        ("Extra Config.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", "extra-config.yaml"),
        ("deploy.yml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}", "deploy-support.yaml"),
    ],
)
def test_stable_names(room: Room, file: str, text: str, name: str) -> None:
    outcome = room.run(support_manifests=[room.write(file, text)])
    assert name in room.applied(), outcome.message


def test_a_name_that_the_hand_off_gives(room: Room) -> None:
    path = room.write("whatever.yaml", JOB % "x")
    assert "model-validate.yaml" in [
        item["name"]
        for item in room.run(support_manifests=[{"src": path, "name": "model-validate"}]).result["manifests"]
    ]
    assert "not a stable name" in room.run(support_manifests=[{"src": path, "name": "../x"}]).message
    assert "not a stable name" in room.run(support_manifests=[{"src": path, "name": "deploy"}]).message


def test_what_others_need_comes_first_and_siblings_never(room: Room) -> None:
    config = room.write("cfg.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}")
    service = room.write("svc.yaml", "{apiVersion: v1, kind: Service, metadata: {name: s}}")
    files = [
        service,
        room.write("model-validate.yaml", JOB % "v"),
        room.write("model-download.yaml", JOB % "d"),
        config,
    ]
    outcome = room.run(support_manifests=files)
    names = [item["name"] for item in outcome.result["manifests"]]
    assert names == ["cfg.yaml", "model-download.yaml", "model-validate.yaml", "svc.yaml", "deploy.yaml"]
    sibling = room.run(support_manifests=[room.write("sibling.yaml", DGD)])
    assert "a support manifest must not hold a DGD" in sibling.message


def test_the_dgds_own_helpers_stay_with_it(room: Room) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n" + DGD
    outcome = room.run(dgd_path=room.write("both.yaml", text))
    kinds = [item["kind"] for item in outcome.result["manifests"][-1]["definitions"]]
    assert kinds == ["DynamoGraphDeployment", "ConfigMap"]
    assert room.applied()["deploy.yaml"] == text


def test_a_placeholder_without_a_class_is_a_finding_not_a_failure(room: Room) -> None:
    outcome = room.run(support_manifests=[room.write("model-cache.yaml", CACHE)])
    assert not outcome.failed
    assert (outcome.result["verdict"], outcome.result["findings"][0]["reason_code"]) == (
        "fail",
        "patch_storage_class_missing",
    )
    assert "handoff_hash_not_given" in [finding["reason_code"] for finding in outcome.result["findings"]]
