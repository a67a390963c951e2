# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many volumes a node attaches, and what drivers say of their free storage."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit import reasons as why
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.attach import volume_limits
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.checker import Step, check_placement
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.cluster import build_cluster
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.fit.volumes import Storage
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.builders import (
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
from ansible_collections.inference_ops.dynamo.tests.unit.plugins.module_utils.core.fit.test_volumes import (
    CLASSES,
    claim,
    mounting,
    volume,
)

DRIVER = "csi.example.com"
READ = (
    "nodes",
    "pods",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "resourcequotas",
    "limitranges",
)


def csi_node(name: str, count: int | None, driver: str = DRIVER) -> Plain:
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return {"metadata": {"name": name}, "spec": {"drivers": [{"name": driver, **allocatable}]}}


def disk(name: str, *, driver: str = DRIVER, owner: str = "", namespace: str = "team") -> Plain:
    """Return a volume of a driver; ``owner`` is the claim that it is bound to."""
    found = volume(name, "made", csi={"driver": driver, "volumeHandle": f"handle-{name}"})
    if owner:
        found["spec"]["claimRef"] = {"namespace": namespace, "name": owner}
    return found


def pair(name: str, **more: Any) -> tuple[Plain, Plain]:
    """Return a bound claim and its volume of the same name."""
    return claim(name, "made", volume=name), disk(name, owner=name, **more)


def cluster(*pairs: tuple[Plain, Plain], **more: Any) -> Plain:
    return {
        "nodes": [node("a", zone="x"), node("b", zone="y")],
        "persistentvolumeclaims": [one for one, _volume in pairs],
        "persistentvolumes": [one for _claim, one in pairs],
        "storageclasses": CLASSES,
        **more,
    }


def standing(name: str, where: str, *claims: str, **more: Any) -> Plain:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return bound(name, where, volumes=volumes, **more)


def attachment(volume_name: str, where: str) -> Plain:
    source = {"persistentVolumeName": volume_name}
    return {
        "metadata": {"name": f"{volume_name}-{where}"},
        "spec": {"attacher": DRIVER, "nodeName": where, "source": source},
    }


def test_a_node_takes_as_many_volumes_of_a_driver_as_it_says() -> None:
    snapshot = cluster(
        pair("v"), pair("w"), pods=[standing("e", "a", "w")], csinodes=[csi_node("a", 1), csi_node("b", 1)]
    )
    assert reasons(snapshot, mounting("p", "v")) == {"a": (why.VOLUME_LIMIT,), "b": ()}
    # What is attached already does not count again, and another driver's volumes do not count.
    assert reasons(snapshot, mounting("p", "w")) == {"a": (), "b": ()}
    assert reasons(snapshot, mounting("p", "v", "w"))["b"] == (why.VOLUME_LIMIT,)
    other = cluster(pair("v", driver="other.example.com"), csinodes=[csi_node("a", 0), csi_node("b", None)])
    assert reasons(other, mounting("p", "v")) == {"a": (), "b": ()}


def test_limits_come_after_resources_and_before_the_volumes_place() -> None:
    here = disk("v", owner="v")
    here["spec"]["nodeAffinity"] = volume("x", host="b")["spec"]["nodeAffinity"]
    snapshot = cluster((claim("v", "made", volume="v"), here), csinodes=[csi_node("a", 0)])
    assert reasons(snapshot, mounting("p", "v")) == {"a": (why.VOLUME_LIMIT,), "b": ()}
    big = mounting("p", "v")
    big["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "65"
    assert reasons(snapshot, big)["a"] == ("Insufficient cpu",)
    snapshot["csinodes"] = []
    assert reasons(snapshot, mounting("p", "v"))["a"] == (why.VOLUME_NODE,)


def test_pods_of_other_namespaces_count_by_their_volumes_owner() -> None:
    snapshot = cluster(pair("v"), csinodes=[csi_node("a", 1)], pods=[standing("e", "a", "far", namespace="else")])
    assert reasons(snapshot, mounting("p", "v"))["a"] == ()
    snapshot["persistentvolumes"].append(disk("f", owner="far", namespace="else"))
    assert reasons(snapshot, mounting("p", "v"))["a"] == (why.VOLUME_LIMIT,)


def test_two_volumes_with_one_handle_are_one_attachment() -> None:
    first, second = pair("v"), pair("w")
    second[1]["spec"]["csi"]["volumeHandle"] = first[1]["spec"]["csi"]["volumeHandle"]
    snapshot = cluster(first, second, csinodes=[csi_node("a", 1)])
    assert reasons(snapshot, mounting("p", "v", "w"))["a"] == ()
    # Snapshots of older releases hold no handles.
    for one in snapshot["persistentvolumes"]:
        del one["spec"]["csi"]["volumeHandle"]
    assert reasons(snapshot, mounting("p", "v", "w"))["a"] == (why.VOLUME_LIMIT,)


def test_volumes_attached_without_a_pod_count() -> None:
    snapshot = cluster(pair("v"), pair("w"), csinodes=[csi_node("a", 1)], volumeattachments=[attachment("w", "a")])
    assert reasons(snapshot, mounting("p", "v"))["a"] == (why.VOLUME_LIMIT,)
    # One that a standing pod uses is counted once.
    snapshot["pods"] = [standing("e", "a", "w")]
    snapshot["csinodes"] = [csi_node("a", 2)]
    assert reasons(snapshot, mounting("p", "v"))["a"] == ()
    assert volume_limits(
        [csi_node("a", 1), csi_node("gone", 1)],
        [attachment("w", "a"), attachment("unknown", "a"), attachment("w", "gone")],
        Storage.of([], [pair("w")[1]], []),
        {"a": 0},
        [],
    ).lingering == {0: {DRIVER: 1}}


def test_claims_without_a_volume_count_for_their_classes_driver() -> None:
    snapshot = cluster(csinodes=[csi_node("a", 0), csi_node("b", 1)])
    snapshot["persistentvolumeclaims"] = [claim("c", "made"), claim("d", "made")]
    assert reasons(snapshot, mounting("p", "c")) == {"a": (why.VOLUME_LIMIT,), "b": ()}
    assert reasons(snapshot, mounting("p", "c", "d"))["b"] == (why.VOLUME_LIMIT,)
    both = demands(mounting("p-0", "c"), mounting("q-0", "d"))
    report = judge(snapshot, both)
    assert report.verdict == "does_not_fit"
    assert "2 volumes of csi.example.com" in report.proof


def test_generic_ephemeral_volumes_count() -> None:
    template = {"spec": claim("x", "made")["spec"]}

    def scratch(name: str) -> Plain:
        return pod(name, 1, volumes=[{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}])

    snapshot = cluster(csinodes=[csi_node("a", 2), csi_node("b", 1)])
    three = demands(*(scratch(f"p-{number}") for number in range(3)))
    assert judge(snapshot, three).verdict == "fits"
    four = demands(*(scratch(f"p-{number}") for number in range(4)))
    assert judge(snapshot, four).verdict == "does_not_fit"


@pytest.mark.parametrize(
    ("source", "driver"),
    [
        ({"awsElasticBlockStore": {"volumeID": "d"}}, "ebs.csi.aws.com"),
        ({"gcePersistentDisk": {"pdName": "d"}}, "pd.csi.storage.gke.io"),
        ({"azureDisk": {"diskURI": "d"}}, "disk.csi.azure.com"),
        ({"cinder": {"volumeID": "d"}}, "cinder.csi.openstack.org"),
        ({"portworxVolume": {"volumeID": "d"}}, "pxd.portworx.com"),
    ],
)
def test_disks_from_the_tree_count_as_their_drivers(source: Plain, driver: str) -> None:
    old = volume("v", "late", **source)
    snapshot = cluster((claim("v", "late", volume="v"), old), csinodes=[csi_node("a", 0, driver)])
    assert reasons(snapshot, mounting("p", "v"))["a"] == (why.VOLUME_LIMIT,)
    # A disk that a standing pod names is the same disk; another one is one more.
    snapshot["csinodes"] = [csi_node("a", 1, driver)]
    snapshot["pods"] = [bound("e", "a", volumes=[{"name": "d", **source}])]
    assert reasons(snapshot, mounting("p", "v"))["a"] == ()
    kind, fields = next(iter(source.items()))
    snapshot["pods"] = [bound("e", "a", volumes=[{"name": "d", kind: dict.fromkeys(fields, "other")}])]
    assert reasons(snapshot, mounting("p", "v"))["a"] == (why.VOLUME_LIMIT,)
    named = pod("p-0", volumes=[{"name": "d", **source}])
    assert judge(snapshot, demands(named)).verdict == "unknown"


def test_placing_and_taking_back_counts_shared_volumes_once() -> None:
    snapshot = cluster(pair("v"), pair("w"), csinodes=[csi_node("a", 1)])
    found = state(snapshot, mounting("p-0", "v"), mounting("p-1", "v"), mounting("q-0", "w"))
    shared, other = 0, 1
    found.place(shared, 0)
    assert (found.fits(shared, 0), found.fits(other, 0)) == (True, False)
    found.place(shared, 0)
    found.take_back()
    assert not found.fits(other, 0)
    found.take_back()
    assert found.fits(other, 0)


def test_the_search_spreads_volumes_over_nodes_and_the_checker_agrees() -> None:
    names = [f"v{number}" for number in range(4)]
    snapshot = cluster(*map(pair, names), csinodes=[csi_node("a", 3), csi_node("b", 1)])
    wanted = demands(*(mounting(f"p{number}-0", name) for number, name in enumerate(names)))
    report = judge(snapshot, wanted)
    assert report.verdict == "fits"
    assert sorted(one.node for one in report.placements) == ["a", "a", "a", "b"]
    compiled = build_cluster(snapshot)
    steps = [Step(one.name, one.pod, "b") for one in wanted]
    assert "too many volumes" in check_placement(compiled, steps[:2])
    snapshot["csinodes"][0] = csi_node("a", 2)
    assert judge(snapshot, wanted).verdict == "does_not_fit"


def test_volumes_of_pods_that_go_are_free() -> None:
    label = {"nvidia.com/dynamo-graph-deployment-name": "old"}
    snapshot = cluster(
        pair("v"),
        pair("w"),
        csinodes=[csi_node("a", 1), csi_node("b", 0)],
        pods=[standing("e", "a", "w", labels=label)],
    )
    wanted = demands(mounting("p-0", "v"))
    assert judge(snapshot, wanted).verdict == "does_not_fit"
    assert judge(snapshot, wanted, retiring=("old",)).verdict == "fits"


# --- free storage ----------------------------------------------------------------------------------------------------


def capacity(topology: Plain | None, **sizes: str) -> Plain:
    found: Plain = {"metadata": {"name": "x", "namespace": "driver"}, "storageClassName": "made", **sizes}
    return found if topology is None else {**found, "nodeTopology": topology}


def telling(*capacities: Plain, tells: bool = True, size: str = "5Gi") -> Plain:
    driver = {"metadata": {"name": DRIVER}, "spec": {"storageCapacity": tells}}
    return {
        **cluster(csidrivers=[driver], csistoragecapacities=list(capacities)),
        "persistentvolumeclaims": [claim("c", "made", size=size)],
    }


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        (telling(), (why.VOLUME_SPACE, why.VOLUME_SPACE)),
        (telling(tells=False), ("", "")),
        (telling(capacity({"matchLabels": {ZONE: "x"}}, capacity="5Gi")), ("", why.VOLUME_SPACE)),
        (telling(capacity({}, capacity="5Gi")), ("", "")),
        (telling(capacity(None, capacity="5Gi")), (why.VOLUME_SPACE, why.VOLUME_SPACE)),
        (telling(capacity({})), (why.VOLUME_SPACE, why.VOLUME_SPACE)),
        # The largest single volume counts where the driver tells it.
        (telling(capacity({}, capacity="9Gi", maximumVolumeSize="4Gi")), (why.VOLUME_SPACE, why.VOLUME_SPACE)),
        (
            telling(
                capacity({"matchLabels": {ZONE: "y"}}, capacity="1Gi"),
                capacity({"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["x"]}]}, capacity="6Gi"),
            ),
            (why.VOLUME_SPACE, ""),
        ),
        ({**telling(), "csidrivers": []}, ("", "")),
    ],
)
def test_free_storage_of_drivers_that_tell_it(snapshot: Plain, expected: tuple[str, str]) -> None:
    found = reasons(snapshot, mounting("p", "c"))
    assert found == {name: ((text,) if text else ()) for name, text in zip("ab", expected, strict=True)}
    report = judge(snapshot, demands(mounting("p-0", "c")))
    assert report.verdict == ("fits" if "" in expected else "does_not_fit")


def test_a_volume_that_is_there_needs_no_free_storage() -> None:
    snapshot = telling()
    snapshot["persistentvolumes"] = [volume("v", "made", host="b")]
    assert reasons(snapshot, mounting("p", "c")) == {"a": (why.VOLUME_SPACE,), "b": ()}


def test_a_selected_node_needs_free_storage_too() -> None:
    snapshot = telling(capacity({"matchLabels": {ZONE: "y"}}, capacity="5Gi"))
    chosen = copy.deepcopy(snapshot)
    chosen["persistentvolumeclaims"][0]["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "a"}
    assert reasons(chosen, mounting("p", "c")) == {"a": (why.VOLUME_SPACE,), "b": (why.VOLUME_BIND,)}


def test_a_bound_and_a_waiting_claim_can_both_refuse_a_node() -> None:
    far = volume("v", host="b", claimRef={"namespace": "team", "name": "v"})
    snapshot = cluster((claim("v", "late", volume="v"), far))
    snapshot["persistentvolumeclaims"].append(claim("c", "late"))
    assert reasons(snapshot, mounting("p", "v", "c")) == {
        "a": (why.VOLUME_NODE, why.VOLUME_BIND),
        "b": (why.VOLUME_BIND,),
    }


# --- what could not be read -------------------------------------------------------------------------------------------


def read(snapshot: Plain, **states: str) -> Plain:
    kinds = {kind: {"state": "observed"} for kind in READ}
    return {**snapshot, "kinds": {**kinds, **{kind: {"state": state} for kind, state in states.items()}}}


def verdict(snapshot: Plain, *claims: str) -> tuple[str, str]:
    report = judge(snapshot, demands(mounting("p-0", *claims)))
    return report.verdict, " ".join(report.unknown)


def test_limits_that_may_not_be_read_make_the_verdict_unknown() -> None:
    snapshot = cluster(pair("v"))
    found, text = verdict(read(snapshot, csinodes="forbidden"), "v")
    assert (found, "csinodes" in text, DRIVER in text) == ("unknown", True, True)
    # A snapshot without the kind is of before it was collected, and volumes without a driver have no limit.
    assert verdict(read(snapshot), "v")[0] == "fits"
    assert verdict(read(snapshot, csinodes="absent"), "v")[0] == "fits"
    plain = cluster((claim("v", "late", volume="v"), volume("v")))
    assert verdict(read(plain, csinodes="forbidden"), "v")[0] == "fits"


def test_attachments_that_may_not_be_read_matter_where_there_is_a_limit() -> None:
    snapshot = cluster(pair("v"), csinodes=[csi_node("a", 9)])
    found, text = verdict(read(snapshot, csinodes="observed", volumeattachments="forbidden"), "v")
    assert (found, "volumeattachments" in text) == ("unknown", True)
    free = cluster(pair("v"), csinodes=[csi_node("a", None)])
    assert verdict(read(free, csinodes="observed", volumeattachments="forbidden"), "v")[0] == "fits"


def test_free_storage_that_may_not_be_read() -> None:
    snapshot = telling(capacity({}, capacity="5Gi"))
    found, text = verdict(read(snapshot, csidrivers="forbidden"), "c")
    assert (found, "csidrivers" in text) == ("unknown", True)
    found, text = verdict(read(snapshot, csidrivers="observed", csistoragecapacities="error"), "c")
    assert (found, "csistoragecapacities" in text) == ("unknown", True)
    silent = telling(tells=False)
    assert verdict(read(silent, csidrivers="observed", csistoragecapacities="error"), "c")[0] == "fits"


def test_which_of_a_drivers_volumes_is_bound_late_is_not_known() -> None:
    waiting = disk("v")
    waiting["spec"]["storageClassName"] = "late"
    snapshot = cluster(csinodes=[csi_node("a", 9)])
    snapshot |= {"persistentvolumeclaims": [claim("c", "late")], "persistentvolumes": [waiting]}
    found, text = verdict(snapshot, "c")
    assert (found, "known only then" in text) == ("unknown", True)


def test_what_keeps_late_volumes_from_being_made_anywhere() -> None:
    def easy(snapshot: Plain) -> bool:
        found = state(snapshot, mounting("p", "c"))
        (waiting,) = found.groups[0].volumes.waiting
        return found.cluster.storage.made_anywhere(waiting)

    plain = telling(tells=False)
    assert easy(plain)
    assert not easy(telling())
    assert not easy({**plain, "persistentvolumes": [volume("v", "made", host="b")]})
    chosen = copy.deepcopy(plain)
    chosen["persistentvolumeclaims"][0]["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "a"}
    assert not easy(chosen)
    limited = [{**one, "allowedTopologies": [{"matchLabelExpressions": []}]} for one in CLASSES]
    assert not easy({**plain, "storageclasses": limited})
    assert not easy({**plain, "persistentvolumeclaims": [claim("c", "late")]})
