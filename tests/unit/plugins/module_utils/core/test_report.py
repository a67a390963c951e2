# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report: it says what is known, escapes what is foreign, loads nothing, and stays readable for everyone."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.errors import InputError
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.report import read_report, to_html, to_markdown
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.report.html import span
from ansible_collections.inference_ops.dynamo.plugins.module_utils.core.report.style import STYLE
from hypothesis import given
from hypothesis import strategies as st

EVIL = "<script>alert(1)</script>\"' onload=x & `|*_[a](http://b)"
VOID = {"meta", "br", "rect", "path", "line", "circle"}


def finding(outcome: str, **more: Any) -> dict[str, Any]:
    base = {
        "check": "c",
        "outcome": outcome,
        "reason_code": f"code_{outcome}",
        "subject": f"Thing/{outcome}",
        "message": "m",
    }
    return {**base, **more}


def pod(name: str, component: str = "Worker", role: str = "main") -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "runtime:1",
        "resources": {"requests": {"cpu": "500m", "memory": "1.5Gi", "nvidia.com/gpu": "4"}},
    }
    return {
        "name": name,
        "component": component,
        "role": role,
        "pod": {"spec": {"containers": [container]}},
        "unknown": [],
    }


FIT = {
    "verdict": "fits",
    "placements": [
        {"pod": "w-0", "component": "Worker", "node": "n1"},
        {"pod": "w-1", "component": "Worker", "node": "n2"},
    ],
    "headroom": [{"component": "Worker", "asked": 2, "fits": 3, "exact": False}],
    "unplaced": [],
    "suggestions": [],
    "unknown": [],
    "proof": "",
}
LEDGER = {
    "status": "succeeded",
    "iteration": 1,
    "source_dgd_sha256": "a" * 64,
    "created_at": "2026-01-31T12:00:00Z",
    "allocated_at": "2026-01-31T12:01:30Z",
    "torn_down_at": None,
    "timings": {"apply_started_at": "2026-01-31T12:00:10Z", "ready_at": "2026-01-31T14:05:00+01:00", "seconds": 4},
    "applied_manifests": [{"name": "deploy.yaml", "sha256": "b" * 64, "reason": "it is the assigned DGD"}],
    "patches": [{"object": "Job/load", "operations": [{"op": "add", "path": "/spec"}], "reason": "taint"}],
    "failed_attempts": [{"category": "taint", "component": "Worker", "diagnosis": "0/3 nodes"}],
    "blockers": [{"message": "no room"}],
    "config_engagement": [{"component": "Worker", "knob": "--tp", "proven": True, "evidence": "Pod/w: --tp 4"}],
    "limitations": [{"message": "nodes could not be read"}],
    "cleanup_commands": ["kubectl delete x"],
}
SMOKE = {
    "success": True,
    "stage": "done",
    "model": "acme/x",
    "endpoint": {"service": "front", "pod": "p", "port": 8000},
    "api_request": {"messages": [{"role": "user", "content": "Say it"}]},
    "api_response": {"choices": [{"message": {"content": "It"}}]},
    "http_status": {"models": 200, "chat": 200},
    "timings": {"chat": 1.5},
}
PULLS = {
    "images": [
        {
            "image": "runtime:1",
            "registry": "docker.io",
            "verdict": "attached_not_usable",
            "attached": ["s"],
            "why": "no key",
        }
    ]
}
FULL = {
    "title": "agg",
    "subtitle": "Deployment",
    "generated_at": "now",
    "facts": {"Context": "gpu", "Empty": "", "Ready": True},
    "findings": [
        finding("pass"),
        finding("fail", evidence=["one", "two"], remedy="mend it"),
        finding("warn"),
        finding("unknown"),
    ],
    "render": {"pods": [pod("w-0"), pod("w-1"), pod("f-0", "Front")]},
    "fit": FIT,
    "pull_secrets": PULLS,
    "smoke": SMOKE,
    "ledger": LEDGER,
}


class Page(HTMLParser):
    """Collects what a page holds, and checks that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> set[str]:
        return {
            value for _unused, attributes in self.tags for name, value in attributes.items() if name == "id" and value
        }


def page(**more: Any) -> Page:
    return Page(to_html(read_report({**FULL, **more})))


def test_every_part_is_there_in_both_forms() -> None:
    text, markdown = page().text, to_markdown(read_report(FULL))
    for words in (
        "Thing/fail",
        "mend it",
        "1 failure · 1 unknown · 1 warning · 1 passed",
        "2 pods on 2 nodes",
        "4 × nvidia.com/gpu, 0.5 CPU, 1.5 GiB",
        "3 or more",
        "attached, not usable",
        "First GPU pod scheduled",
        "Service front, pod p, port 8000",
        "models 200, chat 200",
        "it is the assigned DGD",
        "failed attempt: taint",
        "Worker --tp",
        "nodes could not be read",
        "kubectl delete x",
    ):
        assert words in text, words
        assert words in markdown.replace("\\", ""), words
    assert "Empty" not in text
    assert "Ready yes" in text


def test_the_worst_comes_first_and_passes_are_folded() -> None:
    text = page().text
    assert text.index("Thing/fail:") < text.index("Context")
    assert text.index("code_fail") < text.index("code_unknown") < text.index("code_warn") < text.index("1 check passed")


@pytest.mark.parametrize(
    ("data", "outcome", "headline"),
    [
        ({}, "fail", "Served"),
        ({"findings": []}, "pass", "Served"),
        ({"findings": [finding("unknown"), finding("warn")]}, "pass", "Served"),
        ({"findings": [], "verdict": "does_not_fit"}, "pass", "Does not fit"),
        ({"findings": [], "smoke": {}}, "pass", "Served and tested"),
        ({"findings": [], "smoke": {}, "ledger": {**LEDGER, "status": "blocked"}}, "fail", "Blocked"),
        (
            {"findings": [], "smoke": {}, "ledger": {**LEDGER, "torn_down_at": "2026-02-01T00:00:00Z"}},
            "pass",
            "Torn down",
        ),
        ({"findings": [], "smoke": {**SMOKE, "success": False, "stage": "chat"}, "ledger": {}}, "fail", "Fits"),
        ({"findings": [], "smoke": {}, "ledger": {}}, "pass", "Fits"),
        (
            {"findings": [], "smoke": {}, "ledger": {}, "fit": {**FIT, "verdict": "does_not_fit"}},
            "fail",
            "Does not fit",
        ),
        (
            {"findings": [], "smoke": {}, "ledger": {}, "fit": {**FIT, "verdict": "?"}},
            "unknown",
            "Not known whether it fits",
        ),
        ({"findings": [], "smoke": {}, "ledger": {}, "fit": {}}, "pass", "Good"),
        ({"findings": [finding("warn")], "smoke": {}, "ledger": {}, "fit": {}}, "warn", "Good, with remarks"),
    ],
)
def test_the_first_words(data: dict[str, Any], outcome: str, headline: str) -> None:
    report = read_report({**FULL, **data})
    assert (report.outcome, report.headline) == (outcome, headline)
    assert f'class="verdict {outcome}"' in to_html(report)


def test_what_nobody_looked_at_is_said() -> None:
    text = Page(to_html(read_report({"title": "x"}))).text
    assert "Not looked at: the fit, the pods, the pull secrets, the smoke test, a ledger." in text
    assert "No check reported anything." in text
    assert "Not looked at" not in page().text


def everywhere(value: Any) -> Any:
    """Put a hostile text in place of every text but those that are chosen from a few words."""
    if isinstance(value, dict):
        kept = ("outcome", "verdict", "status", "created_at", "cpu", "memory", "nvidia.com/gpu")
        return {key: item if key in kept else everywhere(item) for key, item in value.items()}
    if isinstance(value, list):
        return [everywhere(item) for item in value]
    return EVIL if isinstance(value, str) else value


def test_foreign_text_stays_text() -> None:
    made = everywhere(FULL)
    made["facts"] = {EVIL: EVIL}
    made["smoke"]["timings"] = {EVIL: 1.0}
    text = to_html(read_report(made))
    read = Page(text)
    assert "script" not in {tag for tag, _unused in read.tags}
    assert not any(name.startswith("on") for _unused, attributes in read.tags for name in attributes)
    assert "<script" not in text
    assert "alert(1)" in read.text
    markdown = to_markdown(read_report(made))
    outside = re.sub(r"(`{3,}).*?\n\1", "", markdown, flags=re.DOTALL)
    assert "<script" not in outside
    assert "](http" not in outside.replace("\\]", "")


def test_control_characters_have_no_place() -> None:
    text = to_html(read_report({"title": "a\x00b\x1b[31m", "facts": {"x": "tab\there"}}))
    assert "\x00" not in text
    assert "\x1b" not in text


def test_a_fence_is_longer_than_what_it_holds() -> None:
    report = read_report({"title": "x", "findings": [finding("fail", evidence=["```", "````js"])]})
    assert "`````\n```\n````js\n`````" in to_markdown(report)


def test_the_page_needs_nothing_and_runs_nothing() -> None:
    text = to_html(read_report(FULL))
    read = Page(text)
    assert {tag for tag, _unused in read.tags} & {"script", "link", "iframe", "img", "object", "base", "form"} == set()
    policy = [attributes["content"] for tag, attributes in read.tags if "http-equiv" in attributes]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"]
    assert re.search(r"url\(|@import|https?://(?!www\.w3\.org)", text) is None


def test_the_page_is_accessible() -> None:
    read = page()
    tags = [tag for tag, _unused in read.tags]
    assert ("html", {"lang": "en"}) in read.tags
    assert tags.count("h1") == 1
    assert tags.count("main") == 1
    targets = [attributes["href"] for tag, attributes in read.tags if tag == "a"]
    assert all(target and target[1:] in read.ids() for target in targets)
    labels = [
        value for _unused, attributes in read.tags for name, value in attributes.items() if name == "aria-labelledby"
    ]
    assert all(part in read.ids() for label in labels if label for part in label.split())
    heads = [attributes for tag, attributes in read.tags if tag == "th"]
    assert heads
    assert all(attributes.get("scope") == "col" for attributes in heads)
    ids = [attributes["id"] for _unused, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    # An outcome is told by a word and a mark, never by its colour alone.
    assert all(word in read.text for word in ("✕ fail", "! warn", "? unknown"))


def luminance(colour: str) -> float:
    full = colour if len(colour) == 7 else "#" + "".join(char * 2 for char in colour[1:])
    parts = [int(full[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(theme: str) -> None:
    """WCAG AA asks for a contrast of 4.5 between text and ground."""
    blocks = re.findall(r":root\{[^}]*\}", STYLE)
    values = dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{3,6})", blocks[0 if theme == "light" else 1]))
    pairs = [("ink", "bg"), ("ink", "card"), ("soft", "card"), ("soft", "bg"), ("accent", "bg"), ("ink", "code")]
    pairs += [(name, f"{name}-bg") for name in ("pass", "warn", "unknown", "fail")]
    pairs += [("card", name) for name in ("pass", "warn", "unknown", "fail")]
    for text, ground in pairs:
        one, other = sorted((luminance(values[text]), luminance(values[ground])))
        assert (other + 0.05) / (one + 0.05) >= 4.5, (theme, text, ground)


def test_the_timeline_goes_by_time_and_not_by_text() -> None:
    report = read_report(FULL)
    assert [(moment.label, moment.since) for moment in report.moments] == [
        ("Prepared", 0),
        ("Apply began", 10),
        ("First GPU pod scheduled", 90),
        ("Ready", 3900),
    ]
    assert read_report({**FULL, "ledger": {"created_at": "yesterday"}}).moments == ()


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.4, "59 s"), (65, "1 min 05 s"), (7620, "2 h 07 min"), (3599.9, "1 h 00 min")]
)
def test_spans(seconds: float, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ({"choices": [{"message": {"content": "", "reasoning_content": "hm"}}]}, "hm"),
        ({"data": []}, '"data": []'),
        ("Bad Gateway", "Bad Gateway"),
        (None, ""),
    ],
)
def test_any_answer_is_shown(response: object, words: str) -> None:
    report = read_report(
        {"title": "x", "smoke": {**SMOKE, "success": False, "stage": "chat", "api_response": response}}
    )
    assert report.smoke is not None
    assert words in report.smoke.answer
    assert "failed at chat" in Page(to_html(report)).text


def test_a_subject_is_told_once() -> None:
    told = finding("fail", subject="Image/a:1", message="a:1: no secret fits")
    text = Page(to_html(read_report({"title": "x", "findings": [told]}))).text
    assert "Image/a:1: No secret fits" in text
    assert "a:1: no secret" not in text
    kept = finding("fail", subject="Image/a:1", message="a:1 has no secret")
    assert "a:1 has no secret" in Page(to_html(read_report({"title": "x", "findings": [kept]}))).text


def test_one_image_is_one_row() -> None:
    base = PULLS["images"][0]
    images = [{**base, "used_by": ["Worker"]}, {**base, "used_by": ["Front", "Worker"]}, {**base, "why": "other"}]
    rows = read_report({"title": "x", "pull_secrets": {"images": images}}).pulls
    assert rows is not None
    assert [(row.used_by, row.why) for row in rows] == [(("Worker", "Front"), "no key"), ((), "other")]


def test_a_long_fact_has_a_row_of_its_own() -> None:
    text = to_html(read_report({"title": "x", "facts": {"Manifest": "docs/examples/vllm-agg/deploy.yaml", "A": "b"}}))
    assert '<div class="row"><dt>Manifest</dt>' in text
    assert "<div><dt>A</dt>" in text


def test_equal_pods_are_one_row() -> None:
    rows = read_report(FULL).pods
    assert rows is not None
    assert [(row.component, row.count, row.nodes) for row in rows] == [("Worker", 2, ("n1", "n2")), ("Front", 1, ())]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"findings": ["x"]}, r"findings\[0\]: must be a finding"),
        ({"findings": [finding("bad")]}, r"findings\[0\]: must be a finding"),
        ({"fit": []}, None),
        ({"fit": ["x"]}, "fit: must be a mapping"),
        ({"render": {"pods": "x"}}, "pods: must be a list"),
        ({"smoke": {"api_request": "x"}}, "api_request: must be a mapping"),
    ],
)
def test_a_part_of_a_wrong_shape_is_named(data: dict[str, Any], said: str | None) -> None:
    if said is None:
        with pytest.raises(InputError):
            read_report({**FULL, "fit": [1]})
        return
    with pytest.raises(InputError, match=said):
        read_report({**FULL, **data})


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=6), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(LEDGER)), _ANY), st.dictionaries(st.sampled_from(sorted(SMOKE)), _ANY))
def test_no_ledger_or_answer_breaks_the_page(ledger: dict[str, Any], smoke: dict[str, Any]) -> None:
    try:
        report = read_report({"title": "x", "ledger": ledger, "smoke": smoke})
    except InputError:
        return
    Page(to_html(report))
    to_markdown(report)
