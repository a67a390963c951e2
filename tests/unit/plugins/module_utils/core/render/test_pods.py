# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pod's parts: defaults of each component type, variables, probes, volumes, accounts (rules 2-6, 8; area A)."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.graphs import (
    IMAGE,
    alpha,
    beta,
    frontend_component,
    main_container,
    service,
    worker_component,
)
from ansible_collections.inference_ops.dynamo.tests.fixtures.render.seen import (
    HASH,
    accepted,
    container,
    env,
    find,
    names,
    pod,
    rendered,
    template,
)

BOTH = pytest.mark.parametrize("release", ["1.1", "1.5"])
NATS = "nats://dynamo-platform-nats.dynamo-system.svc.cluster.local:4222"
ANNOTATION_BACKEND = "nvidia.com/dynamo-discovery-backend"
NO_SECRETS = "nvidia.com/disable-image-pull-secret-discovery"


def untyped(kind: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"extraPodSpec": {"mainContainer": {"image": IMAGE}}}
    return made | ({"componentType": kind} if kind else {})


@BOTH
class TestComponentTypes:
    def test_a03_frontend(self, release: str) -> None:
        main = container(accepted(alpha(), release), "Frontend")
        assert (main["command"], main["args"]) == (["python3"], ["-m", "dynamo.frontend"])
        assert main["ports"] == [{"name": "http", "containerPort": 8000, "protocol": "TCP"}]
        assert main["livenessProbe"] == {
            "httpGet": {"path": "/live", "port": "http"},
            "initialDelaySeconds": 15,
            "periodSeconds": 10,
            "timeoutSeconds": 1,
            "failureThreshold": 3,
        }
        assert main["readinessProbe"] == {
            "httpGet": {"path": "/health", "port": "http"},
            "initialDelaySeconds": 10,
            "periodSeconds": 10,
            "timeoutSeconds": 3,
            "failureThreshold": 3,
        }
        assert "startupProbe" not in main
        assert [item["name"] for item in main["env"]] == [
            "DYNAMO_PORT", "DYN_COMPONENT", "DYN_DISCOVERY_BACKEND", "DYN_HTTP_PORT", "DYN_NAMESPACE",
            "DYN_NAMESPACE_PREFIX", "DYN_PARENT_DGD_K8S_NAME", "DYN_PARENT_DGD_K8S_NAMESPACE",
            *(["NATS_SERVER"] if release == "1.1" else []), "POD_NAME", "POD_NAMESPACE", "POD_UID",
        ]  # fmt: skip

    def test_worker(self, release: str) -> None:
        main = container(accepted(alpha(), release), "Worker")
        assert [(port["name"], port["containerPort"]) for port in main["ports"]] == [("system", 9090), ("nixl", 19090)]
        assert main["livenessProbe"] == {
            "httpGet": {"path": "/live", "port": "system"},
            "periodSeconds": 5,
            "timeoutSeconds": 4,
            "failureThreshold": 1,
        }
        assert main["readinessProbe"]["failureThreshold"] == 3
        assert (main["startupProbe"]["periodSeconds"], main["startupProbe"]["failureThreshold"]) == (10, 720)
        seen = env(main)
        assert seen["DYN_COMPONENT"] == "worker"
        assert seen["DYN_NAMESPACE"] == "team-a-demo"
        assert seen["DYN_NAMESPACE_WORKER_SUFFIX"] == HASH
        assert seen["NIXL_TELEMETRY_ENABLE"] == "n"
        assert seen.get("DYN_FORWARDPASS_METRIC_PORT") == (None if release == "1.1" else "20380")

    def test_a03_planner(self, release: str) -> None:
        result = accepted(alpha({"Planner": untyped("planner")}), release)
        main, spec = container(result, "Planner"), pod(result, "Planner")
        assert spec["serviceAccountName"] == "planner-serviceaccount"
        assert [(port["name"], port["containerPort"]) for port in main["ports"]] == [
            ("metrics", 9085),
            ("system", 9090),
        ]
        assert env(main)["PLANNER_PROMETHEUS_PORT"] == "9085"
        assert "PROMETHEUS_ENDPOINT" not in env(main)

    @pytest.mark.parametrize("kind", ["", "default", "router"])
    def test_a03_any_other_type(self, release: str, kind: str) -> None:
        result = accepted(alpha({"LocalRouter": untyped(kind)}), release)
        main, spec = container(result, "LocalRouter"), pod(result, "LocalRouter")
        assert main["command"] == ["/bin/sh", "-c"]
        assert not {"args", "ports", "livenessProbe", "readinessProbe", "startupProbe"} & main.keys()
        assert env(main)["DYN_COMPONENT"] == kind
        assert spec["securityContext"] == {"fsGroup": 1000}
        assert spec["volumes"] == [{"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}]
        assert (spec["terminationGracePeriodSeconds"], spec["restartPolicy"]) == (60, "Always")

    def test_endpoint_picker(self, release: str) -> None:
        epp = untyped("epp") | {"eppConfig": {"configMapRef": {"name": "mine", "key": "k.yaml"}}}
        result = accepted(alpha({"Epp": epp, "Worker": service()}), release)
        main, spec = container(result, "Epp"), pod(result, "Epp")
        assert spec["terminationGracePeriodSeconds"] == 130
        assert spec["serviceAccountName"] == "epp-serviceaccount"
        assert "command" not in main
        dash = "-" if release == "1.1" else "--"
        assert main["args"][:4] == [f"{dash}pool-name", "demo-pool", f"{dash}pool-namespace", "team-a"]
        assert main["args"][6:10] == ["-v", "4", "--zap-encoder", "json"]
        assert main["livenessProbe"]["grpc"] == {"port": 9003, "service": "inference-extension"}
        assert main["startupProbe"]["periodSeconds"] * main["startupProbe"]["failureThreshold"] == 1800
        assert spec["volumes"][0]["configMap"] == {
            "name": "mine",
            "items": [{"key": "k.yaml", "path": "epp-config-dynamo.yaml"}],
        }
        assert env(main)["RUST_LOG"] == ("debug,dynamo_llm::kv_router=trace" if release == "1.1" else "info")
        selector = find(result, "InferencePool", "demo-pool")["spec"]["selector"]["matchLabels"]
        key = "nvidia.com/dynamo-component-" + ("type" if release == "1.1" else "class")
        assert selector[key] == "worker"


class TestVariables:
    def test_a13_1_1_the_component_beats_the_container(self) -> None:
        graph = alpha({"Worker": _with_env(envs=[_var("LOG", "b")], main=[_var("LOG", "c")])}, envs=[_var("LOG", "a")])
        assert env(container(accepted(graph, "1.1"), "Worker"))["LOG"] == "b"

    def test_a13_1_5_the_container_beats_all(self) -> None:
        graph = alpha({"Worker": _with_env(envs=[_var("LOG", "b")], main=[_var("LOG", "c")])}, envs=[_var("LOG", "a")])
        assert env(container(accepted(graph, "1.5"), "Worker"))["LOG"] == "c"

    @BOTH
    def test_a13_users_beat_the_operator_but_ports_stay(self, release: str) -> None:
        mine = [_var("NATS_SERVER", "x"), _var("DYN_SYSTEM_PORT", "9999"), _var("DYN_NAMESPACE", "n")]
        result = accepted(alpha({"Worker": _with_env(main=mine)}), release, settings={"nats_address": NATS})
        main = container(result, "Worker")
        seen = env(main)
        assert (seen["NATS_SERVER"], seen["DYN_SYSTEM_PORT"], seen["DYN_NAMESPACE"]) == ("x", "9999", "n")
        assert main["ports"][0]["containerPort"] == 9090
        listed = [item["name"] for item in main["env"]]
        assert listed == sorted(listed, key=str.encode)
        assert len(set(listed)) == len(listed)

    @BOTH
    def test_the_prefix_keeps_the_computed_namespace(self, release: str) -> None:
        frontend = service("frontend", gpus=None, envs=[_var("DYN_NAMESPACE", "mine")])
        seen = env(container(accepted(alpha({"Frontend": frontend}), release), "Frontend"))
        assert (seen["DYN_NAMESPACE"], seen["DYN_NAMESPACE_PREFIX"]) == ("mine", "team-a-demo")

    @BOTH
    def test_infrastructure(self, release: str) -> None:
        settings = {
            "etcd_address": "etcd:2379",
            "model_express_url": "http://mx",
            "prometheus_endpoint": "http://p",
            "nats_address": NATS,
        }
        seen = env(container(accepted(alpha(), release, settings=settings), "Worker"))
        assert seen["ETCD_ENDPOINTS"] == "etcd:2379"
        assert seen["MODEL_EXPRESS_URL"] == "http://mx"
        assert seen["PROMETHEUS_ENDPOINT"] == "http://p"

    def test_env_from_secret_is_added_in_1_1_and_lost_in_1_5(self) -> None:
        made = service(envFromSecret="token")
        made["extraPodSpec"]["mainContainer"]["envFrom"] = [{"configMapRef": {"name": "cm"}}]
        old, new = (container(accepted(alpha({"Worker": made}), at), "Worker")["envFrom"] for at in ("1.1", "1.5"))
        assert old == [{"configMapRef": {"name": "cm"}}, {"secretRef": {"name": "token"}}]
        assert new == [{"configMapRef": {"name": "cm"}}]

    def test_legacy_configuration_rewrites_port_and_resources(self) -> None:
        text = '{"Frontend":{"port":9000,"ServiceArgs":{"workers":2,"resources":{"cpu":"2","gpu":"1"}}}}'
        frontend = service("frontend", gpus=None, envs=[_var("DYN_DEPLOYMENT_CONFIG", text)])
        for release in ("1.1", "1.5"):
            result = accepted(alpha({"Frontend": frontend}), release)
            main = container(result, "Frontend")
            assert '"port":8000' in env(main)["DYN_DEPLOYMENT_CONFIG"]
            amounts = {"cpu": "2", "nvidia.com/gpu": "1"}
            assert main["resources"] == {"limits": amounts, "requests": amounts}
            assert find(result, "Deployment", "demo-frontend")["spec"]["replicas"] == 1

    @BOTH
    def test_legacy_resources_stand_beside_other_ones(self, release: str) -> None:
        text = '{"Worker":{"ServiceArgs":{"resources":{"cpu":"2"}}}}'
        made = service(
            envs=[_var("DYN_DEPLOYMENT_CONFIG", text)],
            resources={"limits": {"cpu": "1", "gpu": "1"}, "requests": {"memory": "1Gi"}},
        )
        assert container(accepted(alpha({"Worker": made}), release), "Worker")["resources"] == {
            "limits": {"cpu": "2", "nvidia.com/gpu": "1"},
            "requests": {"cpu": "2", "memory": "1Gi"},
        }

    @BOTH
    @pytest.mark.parametrize(
        "text",
        [
            "{",
            '{"Frontend":{"ServiceArgs":{"workers":"two"}}}',
            '{"Frontend":{"ServiceArgs":{"resources":{"cpu":2}}}}',
            '{"Frontend":{"ServiceArgs":{"resources":{"custom":{"a/b":2}}}}}',
        ],
    )
    def test_legacy_configuration_must_have_its_shape(self, release: str, text: str) -> None:
        frontend = service("frontend", gpus=None, envs=[_var("DYN_DEPLOYMENT_CONFIG", text)])
        refused = rendered(alpha({"Frontend": frontend}), release)
        assert [error.rule for error in refused.errors] == ["bad_deployment_config"]


class TestProbes:
    def test_a05_a_partial_probe_replaces_the_whole_in_1_5(self) -> None:
        component = worker_component()
        for key in ("livenessProbe", "readinessProbe", "startupProbe"):
            component["podTemplate"]["spec"]["containers"][0][key] = {"failureThreshold": 5}
        main = container(accepted(beta([component]), "1.5"), "Worker")
        assert main["livenessProbe"] == main["readinessProbe"] == main["startupProbe"] == {"failureThreshold": 5}

    def test_1_1_merges_two_of_them_and_replaces_the_third(self) -> None:
        made = service()
        made["extraPodSpec"]["mainContainer"] |= {
            "livenessProbe": {"periodSeconds": 99},
            "readinessProbe": {"tcpSocket": {"port": 1}},
            "startupProbe": {"failureThreshold": 3},
        }
        main = container(accepted(alpha({"Worker": made}), "1.1"), "Worker")
        assert main["livenessProbe"]["httpGet"] == {"path": "/live", "port": "system"}
        assert main["livenessProbe"]["periodSeconds"] == 99
        assert {"httpGet", "tcpSocket"} <= main["readinessProbe"].keys()
        assert main["startupProbe"] == {"failureThreshold": 3}

    def test_the_dedicated_probe_wins_in_1_1_and_loses_in_1_5(self) -> None:
        made = service(livenessProbe={"httpGet": {"path": "/own", "port": 1}})
        made["extraPodSpec"]["mainContainer"]["livenessProbe"] = {"httpGet": {"path": "/main", "port": 2}}
        graph = alpha({"Worker": made})
        assert container(accepted(graph, "1.1"), "Worker")["livenessProbe"]["httpGet"]["path"] == "/own"
        assert container(accepted(graph, "1.5"), "Worker")["livenessProbe"]["httpGet"]["path"] == "/main"


class TestPodSpec:
    @pytest.mark.parametrize(
        ("given", "expected"), [({}, {}), (None, {"fsGroup": 1000}), ({"runAsUser": 1}, {"runAsUser": 1})]
    )
    @BOTH
    def test_any_security_context_keeps_the_default_out(self, release: str, given: Any, expected: Any) -> None:
        made = service()
        made["extraPodSpec"]["securityContext"] = given
        assert pod(accepted(alpha({"Worker": made}), release), "Worker")["securityContext"] == expected

    @BOTH
    def test_a_zero_grace_period_does_not_count(self, release: str) -> None:
        made = service()
        made["extraPodSpec"]["terminationGracePeriodSeconds"] = 0
        spec = pod(accepted(alpha({"Worker": made}), release), "Worker")
        assert spec["terminationGracePeriodSeconds"] == 60

    def test_order_of_containers_and_name_of_main(self) -> None:
        made = service()
        made["extraPodSpec"]["containers"] = [{"name": "side", "image": "x"}]
        made["extraPodSpec"]["mainContainer"]["name"] = "custom"
        graph = alpha({"Worker": made})
        assert [item["name"] for item in pod(accepted(graph, "1.1"), "Worker")["containers"]] == ["side", "custom"]
        assert [item["name"] for item in pod(accepted(graph, "1.5"), "Worker")["containers"]] == ["main", "side"]

    def test_a09_the_users_dev_shm_mount_goes_and_its_volume_stays(self) -> None:
        component = _with_own_shm()
        result = accepted(beta([component]), "1.5")
        assert container(result, "Worker")["volumeMounts"] == [{"name": "shared-memory", "mountPath": "/dev/shm"}]
        assert [item["name"] for item in pod(result, "Worker")["volumes"]] == ["shared-memory", "dshm"]

    def test_a09_zero_switches_the_operators_off(self) -> None:
        result = accepted(beta([_with_own_shm() | {"sharedMemorySize": "0"}]), "1.5")
        assert container(result, "Worker")["volumeMounts"] == [{"name": "dshm", "mountPath": "/dev/shm"}]
        assert [item["name"] for item in pod(result, "Worker")["volumes"]] == ["dshm"]

    def test_a09_disabled_equals_zero(self) -> None:
        result = accepted(alpha({"Worker": service(sharedMemory={"disabled": True})}), "1.5")
        assert "volumeMounts" not in container(result, "Worker")
        assert "volumes" not in pod(result, "Worker")

    @BOTH
    def test_shared_memory_of_another_size(self, release: str) -> None:
        result = accepted(alpha({"Worker": service(sharedMemory={"size": "2048Mi"})}), release)
        assert pod(result, "Worker")["volumes"][-1]["emptyDir"]["sizeLimit"] == "2Gi"

    def test_claims_and_the_order_of_volumes(self) -> None:
        made = service(volumeMounts=[{"name": "cache", "mountPoint": "/c"}])
        made["extraPodSpec"] |= {"volumes": [{"name": "v", "emptyDir": {}}]}
        made["extraPodSpec"]["mainContainer"]["volumeMounts"] = [{"name": "w", "mountPath": "/w"}]
        graph = alpha({"Worker": made})
        old, new = accepted(graph, "1.1"), accepted(graph, "1.5")
        assert [item["name"] for item in pod(old, "Worker")["volumes"]] == ["v", "cache", "shared-memory"]
        assert [item["name"] for item in pod(new, "Worker")["volumes"]] == ["w", "cache", "shared-memory", "v"]
        assert pod(new, "Worker")["volumes"][0]["persistentVolumeClaim"] == {"claimName": "w"}
        for result in (old, new):
            mounts = [item["name"] for item in container(result, "Worker")["volumeMounts"]]
            assert mounts == ["w", "cache", "shared-memory"]

    def test_a_cache_without_path(self) -> None:
        cache = [{"name": "cc", "useAsCompilationCache": True}]
        graph = alpha({"Worker": service(volumeMounts=cache)}, backendFramework="vllm")
        for release, variable in (("1.1", None), ("1.5", "/root/.cache/vllm")):
            main = container(accepted(graph, release), "Worker")
            assert main["volumeMounts"][0] == {"name": "cc", "mountPath": "/root/.cache/vllm"}
            assert env(main).get("VLLM_CACHE_ROOT") == variable
        for release in ("1.1", "1.5"):
            refused = rendered(alpha({"Worker": service(backend="sglang", volumeMounts=cache)}), release)
            assert [error.rule for error in refused.errors] == ["cache_mount_path"]

    def test_a_users_own_cache_variable_appears_twice(self) -> None:
        made = service(volumeMounts=[{"name": "cc", "mountPoint": "/cc", "useAsCompilationCache": True}])
        made["envs"] = [_var("VLLM_CACHE_ROOT", "/mine")]
        for release in ("1.1", "1.5"):
            main = container(accepted(alpha({"Worker": made}), release), "Worker")
            values = [item["value"] for item in main["env"] if item["name"] == "VLLM_CACHE_ROOT"]
            assert values == ["/mine", "/cc"]

    def test_frontend_sidecar(self) -> None:
        made = service(frontendSidecar={"image": "fe:1", "args": ["-m", "x"], "envFromSecret": "t"})
        made["extraPodSpec"]["mainContainer"]["volumeMounts"] = [{"name": "w", "mountPath": "/w"}]
        for release, mounts in (("1.1", None), ("1.5", [{"name": "w", "mountPath": "/w"}])):
            sidecar = container(accepted(alpha({"Worker": made}), release), "Worker", name="sidecar-frontend")
            assert (sidecar["image"], sidecar["args"], sidecar["command"]) == ("fe:1", ["-m", "x"], ["python3"])
            assert sidecar["envFrom"] == [{"secretRef": {"name": "t"}}]
            assert env(sidecar)["DYN_COMPONENT"] == "frontend"
            assert sidecar.get("volumeMounts") == mounts


class TestResources:
    @pytest.mark.parametrize(
        ("limits", "expected"),
        [
            ({"gpu": "2", "gpuType": "gpu.intel.com/xe"}, {"gpu.intel.com/xe": "2"}),
            (
                {"gpu": "1", "custom": {"vpc.amazonaws.com/efa": "8"}},
                {"nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "8"},
            ),
            ({"cpu": "1000m", "memory": "1024Mi"}, {"cpu": "1", "memory": "1Gi"}),
        ],
    )
    @BOTH
    def test_a15_names(self, release: str, limits: Any, expected: Any) -> None:
        graph = alpha({"Worker": service(gpus=None, resources={"limits": limits})})
        assert container(accepted(graph, release), "Worker")["resources"] == {"limits": expected}

    def test_a15_a_quantity_that_is_none(self) -> None:
        graph = alpha({"Worker": service(gpus="two")})
        assert [error.rule for error in rendered(graph, "1.1").errors] == ["bad_quantity"]
        result = rendered(graph, "1.5")
        assert not result.errors
        assert "resources" not in container(result, "Worker")
        assert [(item.reason_code, item.outcome) for item in result.findings] == [("render_quantity_dropped", "fail")]

    def test_the_dedicated_amount_wins_in_1_1_and_loses_in_1_5(self) -> None:
        made = service(gpus="4")
        made["extraPodSpec"]["mainContainer"]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
        graph = alpha({"Worker": made})
        for release, count in (("1.1", "4"), ("1.5", "8")):
            assert container(accepted(graph, release), "Worker")["resources"]["limits"]["nvidia.com/gpu"] == count


class TestPullSecrets:
    HOSTS = {"registry.example": ["r1", "r2"], "side.example": ["s1"], "init.example": ["i1"]}

    def lookup(self, image: str) -> list[str]:
        return self.HOSTS.get(image.split("/")[0], [])

    def graph(self, **annotations: str) -> dict[str, Any]:
        made = service(annotations=annotations) if annotations else service()
        made["extraPodSpec"] |= {
            "containers": [{"name": "side", "image": "side.example/x"}],
            "initContainers": [{"name": "init", "image": "init.example/x"}],
            "imagePullSecrets": [{"name": "mine"}, {"name": "r2"}],
        }
        return alpha({"Worker": made})

    def test_a11_which_images_count(self) -> None:
        for release, expected in (("1.1", ["mine", "r2", "r1"]), ("1.5", ["mine", "r2", "r1", "s1"])):
            spec = pod(accepted(self.graph(), release, pull_secrets=self.lookup), "Worker")
            assert [item["name"] for item in spec["imagePullSecrets"]] == expected

    @pytest.mark.parametrize(("value", "off"), [("true", True), ("True", False), ("1", False)])
    def test_a11_only_true_switches_it_off(self, value: str, off: bool) -> None:
        spec = pod(accepted(self.graph(**{NO_SECRETS: value}), "1.1", pull_secrets=self.lookup), "Worker")
        assert (len(spec["imagePullSecrets"]) == 2) is off

    def test_a_services_annotation_does_nothing_in_1_5(self) -> None:
        spec = pod(accepted(self.graph(**{NO_SECRETS: "true"}), "1.5", pull_secrets=self.lookup), "Worker")
        assert len(spec["imagePullSecrets"]) == 4

    def test_a_pod_templates_annotation_works_in_1_5(self) -> None:
        component = worker_component()
        component["podTemplate"]["metadata"] = {"annotations": {NO_SECRETS: "true"}}
        assert "imagePullSecrets" not in pod(accepted(beta([component]), "1.5", pull_secrets=self.lookup), "Worker")


class TestDiscovery:
    @BOTH
    def test_etcd_by_annotation(self, release: str) -> None:
        result = accepted(alpha(annotations={ANNOTATION_BACKEND: "etcd"}), release)
        main = container(result, "Worker")
        assert "DYN_DISCOVERY_BACKEND" not in env(main)
        assert pod(result, "Worker")["serviceAccountName"] == "default"
        assert "nvidia.com/dynamo-discovery-enabled" not in template(result, "Worker")["metadata"]["labels"]
        assert names(result, "Service") == ["demo-frontend"]
        assert names(result, "Role") == []

    @BOTH
    def test_etcd_on_grove_names_no_account(self, release: str) -> None:
        result = accepted(alpha(annotations={ANNOTATION_BACKEND: "etcd"}), release, "grove")
        assert "serviceAccountName" not in pod(result, "Worker")

    @BOTH
    def test_a_typo_gives_the_variable_but_nothing_else(self, release: str) -> None:
        result = accepted(alpha(annotations={ANNOTATION_BACKEND: "kubernets"}), release)
        assert env(container(result, "Worker"))["DYN_DISCOVERY_BACKEND"] == "kubernetes"
        assert names(result, "Role") == []
        assert pod(result, "Worker")["serviceAccountName"] == "default"

    @BOTH
    def test_a_users_account_stands(self, release: str) -> None:
        made = service()
        made["extraPodSpec"]["serviceAccountName"] = "mine"
        assert pod(accepted(alpha({"Worker": made}), release), "Worker")["serviceAccountName"] == "mine"

    @BOTH
    def test_container_mode(self, release: str) -> None:
        graph = alpha(annotations={"nvidia.com/dynamo-kube-discovery-mode": "container"})
        seen = env(container(accepted(graph, release), "Worker"))
        assert (seen["CONTAINER_NAME"], seen["DYN_KUBE_DISCOVERY_MODE"]) == ("main", "container")

    def test_planner_account_by_pathway(self) -> None:
        made = untyped("planner")
        made["extraPodSpec"]["serviceAccountName"] = "mine"
        graph = alpha({"Planner": made})
        seen = {
            (release, pathway): pod(accepted(graph, release, pathway), "Planner")["serviceAccountName"]
            for release in ("1.1", "1.5")
            for pathway in ("deployment", "grove")
        }
        assert seen == {
            ("1.1", "deployment"): "planner-serviceaccount",
            ("1.1", "grove"): "mine",
            ("1.5", "deployment"): "planner-serviceaccount",
            ("1.5", "grove"): "mine",
        }


def _var(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


def _with_env(envs: list[Any] | None = None, main: list[Any] | None = None) -> dict[str, Any]:
    made = service()
    if envs:
        made["envs"] = envs
    if main:
        made["extraPodSpec"]["mainContainer"]["env"] = main
    return made


def _with_own_shm() -> dict[str, Any]:
    component = worker_component()
    spec = component["podTemplate"]["spec"]
    spec["volumes"] = [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}]
    spec["containers"][0]["volumeMounts"] = [{"name": "dshm", "mountPath": "/dev/shm"}]
    return component


def test_a_graph_of_both_versions_gives_the_same_pods() -> None:
    old = alpha({"Frontend": service("frontend", gpus=None), "Worker": service(replicas=2)})
    new = beta([frontend_component(), worker_component(replicas=2)])
    for pathway in ("deployment", "grove"):
        first, second = accepted(old, "1.5", pathway), accepted(new, "1.5", pathway)
        for component in ("Frontend", "Worker"):
            assert template(first, component) == template(second, component)
        assert [demand.to_result() for demand in first.pods] == [demand.to_result() for demand in second.pods]


def test_main_container_is_made_where_the_graph_has_variables() -> None:
    component = {"name": "Worker", "type": "worker", "podTemplate": {"spec": {"containers": [main_container(())]}}}
    result = accepted(beta([component], env=[_var("A", "1")]), "1.5")
    assert env(container(result, "Worker"))["A"] == "1"
