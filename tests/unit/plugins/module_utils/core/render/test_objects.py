# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects beside the pods, their labels and annotations, and Grove's set (rules 1, 8, 9)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render import ClusterFacts, IngressConfig
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.goyaml import to_yaml
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.render.strategy import (
    deployment_strategy,
    first_pass_replicas,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    IMAGE,
    alpha,
    beta,
    frontend_component,
    service,
    worker_component,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import (
    HASH,
    accepted,
    clique,
    find,
    names,
    pod,
    rendered,
    template,
)

BOTH = pytest.mark.parametrize("release", ["1.1", "1.5"])
SURGE = "nvidia.com/deployment-rolling-update-max-surge"
UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"
STRATEGY = "nvidia.com/deployment-strategy"


@BOTH
class TestEveryPathway:
    def test_discovery_rights(self, release: str) -> None:
        for pathway in ("deployment", "grove"):
            result = accepted(alpha(), release, pathway)
            rules = find(result, "Role", "demo-k8s-service-discovery-role")["rules"]
            assert rules[2] == {
                "apiGroups": ["nvidia.com"],
                "resources": ["dynamoworkermetadatas"],
                "verbs": ["create", "get", "list", "watch", "update", "patch", "delete"],
            }
            subject = find(result, "RoleBinding", "demo-k8s-service-discovery-binding")["subjects"][0]
            assert subject == {"kind": "ServiceAccount", "name": "demo-k8s-service-discovery", "namespace": "team-a"}

    def test_planner_rights_in_cluster_wide_mode_only(self, release: str) -> None:
        binding = find(accepted(alpha(), release), "RoleBinding", "planner-serviceaccount-binding")
        assert binding["roleRef"]["name"] == "dynamo-platform-dynamo-operator-planner"
        restricted = accepted(alpha(), release, settings={"restricted_namespace": "team-a"})
        assert names(restricted, "ServiceAccount") == ["demo-k8s-service-discovery"]

    def test_without_cluster_role(self, release: str) -> None:
        refused = rendered(alpha(), release, settings={"planner_cluster_role": ""})
        assert [error.rule for error in refused.errors] == ["no_cluster_role"]

    def test_claims(self, release: str) -> None:
        made = {
            "name": "new",
            "create": True,
            "size": "10Gi",
            "storageClass": "std",
            "volumeAccessMode": "ReadWriteMany",
        }
        graph = alpha(pvcs=[made, {"name": "old", "create": False}])
        result = accepted(graph, release)
        assert names(result, "PersistentVolumeClaim") == ["new"]
        spec = find(result, "PersistentVolumeClaim", "new")["spec"]
        assert spec["resources"] == {"requests": {"storage": "10Gi"}}
        there = ClusterFacts(claims=frozenset({"new", "old"}))
        assert names(accepted(graph, release, facts=there), "PersistentVolumeClaim") == []
        refused = rendered(graph, release, facts=ClusterFacts(claims=frozenset()))
        assert [error.rule for error in refused.errors] == ["pvc_missing"]

    def test_scaling_adapters(self, release: str) -> None:
        services = {
            "A": service(replicas=3, scalingAdapter={"enabled": True}),
            "B": service(scalingAdapter={}),
        }
        result = accepted(alpha(services), release)
        adapter = find(result, "DynamoGraphDeploymentScalingAdapter", "demo-a")
        assert adapter["spec"] == {"replicas": 3, "dgdRef": {"name": "demo", "serviceName": "A"}}
        assert names(result, "DynamoGraphDeploymentScalingAdapter") == ["demo-a"]

    def test_model_services(self, release: str) -> None:
        model = {"name": "Qwen/Qwen3-0.6B"}
        graph = alpha({"A": service(modelRef=model), "B": service(modelRef=model)})
        for pathway in ("deployment", "grove"):
            result = accepted(graph, release, pathway)
            headless = find(result, "Service", "dynamo-model-fb68f5a6")
            assert headless["spec"]["clusterIP"] == "None"
            assert headless["spec"]["selector"] == {"nvidia.com/dynamo-base-model-hash": "fb68f5a6"}
            labels = template(result, "A")["metadata"]["labels"]
            assert labels["nvidia.com/dynamo-base-model-hash"] == "fb68f5a6"

    def test_services(self, release: str) -> None:
        by_component, on_grove = accepted(alpha(), release), accepted(alpha(), release, "grove")
        assert names(by_component, "Service") == ["demo-frontend", f"demo-worker-{HASH}"]
        assert names(on_grove, "Service") == ["demo-frontend", "demo-worker"]
        selector = find(by_component, "Service", f"demo-worker-{HASH}")["spec"]["selector"]
        assert selector == {
            "nvidia.com/dynamo-component-type": "worker",
            "nvidia.com/dynamo-namespace": "team-a-demo",
            "nvidia.com/dynamo-component": "Worker",
        }
        port = find(by_component, "Service", "demo-frontend")["spec"]["ports"]
        assert port == [{"name": "http", "port": 8000, "targetPort": "http", "protocol": "TCP"}]

    def test_ingress_from_the_operators_settings(self, release: str) -> None:
        settings = {"ingress": IngressConfig(class_name="nginx", tls_secret="tls", host_suffix="example.com")}
        for pathway in ("deployment", "grove"):
            spec = find(accepted(alpha(), release, pathway, settings=settings), "Ingress", "demo-frontend")["spec"]
            assert spec["rules"][0]["host"] == "demo.example.com"
            assert spec["tls"] == [{"hosts": ["demo.example.com"], "secretName": "tls"}]
        assert names(accepted(alpha(), release), "Ingress") == []

    def test_virtual_service(self, release: str) -> None:
        settings = {"ingress": IngressConfig(virtual_service_gateway="istio-system/gw")}
        result = accepted(alpha(), release, settings=settings)
        spec = find(result, "VirtualService", "demo-frontend")["spec"]
        assert (spec["hosts"], spec["gateways"]) == (["demo.local"], ["istio-system/gw"])
        assert names(result, "Ingress") == []

    def test_global_namespace(self, release: str) -> None:
        result = accepted(alpha({"Worker": service(globalDynamoNamespace=True)}), release)
        assert template(result, "Worker")["metadata"]["labels"]["nvidia.com/dynamo-namespace"] == "dynamo"

    def test_restart_marks(self, release: str) -> None:
        if release == "1.5":
            return  # there the CRD refuses a restart on creation
        graph = alpha(restart={"id": "r1"})
        marked = {
            name: template(accepted(graph, release, "grove"), name)["metadata"]["annotations"].get(
                "nvidia.com/restartAt"
            )
            for name in ("Frontend", "Worker")
        }
        assert marked == {"Frontend": "r1", "Worker": None}


@pytest.mark.parametrize(
    ("annotations", "strategy"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}),
        (
            {SURGE: "1", UNAVAILABLE: "10%"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "10%"}},
        ),
        ({STRATEGY: "Recreate", SURGE: "1"}, {"type": "Recreate"}),
        (
            {STRATEGY: "BlueGreen"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        ),
    ],
)
def test_strategy(annotations: dict[str, str], strategy: dict[str, Any]) -> None:
    assert deployment_strategy(annotations) == strategy


@pytest.mark.parametrize(
    ("desired", "annotations", "started"),
    [(1, {}, 1), (2, {}, 1), (3, {}, 1), (4, {}, 2), (8, {}, 4), (3, {SURGE: "0", UNAVAILABLE: "0"}, 1), (0, {}, 0)],
)
def test_a_first_pass_starts_low(desired: int, annotations: dict[str, str], started: int) -> None:
    assert first_pass_replicas(desired, annotations) == started


class TestLabels:
    USER = "nvidia.com/selector"

    def graph(self) -> dict[str, Any]:
        made = service(
            labels={"svc": "s", "same": "svc", self.USER: "mine"},
            annotations={"svc": "s", "same": "svc"},
            extraPodMetadata={"labels": {"pod": "p"}, "annotations": {"pod": "p"}},
        )
        return alpha({"Worker": made}, labels={"dgd": "d", "same": "dgd"}, annotations_=None)

    def with_spec(self) -> dict[str, Any]:
        graph = self.graph()
        graph["spec"].pop("annotations_")
        graph["spec"]["annotations"] = {"dgd": "d", "same": "dgd"}
        return graph

    def test_annotations_by_release_and_pathway(self) -> None:
        seen = {}
        for release in ("1.1", "1.5"):
            for pathway in ("deployment", "grove"):
                result = accepted(self.with_spec(), release, pathway)
                found = template(result, "Worker")["metadata"]["annotations"]
                seen[release, pathway] = {key: found[key] for key in ("dgd", "svc", "pod", "same") if key in found}
        assert seen == {
            ("1.1", "deployment"): {"pod": "p"},
            ("1.1", "grove"): {"dgd": "d", "svc": "s", "pod": "p", "same": "svc"},
            ("1.5", "deployment"): {"dgd": "d", "svc": "s", "pod": "p", "same": "dgd"},
            ("1.5", "grove"): {"dgd": "d", "svc": "s", "pod": "p", "same": "svc"},
        }

    def test_labels_reach_the_pods(self) -> None:
        for release in ("1.1", "1.5"):
            labels = template(accepted(self.with_spec(), release), "Worker")["metadata"]["labels"]
            assert (labels["dgd"], labels["svc"], labels["pod"]) == ("d", "s", "p")

    def test_the_selector_is_the_operators_own_except_on_1_1_grove(self) -> None:
        seen = {
            (release, pathway): template(accepted(self.with_spec(), release, pathway), "Worker")["metadata"]["labels"][
                self.USER
            ]
            for release in ("1.1", "1.5")
            for pathway in ("deployment", "grove")
        }
        assert seen == {
            ("1.1", "deployment"): f"demo-worker-{HASH}",
            ("1.1", "grove"): "mine",
            ("1.5", "deployment"): f"demo-worker-{HASH}",
            ("1.5", "grove"): "demo-worker",
        }

    def test_pod_metadata_may_take_the_component_label_in_1_1_only(self) -> None:
        hijacked = {"labels": {"nvidia.com/dynamo-component": "other"}}
        graph = alpha({"Worker": service(extraPodMetadata=hijacked)})
        key = "nvidia.com/dynamo-component"
        assert template(accepted(graph, "1.1"), "Worker")["metadata"]["labels"][key] == "other"
        assert template(accepted(graph, "1.5"), "Worker")["metadata"]["labels"][key] == "Worker"

    @pytest.mark.parametrize(
        ("on_graph", "on_service", "expected"),
        [
            (
                None,
                None,
                {
                    ("1.1", "deployment"): True,
                    ("1.1", "grove"): True,
                    ("1.5", "deployment"): True,
                    ("1.5", "grove"): True,
                },
            ),
            ("false", None, dict.fromkeys([(r, p) for r in ("1.1", "1.5") for p in ("deployment", "grove")], False)),
            (
                None,
                "false",
                {
                    ("1.1", "deployment"): False,
                    ("1.1", "grove"): True,
                    ("1.5", "deployment"): False,
                    ("1.5", "grove"): True,
                },
            ),
            (
                "false",
                "true",
                {
                    ("1.1", "deployment"): True,
                    ("1.1", "grove"): False,
                    ("1.5", "deployment"): False,
                    ("1.5", "grove"): False,
                },
            ),
        ],
    )
    def test_metrics(self, on_graph: str | None, on_service: str | None, expected: dict[tuple[str, str], bool]) -> None:
        key = "nvidia.com/enable-metrics"
        made = service(annotations={key: on_service}) if on_service else service()
        graph = alpha({"Worker": made}, annotations={key: on_graph} if on_graph else None)
        seen = {
            (release, pathway): "nvidia.com/metrics-enabled"
            in template(accepted(graph, release, pathway), "Worker")["metadata"]["labels"]
            for release, pathway in expected
        }
        assert seen == expected

    def test_a_deprecated_namespace_still_counts_on_1_5s_component_path(self) -> None:
        result = accepted(alpha({"Worker": service(dynamoNamespace="mine")}), "1.5")
        key = "nvidia.com/dynamo-namespace"
        assert template(result, "Worker")["metadata"]["labels"][key] == "mine"
        assert find(result, "Service", f"demo-worker-{HASH}")["spec"]["selector"][key] == "mine"
        assert find(result, "Deployment", f"demo-worker-{HASH}")["metadata"]["labels"][key] == "team-a-demo"

    def test_sub_types(self) -> None:
        graph = alpha({"Worker": service(subComponentType="decode")})
        for release, kind in (("1.1", "worker"), ("1.5", "decode")):
            labels = template(accepted(graph, release, "grove"), "Worker")["metadata"]["labels"]
            assert labels["nvidia.com/dynamo-component-type"] == kind
            assert labels["nvidia.com/dynamo-sub-component-type"] == "decode"

    def test_workers_hash_on_grove_from_1_5_on(self) -> None:
        for release, value in (("1.1", None), ("1.5", HASH)):
            labels = template(accepted(alpha(), release, "grove"), "Worker")["metadata"]["labels"]
            assert labels.get("nvidia.com/dynamo-worker-hash") == value


class TestGrove:
    @BOTH
    @pytest.mark.parametrize(("annotation", "grove"), [("false", False), ("False", False), ("no", True), ("", True)])
    def test_only_false_switches_it_off(self, release: str, annotation: str, grove: bool) -> None:
        result = accepted(alpha(annotations={"nvidia.com/enable-grove": annotation}), release, "grove")
        assert bool(names(result, "PodCliqueSet")) is grove
        assert bool(names(result, "Deployment")) is not grove

    @BOTH
    def test_set(self, release: str) -> None:
        spec = find(accepted(alpha(), release, "grove"), "PodCliqueSet", "demo")["spec"]
        assert spec["replicas"] == 1
        assert spec["template"]["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
        assert spec["template"]["terminationDelay"] == "4h0m0s"
        assert spec["template"]["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"

    @BOTH
    def test_no_replicas_keep_one_available(self, release: str) -> None:
        spec = clique(accepted(alpha({"Worker": service(replicas=0)}), release, "grove"), "Worker")["spec"]
        assert (spec["replicas"], spec["minAvailable"]) == (0, 1)

    @BOTH
    def test_kai(self, release: str) -> None:
        graph = alpha(annotations={"nvidia.com/kai-scheduler-queue": " team "})
        result = accepted(graph, release, "grove", settings={"kai_scheduler": True})
        assert pod(result, "Worker")["schedulerName"] == "kai-scheduler"
        assert clique(result, "Worker")["labels"]["kai.scheduler/queue"] == "team"
        made = service()
        made["extraPodSpec"]["schedulerName"] = "mine"
        other = accepted(alpha({"Worker": made}), release, "grove", settings={"kai_scheduler": True})
        assert pod(other, "Worker")["schedulerName"] == "mine"
        assert "kai.scheduler/queue" not in clique(other, "Worker")["labels"]

    def test_volcano_from_1_5_on(self) -> None:
        graph = beta(annotations={"nvidia.com/volcano-queue": "q"})
        result = accepted(graph, "1.5", "grove", settings={"volcano_scheduler": True})
        assert pod(result, "Worker")["schedulerName"] == "volcano"
        annotations = find(result, "PodCliqueSet", "demo")["metadata"]["annotations"]
        assert annotations["scheduling.grove.io/volcano-queue"] == "q"
        both = rendered(beta(), "1.5", "grove", settings={"volcano_scheduler": True, "kai_scheduler": True})
        assert [error.rule for error in both.errors] == ["two_schedulers"]

    def test_least_available_and_forced_group(self) -> None:
        grouped = worker_component(
            "Group", replicas=3, minAvailable=2, experimental={"grove": {"forceScalingGroup": True}}
        )
        alone = worker_component("Alone", replicas=3, minAvailable=2)
        result = accepted(beta([grouped, alone]), "1.5", "grove")
        assert (clique(result, "Group")["spec"]["replicas"], clique(result, "Alone")["spec"]["replicas"]) == (1, 3)
        assert clique(result, "Alone")["spec"]["minAvailable"] == 2
        group = find(result, "PodCliqueSet", "demo")["spec"]["template"]["podCliqueScalingGroups"][0]
        assert (group["name"], group["replicas"], group["minAvailable"]) == ("group", 3, 2)

    def test_order_of_cliques(self) -> None:
        listed = accepted(beta([worker_component("B"), worker_component("A")]), "1.5", "grove")
        mapped = accepted(alpha({"B": service(), "A": service()}), "1.5", "grove")
        orders = [
            [item["name"] for item in find(result, "PodCliqueSet", "demo")["spec"]["template"]["cliques"]]
            for result in (listed, mapped)
        ]
        assert orders == [["b", "a"], ["a", "b"]]

    def test_graph_settings_of_1_5(self) -> None:
        graph = beta(annotations={"nvidia.com/grove-update-strategy": "OnDelete"}, priorityClassName="high")
        spec = find(accepted(graph, "1.5", "grove"), "PodCliqueSet", "demo")["spec"]
        assert spec["template"]["priorityClassName"] == "high"
        assert spec["updateStrategy"] == {"type": "OnDelete"}

    def test_topology(self) -> None:
        facts = ClusterFacts(topologies={"t": (("zone", "z"), ("rack", "r"), ("host", "h"))})
        root = {"topologyProfile": "t", "packDomain": "zone"}
        graph = alpha({"Worker": service(topologyConstraint={"packDomain": "rack"})}, topologyConstraint=root)
        old = find(accepted(graph, "1.1", "grove", facts=facts), "PodCliqueSet", "demo")["spec"]["template"]
        assert old["topologyConstraint"] == {"packDomain": "zone"}
        assert old["cliques"][0]["topologyConstraint"] == {"packDomain": "rack"}
        new = find(accepted(graph, "1.5", "grove", facts=facts), "PodCliqueSet", "demo")["spec"]["template"]
        assert new["topologyConstraint"] == {"topologyName": "t", "pack": {"required": "zone"}}
        assert new["cliques"][0]["topologyConstraint"] == {"pack": {"required": "rack"}}

    def test_a_component_names_the_topology_where_the_graph_packs_nothing(self) -> None:
        facts = ClusterFacts(topologies={"t": (("zone", "z"), ("rack", "r"))})
        graph = beta(
            [worker_component(topologyConstraint={"packDomain": "rack"})],
            topologyConstraint={"clusterTopologyName": "t"},
        )
        template_ = find(accepted(graph, "1.5", "grove", facts=facts), "PodCliqueSet", "demo")["spec"]["template"]
        assert "topologyConstraint" not in template_
        assert template_["cliques"][0]["topologyConstraint"] == {"topologyName": "t", "pack": {"required": "rack"}}


def test_kv_transfer_beats_the_user() -> None:
    policy = {
        "labelKey": "topology.kubernetes.io/zone",
        "domain": "zone",
        "enforcement": "preferred",
        "preferredWeight": 1,
    }
    component = worker_component()
    main = component["podTemplate"]["spec"]["containers"][0]
    main["env"] = [{"name": "DYN_KV_TRANSFER_DOMAIN", "value": "mine"}]
    main["volumeMounts"] = [{"name": "own", "mountPath": "/etc/dynamo/topology"}]
    graph = beta([frontend_component(), component], experimental={"kvTransferPolicy": policy})
    result = accepted(graph, "1.5")
    seen = {item["name"]: item.get("value") for item in pod(result, "Worker")["containers"][0]["env"]}
    assert seen["DYN_KV_TRANSFER_DOMAIN"] == "zone"
    assert seen["DYN_KV_TRANSFER_PREFERRED_WEIGHT"] == "1"
    assert seen["DYN_TOPOLOGY_MOUNT_PATH"] == "/etc/dynamo/topology"
    assert pod(result, "Worker")["volumes"][0]["downwardAPI"]["items"] == [
        {"path": "zone", "fieldRef": {"fieldPath": "metadata.labels['topology.kubernetes.io/zone']"}}
    ]
    annotations = template(result, "Worker")["metadata"]["annotations"]
    assert annotations["nvidia.com/topology-label-key"] == "topology.kubernetes.io/zone"
    assert "nvidia.com/topology-label-key" not in (template(result, "Frontend")["metadata"].get("annotations") or {})


def test_mixed_backends_are_refused_from_1_5_on() -> None:
    graph = alpha({"A": service(), "B": service(backend="sglang")})
    assert not rendered(graph, "1.1").errors
    assert [error.rule for error in rendered(graph, "1.5").errors] == ["mixed_backends"]


@BOTH
def test_backend_of_command_and_graph_must_agree(release: str) -> None:
    graph = alpha({"Worker": service(backend="sglang")}, backendFramework="vllm")
    assert [error.rule for error in rendered(graph, release).errors] == ["backend_mismatch"]
    made = service()
    made["extraPodSpec"]["mainContainer"] |= {
        "command": ["sh", "-c"],
        "args": ["python -m dynamo.vllm; python -m dynamo.sglang"],
    }
    assert [error.rule for error in rendered(alpha({"Worker": made}), release).errors] == ["several_backends"]


@BOTH
def test_the_graph_itself_is_stamped(release: str) -> None:
    annotations = find(accepted(alpha(), release), "DynamoGraphDeployment", "demo")["metadata"]["annotations"]
    assert annotations["nvidia.com/dynamo-operator-origin-version"] == f"{release}.0"
    key = "nvidia.com/current-worker-hash" + ("-v2" if release == "1.5" else "")
    assert annotations[key] == HASH


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [{"x": "", "z": None}, "s"]}, 'a:\n- x: ""\n  z: null\n- s\nb: 1\n'),
        ({"a": {"b": True}, "c": {}, "d": []}, "a:\n  b: true\nc: {}\nd: []\n"),
        (
            {"a": "yes", "b": "1.5", "c": "a: b", "d": "- x", "e": "plain text"},
            "a: \"yes\"\nb: \"1.5\"\nc: 'a: b'\nd: '- x'\ne: plain text\n",
        ),
        ({"a": "one\ntwo\n"}, "a: |\n  one\n  two\n"),
        ({"a": "it's", "b": "#x", "c": "x #y"}, "a: it's\nb: '#x'\nc: 'x #y'\n"),
    ],
)
def test_yaml_texts(value: Any, text: str) -> None:
    assert to_yaml(value) == text


def test_epp_configuration_becomes_a_config_map() -> None:
    config = {
        "plugins": [{"type": "picker"}],
        "schedulingProfiles": [{"name": "p", "plugins": [{"pluginRef": "picker", "weight": 1}]}],
    }
    epp = {"componentType": "epp", "eppConfig": {"config": config}, "extraPodSpec": {"mainContainer": {"image": IMAGE}}}
    for release in ("1.1", "1.5"):
        result = accepted(alpha({"Epp": epp, "Worker": service()}), release)
        text = find(result, "ConfigMap", "demo-epp-config")["data"]["epp-config-dynamo.yaml"]
        assert text == (
            "apiVersion: inference.networking.x-k8s.io/v1alpha1\n"
            "kind: EndpointPickerConfig\n"
            "plugins:\n"
            '- name: ""\n'
            "  parameters: null\n"
            "  type: picker\n"
            "schedulingProfiles:\n"
            "- name: p\n"
            "  plugins:\n"
            "  - pluginRef: picker\n"
            "    weight: 1\n"
        )


def test_istio_leaves_the_endpoint_pickers_tls_alone() -> None:
    reference = {"configMapRef": {"name": "mine", "key": "k"}}
    epp = {"componentType": "epp", "eppConfig": reference, "extraPodSpec": {"mainContainer": {"image": IMAGE}}}
    graph = alpha({"Epp": epp, "Worker": service()})
    result = accepted(graph, "1.5", settings={"istio": True})
    assert find(result, "DestinationRule", "demo-epp")["spec"] == {
        "host": "demo-epp.team-a.svc.cluster.local",
        "trafficPolicy": {"tls": {"mode": "SIMPLE", "insecureSkipVerify": True}},
    }
    assert names(accepted(graph, "1.5"), "DestinationRule") == []
    assert names(accepted(graph, "1.1", settings={"istio": True}), "DestinationRule") == []


@pytest.mark.parametrize("metadata", [{}, {"name": ""}, {"name": 7}, {"name": "demo", "namespace": ["a"]}])
def test_what_cannot_be_named(metadata: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="metadata"):
        rendered({**alpha(), "metadata": metadata})
