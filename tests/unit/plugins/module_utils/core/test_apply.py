# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an apply answered: each kind of refusal in the wording of a real API server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.apply import conflicts_of, judge_answer

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "download"}}
CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "cache"}}


def refusal(code: int, reason: str, message: str, as_bytes: bool = True) -> dict[str, Any]:
    body = json.dumps(
        {"kind": "Status", "status": "Failure", "message": message, "reason": reason, "code": code}
    ).encode()
    return {
        "changed": False,
        "result": {},
        "error": {"msg": f"Failed to apply object: {repr(body) if as_bytes else body.decode()}"},
    }


ONE = 'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using batch/v1: .spec.parallelism'
MANY = (
    'Apply failed with 3 conflicts: conflicts with "helm" using nvidia.com/v1alpha1:\n'
    "- .spec.services.Worker.replicas\n"
    '- .spec.template.spec.containers[name="main"].image\n'
    'conflicts with "kubectl-edit" with subresource "scale" using nvidia.com/v1alpha1:\n- .spec.replicas'
)


@pytest.mark.parametrize("as_bytes", [True, False])
@pytest.mark.parametrize(
    ("code", "reason", "message", "expected"),
    [
        (409, "Conflict", ONE, "apply_conflict"),
        (409, "Conflict", MANY, "apply_conflict"),
        (
            422,
            "Invalid",
            'Job.batch "download" is invalid: spec.template: Invalid value: …: field is immutable',
            "apply_immutable",
        ),
        (
            422,
            "Invalid",
            "spec: Forbidden: spec is immutable after creation except resources.requests",
            "apply_immutable",
        ),
        (403, "Invalid", "component topology is immutable and cannot be modified", "apply_immutable"),
        (403, "Forbidden", 'jobs.batch is forbidden: User "it\'s-me" cannot patch resource', "apply_forbidden"),
        (403, "Forbidden", 'pods "a" is forbidden: violates PodSecurity "restricted:latest"', "apply_forbidden"),
        (400, "BadRequest", "admission webhook denied the request: a \u201equoted\u201c name", "apply_refused"),
        (500, "InternalError", "etcdserver: request timed out", "apply_unreachable"),
        (429, "TooManyRequests", "too many requests, please try again later", "apply_unreachable"),
        (408, "Timeout", "the request timed out", "apply_unreachable"),
        (401, "Unauthorized", "Unauthorized", "apply_forbidden"),
        (404, "NotFound", "the server could not find the requested resource", "apply_kind_absent"),
        (404, "NotFound", 'namespaces "serving" not found', "apply_refused"),
        (409, "Conflict", "the object has been modified; please apply your changes", "apply_changing"),
        (409, "AlreadyExists", 'object is being deleted: jobs.batch "download" already exists', "apply_changing"),
    ],
)
def test_each_refusal_has_its_own_code(code: int, reason: str, message: str, expected: str, as_bytes: bool) -> None:
    outcome = judge_answer(refusal(code, reason, message, as_bytes), [JOB])
    (error,) = outcome.errors
    assert (error.cause.code, error.code, error.subject, error.message) == (expected, code, "Job/download", message)
    assert not outcome.changed
    assert outcome.to_result()["findings"][0]["outcome"] == "fail"
    assert error.to_result()["immutable"] == (expected == "apply_immutable")


def test_a_resource_type_that_is_not_there_is_told_apart() -> None:
    text = "Failed to find exact match for nvidia.com/v1beta1.DynamoGraphDeployment by [kind, name]"
    (error,) = judge_answer({"msg": text, "failed": False}, [JOB]).errors
    assert (error.cause.code, error.subject) == ("apply_kind_absent", "Job/download")


def test_a_connection_that_fails_concerns_all_objects() -> None:
    (error,) = judge_answer({"msg": "Could not create API client: connection refused"}, [JOB, CLAIM]).errors
    assert (error.cause.code, error.subject) == ("apply_unreachable", "all objects")


def test_no_answer_at_all_is_an_error_too() -> None:
    (error,) = judge_answer({}, [JOB]).errors
    assert error.message == "no answer"


def test_objects_and_errors_are_told_apart_in_one_answer() -> None:
    answer = {
        "changed": True,
        "result": {"results": [{"changed": True, "result": CLAIM}, refusal(409, "Conflict", ONE)]},
    }
    outcome = judge_answer(answer, [CLAIM, JOB])
    assert outcome.objects == (CLAIM,)
    assert outcome.changed
    assert [error.subject for error in outcome.errors] == ["Job/download"]


def test_conflicts_name_each_manager_with_its_fields() -> None:
    assert [(conflict.manager, conflict.fields) for conflict in conflicts_of(MANY)] == [
        ("helm", (".spec.services.Worker.replicas", '.spec.template.spec.containers[name="main"].image')),
        ("kubectl-edit", (".spec.replicas",)),
    ]
    assert [(conflict.manager, conflict.fields) for conflict in conflicts_of(ONE)] == [
        ("kubectl-client-side-apply", (".spec.parallelism",)),
    ]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}], ("download",)),
        ([{"type": "FailureTarget", "status": "True"}, {"type": "Failed", "status": "False"}], ()),
        ([{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}], ()),
        (None, ()),
    ],
)
def test_a_job_that_failed_earlier_is_told(conditions: list[dict[str, str]] | None, expected: tuple[str, ...]) -> None:
    outcome = judge_answer({"result": {**JOB, "status": {"conditions": conditions}}}, [JOB])
    assert outcome.failed_jobs == expected
