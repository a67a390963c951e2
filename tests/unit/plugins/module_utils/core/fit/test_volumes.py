# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims and volumes as the scheduler sees them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit import reasons as why
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
    HOST,
    ZONE,
    Plain,
    bound,
    demands,
    judge,
    node,
    pod,
    reasons,
    state,
)

NODES = [node("a", zone="x"), node("b", zone="y"), node("c")]
CLASSES = [
    {
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    },
    {"metadata": {"name": "made"}, "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"},
    {"metadata": {"name": "soon"}, "provisioner": "csi.example.com", "volumeBindingMode": "Immediate"},
    {"metadata": {"name": "never"}, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"},
]


def claim(
    name: str, storage_class: str, *, volume: str = "", size: str = "5Gi", mode: str = "ReadWriteOnce", **more: Any
) -> Plain:
    spec: Plain = {
        "storageClassName": storage_class,
        "accessModes": [mode],
        "resources": {"requests": {"storage": size}},
    }
    meta: Plain = {"name": name, "namespace": "team", **more}
    if volume:
        spec["volumeName"] = volume
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Bound" if volume else "Pending"}}


def volume(
    name: str, storage_class: str = "late", *, host: str = "", zone: str = "", size: str = "5Gi", **more: Any
) -> Plain:
    spec: Plain = {
        "storageClassName": storage_class,
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"],
        **more,
    }
    if host:
        rule = {"key": HOST, "operator": "In", "values": [host]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}
    labels = {ZONE: zone} if zone else {}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"phase": "Available"}}


def mounting(name: str, *claims: str, **more: Any) -> Plain:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(name, 1, volumes=volumes, **more)


def cluster(claims: list[Plain], volumes: list[Plain], **more: Any) -> Plain:
    return {
        "nodes": NODES,
        "persistentvolumeclaims": claims,
        "persistentvolumes": volumes,
        "storageclasses": CLASSES,
        **more,
    }


def test_bound_volumes_are_where_they_are() -> None:
    found = reasons(cluster([claim("c", "late", volume="v")], [volume("v", host="b")]), mounting("p", "c"))
    assert found == {"a": (why.VOLUME_NODE,), "b": (), "c": (why.VOLUME_NODE,)}


def test_zone_labels_bind_nodes_that_have_a_zone() -> None:
    found = reasons(cluster([claim("c", "late", volume="v")], [volume("v", zone="x__z")]), mounting("p", "c"))
    assert found == {"a": (), "b": (why.VOLUME_ZONE,), "c": ()}


def _lost() -> Plain:
    found = claim("c", "late", volume="v")
    found["status"]["phase"] = "Lost"
    return found


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c", "soon")], why.UNBOUND_IMMEDIATE),
        ([claim("c", "late", volume="gone")], 'persistentvolume "gone" not found'),
        ([claim("c", "soon", deletionTimestamp="now")], 'persistentvolumeclaim "c" is being deleted'),
        ([_lost()], 'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'),
    ],
)
def test_what_keeps_a_pod_off_the_whole_cluster(claims: list[Plain], expected: str) -> None:
    found = state(cluster(claims, []), mounting("p", "c"))
    assert found.cluster_failure(0) == expected
    assert not found.fits(0, 0)


def test_waiting_claims_need_a_volume_of_the_node() -> None:
    volumes = [volume("v", host="a"), volume("w", host="b", size="1Gi"), volume("o", "made", host="c")]
    found = reasons(cluster([claim("c", "late")], volumes), mounting("p", "c"))
    assert found == {"a": (), "b": (why.VOLUME_BIND,), "c": (why.VOLUME_BIND,)}


@pytest.mark.parametrize(
    "more",
    [
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeMode": "Block"},
        {"claimRef": {"namespace": "team", "name": "other"}},
        {"volumeAttributesClassName": "fast"},
    ],
)
def test_volumes_that_do_not_suit(more: Plain) -> None:
    found = reasons(cluster([claim("c", "late")], [volume("v", host="a", **more)]), mounting("p", "c"))
    assert found["a"] == (why.VOLUME_BIND,)


def test_a_claims_selector_and_a_prebound_volume() -> None:
    picky = claim("c", "late")
    picky["spec"]["selector"] = {"matchLabels": {"tier": "gold"}}
    assert reasons(cluster([picky], [volume("v", host="a")]), mounting("p", "c"))["a"] == (why.VOLUME_BIND,)
    mine: Any = {"claimRef": {"namespace": "team", "name": "c"}}
    prebound = [volume("v", host="a"), volume("w", host="b", **mine)]
    found = reasons(cluster([claim("c", "late")], prebound), mounting("p", "c"))
    assert found["b"] == ()


def test_two_claims_cannot_share_a_volume_and_the_smallest_is_taken() -> None:
    claims = [claim("c", "late"), claim("d", "late")]
    assert reasons(cluster(claims, [volume("v", host="a")]), mounting("p", "c", "d"))["a"] == (why.VOLUME_BIND,)
    found = state(cluster(claims, [volume("big", host="a", size="9Gi"), volume("small", host="a")]), mounting("p", "c"))
    found.place(0, 0)
    assert found.claimed == {("team", "c"): "small"}
    found.take_back()
    assert (found.claimed, found.taken) == ({}, {})


def test_pods_take_each_others_volumes() -> None:
    volumes = [volume("v", host="a"), volume("w", host="b")]
    snapshot = cluster([claim(f"c{number}", "late") for number in range(3)], volumes)
    two = demands(mounting("p-0", "c0"), mounting("p-1", "c1"))
    three = (*two, *demands(mounting("q-0", "c2")))
    assert judge(snapshot, two).verdict == "fits"
    assert judge(snapshot, three).verdict == "does_not_fit"


def test_a_shared_claim_binds_the_rest_to_its_volume() -> None:
    snapshot = cluster([claim("c", "late")], [volume("v", host="b")])
    report = judge(snapshot, demands(mounting("p-0", "c"), mounting("p-1", "c")))
    assert [one.node for one in report.placements] == ["b", "b"]


def test_a_selected_node_is_final() -> None:
    chosen = claim("c", "made", annotations={"volume.kubernetes.io/selected-node": "b"})
    found = reasons(cluster([chosen], []), mounting("p", "c"))
    assert found == {"a": (why.VOLUME_BIND,), "b": (), "c": (why.VOLUME_BIND,)}


def test_provisioning_respects_the_classes_topology() -> None:
    limited = {**CLASSES[1], "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["y"]}]}]}
    snapshot = {**cluster([claim("c", "made")], []), "storageclasses": [limited]}
    assert reasons(snapshot, mounting("p", "c")) == {"a": (why.VOLUME_BIND,), "b": (), "c": (why.VOLUME_BIND,)}


def test_where_a_shared_made_volume_can_be_reached_is_not_known() -> None:
    snapshot = cluster([claim("c", "made")], [])
    small = demands(*(mounting(f"p-{number}", "c") for number in range(8)))
    assert judge(snapshot, small).verdict == "fits"  # all of them beside the first
    large = demands(*(mounting(f"p-{number}", "c") for number in range(9)))
    report = judge(snapshot, large)
    assert report.verdict == "unknown"
    assert "can be reached is known only when it has been made" in report.unknown[0]
    too_many = demands(*(mounting(f"p-{number}", "c") for number in range(25)))
    assert judge(snapshot, too_many).verdict == "does_not_fit"


def test_one_pod_claims_hold_over_the_whole_cluster() -> None:
    once = claim("c", "late", volume="v", mode="ReadWriteOncePod")
    standing = bound("e", "a", volumes=[{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}])
    found = reasons(cluster([once], [volume("v")], pods=[standing]), mounting("p", "c"))
    assert set(found.values()) == {(why.ONCE_POD,)}
    two = demands(mounting("p-0", "c"), mounting("p-1", "c"))
    assert judge(cluster([once], [volume("v")]), two).verdict == "does_not_fit"
    assert judge(cluster([once], [volume("v")]), two[:1]).verdict == "fits"


def test_planned_claims() -> None:
    def planned(one: Plain, *volumes: Plain) -> Any:
        return judge(cluster([], list(volumes)), demands(mounting("p-0", "c")), claims=(one,))

    assert judge(cluster([], []), demands(mounting("p-0", "c"))).verdict == "does_not_fit"
    many = planned(claim("c", "soon", mode="ReadWriteMany"))
    assert many.verdict == "fits"
    assert [one.reason_code for one in many.findings] == ["fit_volume_assumed", "fit_fits"]
    assert planned(claim("c", "soon")).verdict == "unknown"
    assert planned(claim("c", "never")).verdict == "does_not_fit"
    static = planned(claim("c", "never"), volume("v", "never", host="b"))
    assert [one.node for one in static.placements] == ["b"]
    assert planned(claim("c", "late"), volume("v", host="b")).verdict == "fits"


def test_a_planned_claim_that_is_there_and_not_bound_yet_stays_planned() -> None:
    # A run that was ended right after it applied the claim, and is run again before the volume is made.
    def again(one: Plain, *volumes: Plain, planned: bool = True) -> Any:
        wanted = demands(mounting("p-0", "c"))
        return judge(cluster([one], list(volumes)), wanted, claims=(one,) if planned else ()).verdict

    soon = claim("c", "soon", mode="ReadWriteMany")
    assert again(soon) == "fits"
    assert again(soon, planned=False) == "does_not_fit"
    assert again(claim("c", "never"), volume("v", "never")) == "fits"
    # What nothing will bind, and what is lost or going, is no better for being planned.
    assert again(claim("c", "never")) == "does_not_fit"
    assert again({**soon, "status": {"phase": "Lost"}}) == "does_not_fit"
    leaving = {**soon, "metadata": {**soon["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert again(leaving) == "does_not_fit"


def test_a_planned_claim_that_names_its_volume_gets_that_one_or_none() -> None:
    named = claim("c", "soon", mode="ReadWriteMany")
    named["spec"]["volumeName"] = "v"
    wanted = demands(mounting("p-0", "c"))

    def verdict(*volumes: Plain) -> str:
        return judge(cluster([], list(volumes)), wanted, claims=(named,)).verdict

    assert verdict() == "does_not_fit", "nothing is made for a claim that names a volume"
    assert verdict(volume("v", "soon")) == "fits"
    assert verdict(volume("v", "soon", claimRef={"namespace": "team", "name": "c"})) == "fits"
    assert verdict(volume("v", "soon", claimRef={"namespace": "team", "name": "other"})) == "does_not_fit"


def test_a_claim_of_a_class_that_is_not_there_is_never_bound() -> None:
    assert state(cluster([claim("c", "gone")], []), mounting("p", "c")).cluster_failure(0) == why.UNBOUND_IMMEDIATE
    prebound = claim("c", "late")
    prebound["spec"]["volumeName"] = "v"  # not yet confirmed by the volume controller
    found = state(cluster([prebound], [volume("v")]), mounting("p", "c"))
    assert found.cluster_failure(0) == why.UNBOUND_IMMEDIATE


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    default = {
        **CLASSES[0],
        "metadata": {"name": "late", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    }
    open_claim = claim("c", "late")
    del open_claim["spec"]["storageClassName"]
    snapshot = {**cluster([open_claim], [volume("v", host="b")]), "storageclasses": [default]}
    assert reasons(snapshot, mounting("p", "c"))["b"] == ()


def test_generic_ephemeral_volumes_are_made_with_the_pod() -> None:
    template = {"spec": claim("x", "late")["spec"]}
    wanted = pod("p-0", 1, volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])
    assert reasons(cluster([], [volume("v", host="b")]), wanted) == {
        "a": (why.VOLUME_BIND,),
        "b": (),
        "c": (why.VOLUME_BIND,),
    }


def test_unread_volumes_are_not_taken_for_absent() -> None:
    kinds = {kind: {"state": "observed"} for kind in ("nodes", "pods", "persistentvolumeclaims", "storageclasses")}
    snapshot = {**cluster([], []), "kinds": {**kinds, "persistentvolumes": {"state": "forbidden"}}}
    report = judge(snapshot, demands(mounting("p-0", "c")))
    assert report.verdict == "unknown"
    assert "could not be read" in report.unknown[0]
