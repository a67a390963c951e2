# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every form of a scheduler's message that is known, and what it means: the confusion table of the texts."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.categories import CATEGORIES
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.triage.messages import parse
from hypothesis import given, settings
from hypothesis import strategies as st

#: (phrase as a kube-scheduler gives it for a node or for the pod, category, resource)
PHRASES = [
    ("Insufficient cpu", "insufficient_resource", "cpu"),
    ("Insufficient memory", "insufficient_resource", "memory"),
    ("Insufficient ephemeral-storage", "insufficient_resource", "ephemeral-storage"),
    ("Insufficient nvidia.com/gpu", "insufficient_resource", "nvidia.com/gpu"),
    ("Insufficient nvidia.com/mig-1g.10gb", "insufficient_resource", "nvidia.com/mig-1g.10gb"),
    ("Insufficient vpc.amazonaws.com/efa", "insufficient_resource", "vpc.amazonaws.com/efa"),
    ("Too many pods", "insufficient_resource", "pods"),
    ("node(s) had untolerated taint {dedicated: ml}", "taint", ""),
    ("node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }", "taint", ""),
    ("node(s) had untolerated taint(s)", "taint", ""),
    ("node(s) had taint {k: v}, that the pod didn't tolerate", "taint", ""),
    ("node(s) had taints that the pod didn't tolerate", "taint", ""),
    ("node(s) were unschedulable", "node_unschedulable", ""),
    ("node(s) had unknown conditions", "node_unschedulable", ""),
    ("node(s) didn't match Pod's node affinity/selector", "node_affinity", ""),
    ("node(s) didn't match scheduler-enforced node affinity", "node_affinity", ""),
    ("node(s) didn't match node selector", "node_affinity", ""),
    ("node(s) didn't match the requested node name", "node_affinity", ""),
    ("node(s) didn't satisfy plugin NodeAffinity", "node_affinity", ""),
    ("node(s) didn't satisfy plugin(s) [NodeAffinity]", "node_affinity", ""),
    ("node(s) didn't satisfy plugin(s) [NodeAffinity VolumeBinding] simultaneously", "node_affinity", ""),
    ("node(s) didn't satisfy plugin(s) [VolumeBinding]", "pvc", ""),
    ("node(s) didn't satisfy plugin(s) [Whatever]", "unknown", ""),
    ("node(s) didn't match pod affinity rules", "pod_affinity", ""),
    ("node(s) didn't match pod anti-affinity rules", "pod_affinity", ""),
    ("node(s) didn't match pod affinity/anti-affinity", "pod_affinity", ""),
    ("node(s) didn't satisfy existing pods anti-affinity rules", "pod_affinity", ""),
    ("node(s) didn't match pod topology spread constraints", "topology_spread", ""),
    ("node(s) didn't match pod topology spread constraints (missing required label)", "topology_spread", ""),
    ("node(s) didn't have free ports for the requested pod ports", "host_port", ""),
    ("node(s) didn't find available persistent volumes to bind", "pvc", ""),
    ("node(s) had volume node affinity conflict", "pvc", ""),
    ("node(s) didn't match PersistentVolume's node affinity", "pvc", ""),
    ("node(s) did not have enough free storage", "pvc", ""),
    ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", "pvc", ""),
    ("node(s) had no available volume zone", "pvc", ""),
    ("node(s) had no available disk", "pvc", ""),
    (
        (
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
            "by another pod"
        ),
        "pvc",
        "",
    ),
    ("node(s) exceed max volume count", "pvc", ""),
    ("cannot allocate all claims", "dra_claim", ""),
    ("resourceclaim not available on the node", "dra_claim", ""),
    ("cannot fit resource", "dra_claim", ""),
    ("cannot schedule extended resource claim", "dra_claim", ""),
    (
        "node declared features check failed - unsatisfied requirements: FeatureA, FeatureB",
        "node_affinity",
        "",
    ),
]
#: Texts that hold for the pod as a whole (PreFilter, framework errors, conditions).
WHOLE = [
    ("pod has unbound immediate PersistentVolumeClaims", "pvc"),
    ('persistentvolumeclaim "cache" not found', "pvc"),
    ('persistentvolumeclaim "cache" is being deleted', "pvc"),
    ('persistentvolumeclaim "cache" bound to non-existent persistentvolume "pv-1"', "pvc"),
    ('waiting for ephemeral volume controller to create the persistentvolumeclaim "scratch"', "pvc"),
    ("PersistentVolumeClaim had no name", "pvc"),
    ("PersistentVolumeClaim had no pv name and storageClass name", "pvc"),
    ("PersistentVolume had no name", "pvc"),
    ('VolumeBindingMode not set for StorageClass "fast"', "pvc"),
    ("pod affinity terms conflict", "node_affinity"),
    ("resourceclaim in use", "dra_claim"),
    ('resourceclaim.resource.k8s.io "gpu" not found', "dra_claim"),
    ('deviceclass.resource.k8s.io "gpu.example" not found', "dra_claim"),
    ('storageclass.storage.k8s.io "fast" not found', "pvc"),
    ('persistentvolume "pv-1" not found', "pvc"),
    ("resource claim ml/gpus is in the process of being allocated", "dra_claim"),
    ('resourceclaim "gpus" is being deleted', "dra_claim"),
    ("timed out trying to allocate devices", "dra_claim"),
    ("request gpu: device class gpu.example.com does not exist", "dra_claim"),
    ("resource claim ml/gpus, request gpu: unknown request type", "dra_claim"),
    (
        "resource claim ml/gpus, request gpu: has subrequests, but the DRAPrioritizedList feature is disabled",
        "dra_claim",
    ),
    ('pod "ml/w-0": ResourceClaim not created yet', "dra_claim"),
    ("waiting for scheduling gates: [example.com/hold]", "scheduling_gated"),
    ("Scheduling is blocked due to non-empty scheduling gates", "scheduling_gated"),
    ("waiting for minCount pods from a gang to appear in scheduling queue", "gang"),
    ('waiting for pod\'s pod group "g" to appear in scheduling queue', "gang"),
    ("minCount (4) cannot be satisfied: 1 scheduled, 2 remaining", "gang"),
    ('waiting for composite pod group "g" tree to meet quorum', "gang"),
    ("rejected due to timeout after waiting 15s at plugin Coscheduling", "gang"),
    ("Pod has a restartable init container and the SidecarContainers feature is disabled", "admission"),
    ('running PreFilter plugin "DynamicResources": boom', "dra_claim"),
    ('running "VolumeBinding" filter plugin: boom', "scheduler_error"),
    ('running Reserve plugin "VolumeBinding": boom', "pvc"),
    ('running PreBind plugin "VolumeBinding": boom', "pvc"),
    ('running Score plugins: plugin "NodeResourcesFit" failed with: boom', "insufficient_resource"),
    ('running PreFilter plugin "Strange": boom', "scheduler_error"),
    ("binding volumes: context deadline exceeded", "pvc"),
    ('provisioning failed for PVC "cache"', "pvc"),
    ("no nodes available to schedule pods", "node_unschedulable"),
    ("the moon is in the wrong phase", "unknown"),
]
TAILS = [
    (
        "preemption: 0/5 nodes are available: 3 No preemption victims found for incoming pod, 2 Preemption "
        "is not helpful for scheduling."
    ),
    "preemption: 0/5 nodes are available: 5 Insufficient cpu.",
    "preemption: not eligible due to preemptionPolicy=Never.",
    "preemption: not eligible due to a terminating pod on the nominated node.",
    "no new claims to deallocate, preemption: 0/5 nodes are available: 5 Preemption is not helpful for scheduling.",
    "still not schedulable",
    "plugin disabled",
    "no candidate node for preemption",
    "waiting for the preemption for this pod to be finished",
    "deallocation of ResourceClaim completed",
    "deletion of ResourceClaim completed",
    "not found",
]


@pytest.mark.parametrize(("phrase", "category", "resource"), PHRASES)
def test_a_node_reason(phrase: str, category: str, resource: str) -> None:
    message = parse(f"0/5 nodes are available: 3 {phrase}. preemption: 0/5 nodes are available: 5 whatever.")
    assert [(one.category, one.nodes, one.resource) for one in message.blockers] == [(category, 3, resource)]
    assert (message.nodes, message.scheduler, message.truncated) == (5, "kube-scheduler", False)
    if category == "unknown":
        assert message.way == "investigate"
        assert message.blockers[0].text == phrase


@pytest.mark.parametrize(("text", "category"), WHOLE)
def test_a_text_about_the_whole_pod(text: str, category: str) -> None:
    for framed in (text, f"{text}.", f"0/3 nodes are available: {text}."):
        message = parse(framed)
        assert message.primary is not None
        assert message.primary.category == category, framed
    assert category in CATEGORIES


@pytest.mark.parametrize("tail", TAILS)
def test_what_is_said_about_preemption_is_no_cause(tail: str) -> None:
    message = parse(f"0/5 nodes are available: 5 Insufficient nvidia.com/gpu. {tail}")
    assert [one.category for one in message.blockers] == ["insufficient_resource"]
    assert message.ignored
    assert parse(f"0/5 nodes are available: 5 Insufficient nvidia.com/gpu. {tail}.").blockers == message.blockers


@pytest.mark.parametrize("category", [name for name, one in CATEGORIES.items() if one.way == "contention"])
def test_only_resources_and_gangs_are_contention(category: str) -> None:
    assert category in ("insufficient_resource", "gang")


def test_counts_are_read_with_their_reasons() -> None:  # D02
    message = parse(
        "0/12 nodes are available: 10 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s). preemption: "
        "0/12 nodes are available: 10 No preemption victims found for incoming pod, 2 Preemption is not "
        "helpful for scheduling."
    )
    assert [(one.category, one.nodes) for one in message.blockers] == [("insufficient_resource", 10), ("taint", 2)]
    assert (message.primary.category if message.primary else "", message.way) == ("insufficient_resource", "contention")


def test_one_node_may_count_under_several_resources() -> None:  # D02
    message = parse("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient nvidia.com/gpu.")
    assert [(one.resource, one.nodes) for one in message.blockers] == [("cpu", 1), ("nvidia.com/gpu", 1)]
    assert message.primary is not None
    assert message.primary.resource == "nvidia.com/gpu"


def test_dots_inside_a_resource_and_the_final_one() -> None:  # D02
    message = parse(
        "0/3 nodes are available: 1 Insufficient nvidia.com/mig-1g.10gb, 1 node(s) didn't match Pod's node "
        "affinity/selector, "
        "1 node(s) were unschedulable."
    )
    assert [(one.category, one.resource) for one in message.blockers] == [
        ("insufficient_resource", "nvidia.com/mig-1g.10gb"),
        ("node_affinity", ""),
        ("node_unschedulable", ""),
    ]


def test_commas_in_braces_separate_nothing() -> None:  # D02
    message = parse(
        "0/2 nodes are available: 1 node(s) had untolerated taint {dedicated: a, b}, "
        "1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }."
    )
    assert [one.subject for one in message.blockers] == ["dedicated: a, b", "node-role.kubernetes.io/control-plane: "]
    # The control plane's own taint is routine; the other one is what the manifest must deal with.
    assert message.primary is not None
    assert message.primary.subject == "dedicated: a, b"


def test_old_servers_end_with_two_dots() -> None:
    message = parse(
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: 0/2 nodes are available: 2 No preemption victims found.."
    )
    assert [(one.category, one.nodes) for one in message.blockers] == [("insufficient_resource", 2)]


def test_an_event_that_was_cut_loses_its_last_reason() -> None:  # D04
    head = "0/90 nodes are available: " + ", ".join(
        f"{n} node(s) had untolerated taint {{pool-{n:04d}: reserved}}" for n in range(1, 40)
    )
    note = head[:1020] + " ..."
    assert 1019 < len(note) <= 1024
    cut, whole = parse(note, event=True), parse(head)
    assert cut.truncated
    assert not whole.truncated
    assert len(cut.blockers) < len(whole.blockers)
    assert cut.blockers == whole.blockers[: len(cut.blockers)]
    assert not parse(note).truncated, "a condition is never cut"


def test_full_nodes_outrank_nodes_that_are_out() -> None:
    full = parse("0/9 nodes are available: 1 Insufficient cpu, 8 node(s) had untolerated taint(s).")
    assert full.way == "contention"
    out = parse("0/9 nodes are available: 1 node(s) were unschedulable, 8 node(s) had untolerated taint(s).")
    assert (out.primary.category if out.primary else "", out.way) == ("taint", "failed_deploy")
    volume = parse(
        "0/9 nodes are available: 1 node(s) had volume node affinity conflict, 8 node(s) had untolerated taint(s)."
    )
    assert volume.way == "fix_dependency"
    unknown = parse(
        "0/9 nodes are available: 1 node(s) had taint(s) of a new kind, 8 node(s) had untolerated taint(s)."
    )
    assert unknown.way == "failed_deploy"


def test_a_pod_that_is_being_deleted_is_ignored() -> None:
    message = parse("skip schedule deleting pod: ml/w-0")
    assert message.blockers == ()
    assert message.way == "wait"


# --- other schedulers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "No nodes with enough resources were found: 2 node(s) didn't have enough resources: GPUs.",
            [("insufficient_resource", 2, "nvidia.com/gpu")],
        ),
        (
            "no nodes with enough resources were found: 1 node(s) didn't have enough resources: rdma/shared_mlx5. \n"
            "6 node(s) didn't have enough of mig profile: nvidia.com/mig-1g.5gb.",
            [("insufficient_resource", 1, "rdma/shared_mlx5"), ("insufficient_resource", 6, "nvidia.com/mig-1g.5gb")],
        ),
        (
            "no nodes with enough resources were found: 3 node(s) didn't have enough resources: CPU cores, memory.",
            [("insufficient_resource", 3, "cpu"), ("insufficient_resource", 3, "memory")],
        ),
        (
            "no nodes with enough resources were found: 1 node(s) didn't match Pod's node affinity/selector. \n"
            "2 node(s) had untolerated taint(s).",
            [("node_affinity", 1, ""), ("taint", 2, "")],
        ),
        (
            "Resources were found for 5 pods while 17 are required for gang scheduling. Additional pods cannot "
            "be scheduled "
            "due to: no nodes with enough resources were found: 12 cannot allocate all claims.",
            [("gang", 0, ""), ("dra_claim", 12, "")],
        ),
        (
            "Resources were found for 1 pods from all sub-groups while sub-group decode requires 4 pods for gang "
            "scheduling. "
            "Additional pods cannot be scheduled in this sub-group due to: no nodes with enough resources were found: "
            "2 node(s) didn't have enough resources: GPUs.",
            [("gang", 0, ""), ("insufficient_resource", 2, "nvidia.com/gpu")],
        ),
        (
            (
                "Resources were not found for pod ml/w-0 due to: no nodes with enough resources were found: 4 "
                "node(s) had untolerated taint(s)."
            ),
            [("taint", 4, "")],
        ),
        (
            (
                "\nno nodes with enough resources were found.\n<gpu-1>: Node didn't have enough resources: GPUs, "
                "requested: 1, used: 8, capacity: 8."
            ),
            [("insufficient_resource", 1, "nvidia.com/gpu")],
        ),
        (
            (
                "NonPreemptibleOverQuota: Non-preemptible workload is over quota. Workload requested 1 GPUs, but "
                "team-a quota is 1 GPUs, "
                "while 1 GPUs are already allocated for non-preemptible pods. Use a preemptible workload to go over "
                "quota.."
            ),
            [("quota", 0, "nvidia.com/gpu")],
        ),
        ("No node in the default node-pool has GPU resources.", [("insufficient_resource", 0, "nvidia.com/gpu")]),
    ],
)
def test_kai(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert [(one.category, one.nodes, one.resource) for one in parse(text).blockers] == expected


def test_a_gang_says_how_many_of_how_many() -> None:  # D08
    message = parse(
        "Resources were found for 5 pods while 17 are required for gang scheduling. Additional pods cannot "
        "be scheduled due to: "
        "no nodes with enough resources were found: 12 cannot allocate all claims."
    )
    assert message.blockers[0].subject == "5 of 17"
    # What the other pods lack is the cause; the gang is what follows from it.
    assert message.primary is not None
    assert message.primary.category == "dra_claim"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3/3 tasks in gang unschedulable: pod group is not ready, 3 Pending, 3 minAvailable.", [("gang", 0)]),
        (
            "4/4 tasks in gang unschedulable: pod group is not ready, 4 Pending; "
            "Pending: 3 Unschedulable, 1 Undetermined",
            [("gang", 0)],
        ),
        (
            "0/2 nodes are unavailable: 1 Insufficient cpu, 1 node(s) pod number exceeded.",
            [("insufficient_resource", 1), ("insufficient_resource", 1)],
        ),
        ("all nodes are unavailable: 2 node(s) resource fit failed.", [("insufficient_resource", 2)]),
        ("In hyperNode s0: 0/2 nodes are unavailable: 2 node(s) had untolerated taint(s).", [("taint", 2)]),
        ("pod group is not ready, 1 Pending, 2 minAvailable", [("gang", 0)]),
    ],
)
def test_volcano(text: str, expected: list[tuple[str, int]]) -> None:
    assert [(one.category, one.nodes) for one in parse(text).blockers] == expected


@pytest.mark.parametrize(
    ("text", "expected", "way"),
    [
        (
            (
                "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor "
                "h100, 4 more needed"
            ),
            [("quota", "nvidia.com/gpu", "h100")],
            "contention",
        ),
        (
            (
                "couldn't assign flavors to pod set main: insufficient quota for nvidia.com/gpu in flavor h100, "
                "request > maximum capacity (24 > 16)"
            ),
            [("quota", "nvidia.com/gpu", "h100")],
            "failed_deploy",
        ),
        (
            "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor d, previously "
            "considered podsets requests (16) + "
            "current podset request (8) > maximum capacity (16)",
            [("quota", "cpu", "d")],
            "failed_deploy",
        ),
        (
            "couldn't assign flavors to pod set main: untolerated taint {dedicated ml NoSchedule <nil>} in flavor h100",
            [("taint", "", "{dedicated ml NoSchedule <nil>}")],
            "failed_deploy",
        ),
        (
            "couldn't assign flavors to pod set main: flavor h100 doesn't match node affinity",
            [("node_affinity", "", "h100")],
            "failed_deploy",
        ),
        (
            "couldn't assign flavors to pod set main: topology \"rack\" doesn't allow to fit any of 8 pod(s). "
            "Total nodes: 4; excluded: "
            'resource "nvidia.com/gpu": 3, taint "nvidia.com/gpu:NoSchedule": 1',
            [("insufficient_resource", "nvidia.com/gpu", "nvidia.com/gpu"), ("taint", "", "nvidia.com/gpu:NoSchedule")],
            "contention",
        ),
        (
            'couldn\'t assign flavors to pod set main: topology "rack" allows to fit only 8 out of 16 pod(s)',
            [("topology_spread", "", "rack")],
            "failed_deploy",
        ),
        (
            "couldn't assign flavors to pod set main: resource nvidia.com/gpu unavailable in ClusterQueue",
            [("quota", "nvidia.com/gpu", "")],
            "fix_dependency",
        ),
        ("ClusterQueue team-a is inactive", [("quota", "", "team-a")], "fix_dependency"),
        ("LocalQueue gpus doesn't exist", [("quota", "", "gpus")], "fix_dependency"),
        ("Workload namespace doesn't match ClusterQueue selector", [("quota", "", "")], "fix_dependency"),
        ("The workload has failed admission checks", [("admission", "", "")], "fix_dependency"),
        ("couldn't assign flavors to pod set main: something new", [("unknown", "", "")], "investigate"),
    ],
)
def test_kueue(text: str, expected: list[tuple[str, str, str]], way: str) -> None:
    message = parse(text)
    assert [(one.category, one.resource, one.subject) for one in message.blockers] == expected
    assert (message.scheduler, message.way) == ("kueue", way)


def test_the_plain_form_is_what_the_filter_returns() -> None:
    assert parse("0/2 nodes are available: 2 Insufficient cpu.").to_result() == {
        "scheduler": "kube-scheduler",
        "nodes": 2,
        "reasons": [
            {
                "category": "insufficient_resource",
                "count": 2,
                "text": "Insufficient cpu",
                "resource": "cpu",
                "subject": "",
            }
        ],
        "primary": "insufficient_resource",
        "resource": "cpu",
        "way": "contention",
        "ignored": [],
        "truncated": False,
        "text": "0/2 nodes are available: 2 Insufficient cpu.",
    }


_WORDS = st.sampled_from(
    [phrase for phrase, _category, _resource in PHRASES] + [text for text, _category in WHOLE] + TAILS
)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_read_and_an_unknown_one_kept(text: str) -> None:
    message = parse(text)
    assert message.text == text
    assert {one.category for one in message.blockers} <= set(CATEGORIES)
    for one in message.blockers:
        if one.category == "unknown":
            assert one.text in " ".join(text.split()) or one.text in text


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 500), _WORDS), max_size=6), st.booleans())
def test_any_mixture_of_known_phrases_is_read(parts: list[tuple[int, str]], event: bool) -> None:
    text = "0/500 nodes are available: " + ", ".join(f"{count} {phrase}" for count, phrase in parts) + "."
    message = parse(text, event=event)
    assert message.nodes == 500
    assert message.way in ("wait", "contention", "failed_deploy", "fix_dependency", "investigate")
