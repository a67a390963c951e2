# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator's index and the kubelet's keyring, on the cases that people reported."""

from __future__ import annotations

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.docker_secrets import Problem, SecretEntry
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.image_reference import parse_image
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.keyring import (
    Keyring,
    Match,
    glob_match,
    operator_index,
    why_not,
)

DOCKER = "kubernetes.io/dockerconfigjson"


def entry(name: str, *registries: str, problems: tuple[str, ...] = (), namespace: str = "ml") -> SecretEntry:
    return SecretEntry(name, namespace, DOCKER, registries, tuple(map(Problem, problems)))


def finds(key: str, image: str) -> bool:
    return bool(Keyring([entry("s", key)]).lookup(parse_image(image).name))


@pytest.mark.parametrize(
    ("key", "image", "found"),
    [
        # Docker Hub: the last slash decides whether /v1 is a path.
        ("https://index.docker.io/v1/", "nginx", True),
        ("https://index.docker.io/v1", "nginx", False),
        ("https://index.docker.io/v1", "index.docker.io/org/x", False),
        ("index.docker.io", "org/x", True),
        ("docker.io", "org/x", True),
        ("https://reg.example.com/v2", "reg.example.com/x", False),
        ("https://reg.example.com/v2/", "reg.example.com/x", True),
        ("https://reg.example.com/v2", "reg.example.com/v2x", True),
        # A wildcard covers exactly one label of the host.
        ("*.registry.example", "a.registry.example/x", True),
        ("*.registry.example", "a.b.registry.example/x", False),
        ("*.registry.example", "registry.example/x", False),
        ("*.registry.example", "a.registry.example:5000/x", False),
        ("*registry.example", "myregistry.example/x", True),
        ("*registry.example", "registry.example/x", True),
        ("*registry.example", "foo.registry.example/x", False),
        ("reg.example.com/*", "reg.example.com/library/img", False),
        ("123456789012.dkr.ecr.*.amazonaws.com", "123456789012.dkr.ecr.us-west-2.amazonaws.com/x", True),
        ("*", "localhost/x", True),
        ("*", "nvcr.io/x", False),
        ("reg[0-9].example.com", "reg1.example.com/x", True),
        ("reg[^0-9].example.com", "reg1.example.com/x", False),
        # Ports are exact, and no port has a default.
        ("https://reg.example.com:443", "reg.example.com/x", False),
        ("https://reg.example.com:443", "reg.example.com:443/x", True),
        ("reg.example.com", "reg.example.com:5000/x", False),
        ("http://reg.example.com:5000/v2/", "reg.example.com:5000/x", True),
        # Letters are compared as they are, paths as plain beginnings.
        ("Reg.Example.com", "reg.example.com/x", False),
        ("reg.example.com/a", "reg.example.com/ab", True),
        ("[::1]:5000", "[::1]:5000/x", True),
        ("nv cr.io", "nvcr.io/x", False),
    ],
)
def test_which_key_fits_which_image(key: str, image: str, found: bool) -> None:
    assert finds(key, image) is found


def test_longer_keys_are_tried_first_and_secrets_in_their_order() -> None:
    ring = Keyring([entry("one", "quay.example"), entry("two", "quay.example/coreos"), entry("three", "quay.example")])
    assert [match.secret for match in ring.lookup("quay.example/coreos/etcd")] == ["two", "one", "three"]
    ring = Keyring([entry("glob", "*.example.com"), entry("exact", "reg.example.com")])
    assert ring.lookup("reg.example.com/x") == (Match("exact", "reg.example.com"), Match("glob", "*.example.com"))


def test_docker_hubs_own_key_is_the_last_resort() -> None:
    ring = Keyring([entry("hub", "https://index.docker.io/v1/"), entry("named", "docker.io")])
    assert [match.secret for match in ring.lookup("docker.io/library/nginx")] == ["named"]


def test_a_broken_secret_is_named_and_not_looked_into() -> None:
    ring = Keyring([entry("bad", "nvcr.io", problems=("auth_not_base64",)), entry("good", "nvcr.io")])
    assert ring.broken == ("bad",)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a?c", "abc", True),
        ("a*", "a", True),
        ("[a-c]x", "bx", True),
        ("[]", "x", False),
        ("[", "x", False),
        ("[b-a]", "b", False),
        ("[a-]", "a", False),
        ("\\*", "*", True),
        ("x\\", "x", False),
        ("[&&a]", "&", True),
        ("a.b", "axb", False),
    ],
)
def test_globs_are_gos(pattern: str, text: str, found: bool) -> None:
    assert glob_match(pattern, text) is found


# -- the operator -----------------------------------------------------------------------------------------------------

IMAGE = "nvcr.io/nvidia/x:1"


def test_the_first_release_keeps_the_lists_order_and_its_duplicates() -> None:
    secrets = [entry("z", "nvcr.io", "https://nvcr.io/v2/"), entry("a", "nvcr.io")]
    assert operator_index(secrets, "1.1").lookup(IMAGE, "ml") == ("z", "z", "a")
    assert operator_index(secrets, "1.5").lookup(IMAGE, "ml") == ("a", "z")
    assert operator_index(secrets, "1.1").attach([IMAGE], "ml", ["mine", "a"]) == ("mine", "a", "z")


def test_one_malformed_secret_anywhere_blocks_the_first_release() -> None:
    secrets = [entry("bad", problems=("not_json",), namespace="other"), entry("good", "nvcr.io")]
    old = operator_index(secrets, "1.1.2")
    assert (old.lookup(IMAGE, "ml"), old.blocked_by) == ((), ("other/bad",))
    new = operator_index(secrets, "1.5")
    assert (new.lookup(IMAGE, "ml"), new.skipped) == (("good",), ("other/bad",))


def test_a_later_release_skips_only_the_bad_key() -> None:
    secret = SecretEntry("s", "ml", DOCKER, ("nv cr.io", "nvcr.io"), (Problem("bad_registry", "nv cr.io"),))
    assert operator_index([secret], "1.5").lookup(IMAGE, "ml") == ("s",)
    assert operator_index([secret], "1.1").blocked_by == ("ml/s",)


def test_the_operator_looks_in_one_namespace_at_one_type_by_exact_host() -> None:
    secrets = [
        entry("other", "nvcr.io", namespace="other"),
        SecretEntry("old", "ml", "kubernetes.io/dockercfg", ("nvcr.io",)),
    ]
    assert operator_index(secrets, "1.5").lookup(IMAGE, "ml") == ()
    assert operator_index([entry("hub", "docker.io")], "1.5").lookup("nginx:latest", "ml") == ()
    assert operator_index([entry("odd", "nginx")], "1.5").lookup("nginx", "ml") == ("odd",)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("reg.example.com:443", "has port 443, the image no port"),
        ("REG.example.com", "upper and lower case"),
        ("other.example.com", "names another host"),
        ("reg.example.com/b", "is not the beginning"),
        ("nv cr.io", "cannot be parsed"),
    ],
)
def test_why_a_key_does_not_fit(key: str, why: str) -> None:
    assert why in why_not(key, "reg.example.com/a")
