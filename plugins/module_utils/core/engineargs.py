# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an engine is started with: flags from command, arguments and environment, in one spelling.

``--tp 4``, ``--tensor_parallel_size=4`` and ``-tp 4`` are one knob with one value; so are ``0.90`` and ``0.9``, and two
spellings of the same JSON. Commands in shell form are taken apart as a POSIX shell would, as far as that needs no
running of anything; what would need it (substitutions of commands, unknown variables) is marked, never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from . import keys
from .shellwords import ScriptEnv, Word, segments, shell_words

#: Other spellings of a flag, without leading dashes and with dashes for underscores, and the one that we use.
#: Sources: vLLM's ``EngineArgs.add_cli_args``, SGLang's ``ServerArgs.add_cli_args``, Dynamo's backends' ``--help``.
ALIASES: Mapping[str, str] = {
    "tp": "tensor-parallel-size",
    "tp-size": "tensor-parallel-size",
    "pp": "pipeline-parallel-size",
    "pp-size": "pipeline-parallel-size",
    "dp": "data-parallel-size",
    "dp-size": "data-parallel-size",
    "dpl": "data-parallel-size-local",
    "dpa": "data-parallel-address",
    "dpp": "data-parallel-rpc-port",
    "dpr": "data-parallel-rank",
    "dpb": "data-parallel-backend",
    "ep": "expert-parallel-size",
    "ep-size": "expert-parallel-size",
    "dcp": "decode-context-parallel-size",
    "q": "quantization",
    "O": "compilation-config",
    "cc": "compilation-config",
    "ac": "attention-config",
    "sc": "speculative-config",
    "model-path": "model",
    "model-name": "served-model-name",
    "context-length": "max-model-len",
    "max-seq-len": "max-model-len",
    "mem-frac": "mem-fraction-static",
    "n": "nnodes",
    "r": "node-rank",
    "tokenizer-path": "tokenizer",
    "kv-cache-config.free-gpu-memory-fraction": "free-gpu-memory-fraction",
    "kv-cache-config.dtype": "kv-cache-dtype",
}
#: The spellings that are flags with a single dash.
SHORT_FLAGS = frozenset(
    ("tp", "pp", "dp", "dpl", "dpa", "dpp", "dpr", "dpb", "ep", "dcp", "q", "O", "cc", "ac", "sc", "n", "r")
)
#: Where ``-ep`` takes no value it is vLLM's switch and not SGLang's size.
SWITCH_ALIASES: Mapping[str, str] = {"expert-parallel-size": "enable-expert-parallel"}
#: Environment variables that stand for a flag; the flag wins where both are given.
ENV_FLAGS: Mapping[str, str] = {
    "DYN_ROUTER_MODE": "router-mode",
    "DYN_KV_CACHE_BLOCK_SIZE": "kv-cache-block-size",
    "DYN_HTTP_PORT": "http-port",
    "DYN_MODEL_NAME": "served-model-name",
    "DYN_REASONING_PARSER": "dyn-reasoning-parser",
    "DYN_TOOL_CALL_PARSER": "dyn-tool-call-parser",
    "VLLM_ATTENTION_BACKEND": "attention-backend",
}
#: Flags that name a file with more settings, and whether the file wins over the flags, as TensorRT-LLM's does.
FILE_FLAGS: Mapping[str, bool] = {
    "extra-engine-args": True,
    "extra-llm-api-options": True,
    "config": False,
    "planner-config": False,
}
#: The flag whose value is JSON that wins over all other flags of the call (Dynamo's TensorRT-LLM backend).
OVERRIDE_FLAG = "override-engine-args"
#: Programs that take the model as a word without a flag.
_MODEL_FIRST = ("vllm.entrypoints.serve", "tensorrt_llm.serve")
_PROGRAM = re.compile(
    r"dynamo\.(?P<engine>[a-z_]+)|(?P<other>vllm\.entrypoints\.[a-z_.]+|sglang\.launch_server|tensorrt_llm\.[a-z_.]+)"
)
_PYTHON = re.compile(r"(.*/)?python[0-9.]*")
_SHELL = re.compile(r"(.*/)?(ba|da|z|a)?sh")
_NUMBER = re.compile(r"-?(?P<digits>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE](?P<exponent>[-+]?[0-9]{1,6}))?")
_HUMAN = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG])")
_SCALE = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}
#: Flags whose value vLLM reads with such a suffix.
_HUMAN_FLAGS = frozenset(("max-model-len", "max-num-batched-tokens", "max-num-seqs"))


@dataclass(frozen=True)
class EngineCall:
    """One start of an engine: ``program`` (``dynamo.vllm``), its flags in one spelling, and what could not be read.

    A switch has the value ``true`` or ``false``; a flag given several values has them joined by a space. A flag whose
    value is a mapping in JSON is one flag for each setting in it, with a dotted name. ``env`` are variables that the
    script itself sets for the engine.
    """

    program: str
    flags: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def framework(self) -> str:
        """The backend, ``vllm``, ``sglang`` or ``trtllm``, or empty."""
        name = self.program.partition(".")[2] if self.program.startswith("dynamo.") else self.program.partition(".")[0]
        name = {"tensorrt_llm": keys.TRTLLM}.get(name, name)
        return name if name in keys.BACKENDS else ""

    def open_parts(self, flag: str) -> list[str]:
        """Return what of a flag, or of the mapping it stands in, could not be read."""
        starts = tuple(f"--{head}{end}" for head in (flag, flag.partition(".")[0]) for end in ":=")
        return [text for text in self.unknown if text.startswith(starts)]


def engine_calls(
    command: Sequence[str], args: Sequence[str], env: Mapping[str, str], *, env_flags: bool = True
) -> tuple[EngineCall, ...]:
    """Return every start of an engine that a container's command and arguments hold.

    A container without a known program but with flags gives one call, its program the words before the flags; there are
    none where the image has the entrypoint.
    """
    words, shell = _words(command, args, env)
    calls: list[EngineCall] = []
    script_env = ScriptEnv()
    for segment in segments(words) if shell else [words]:
        call = _call(segment)
        if call is not None:
            calls.append(replace(call, env=script_env.of(segment)))
        elif shell:
            script_env.read(segment)
    if not calls and not shell and any(word.text.startswith("--") for word in words):
        start = next(number for number, word in enumerate(words) if word.text.startswith("--"))
        calls.append(_flags(" ".join(word.text for word in words[:start]), words[start:]))
    return tuple(_with_environment(call, env) for call in calls) if env_flags else tuple(calls)


def canonical_flag(name: str) -> str:
    """Return the one spelling of a flag's name (``--tp`` → ``tensor-parallel-size``); ``a.b`` is a part of ``a``."""
    plain = name.lstrip("-").replace("_", "-")
    head, dot, rest = plain.partition(".")
    whole = ALIASES.get(head, head) + dot + rest
    return ALIASES.get(whole, whole)


def canonical_value(flag: str, text: str) -> str:
    """Return the one spelling of a flag's value: numbers without superfluous digits, JSON with sorted keys."""
    value = text.strip()
    if value[:1] in ("{", "["):
        try:
            return _json_text(json.loads(value, parse_float=_json_number))
        except (ValueError, RecursionError):
            return value
    if value.lower() in ("true", "false"):
        return value.lower()
    human = _HUMAN.fullmatch(value) if flag in _HUMAN_FLAGS else None
    if human:
        scaled = Fraction(human[1]) * _SCALE[human[2]]
        return str(int(scaled)) if scaled.denominator == 1 else value
    number = _NUMBER.fullmatch(value) if len(value) <= 40 else None
    return _number(number) if number else value


def _json_text(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _json_number(text: str) -> int | float:
    """Return a number of JSON; ``1.0`` and ``1`` are the same."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def settings_flags(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield settings as flags in one spelling; those within a mapping have dotted names (``a: {b: 1}`` → ``a.b`` 1)."""
    for key, value in settings.items():
        name = f"{prefix}{str(key).replace('_', '-')}"
        if isinstance(value, Mapping) and value:
            yield from settings_flags(value, f"{canonical_flag(name)}.")
        elif value is not None:
            flag = canonical_flag(name)
            yield flag, canonical_value(flag, value if isinstance(value, str) else _json_text(value))


def parsed_settings(text: str) -> Mapping[str, Any] | None:
    """Return the mapping that a text of JSON holds, or nothing where it is none."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(text, parse_float=_json_number)
        _json_text(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _number(match: re.Match[str]) -> str:
    """Return a number's plain decimal spelling; an exponent beyond what anybody writes stays as it is."""
    exponent = int(match["exponent"] or 0)
    if abs(exponent) > 30:
        return match[0]
    digits, _unused, part = match["digits"].partition(".")
    scaled = Fraction(int((digits + part) or 0)) * Fraction(10) ** (exponent - len(part))
    sign = "-" if match[0].startswith("-") and scaled else ""
    if scaled.denominator == 1:
        return f"{sign}{scaled.numerator}"
    places = max(len(part) - exponent, 1)
    shifted = str(int(scaled * 10**places)).rjust(places + 1, "0")
    return f"{sign}{shifted[:-places]}.{shifted[-places:].rstrip('0')}"


def _words(command: Sequence[str], args: Sequence[str], env: Mapping[str, str]) -> tuple[list[Word], bool]:
    script = _script(command, args)
    if script is not None:
        # The kubelet fills in $(NAME) before the shell sees the text; what it does not know the shell would run.
        return list(shell_words(_kubernetes_expand(script, env)[0], env)), True
    expanded = [_kubernetes_expand(text, env) for text in (*command, *args)]
    return [Word(text, open=unknown) for text, unknown in expanded], False


def _script(command: Sequence[str], args: Sequence[str]) -> str | None:
    """Return the shell script that a container runs, or nothing where it runs a program directly."""
    every = [*command, *args]
    if every and _SHELL.fullmatch(every[0]):
        return _shell_script(every[1:])
    # A single text that holds a whole command line is run by a shell, be it the image's or the operator's.
    if len(every) == 1 and _PROGRAM.search(every[0]) and any(char.isspace() for char in every[0].strip()):
        return every[0]
    return None


def _shell_script(words: Sequence[str]) -> str | None:
    """Return the text that ``sh [options] -c text`` runs; ``-o`` and ``-O`` (also in ``-euo``) take a word each."""
    at, wants = 0, False
    while at < len(words) and len(words[at]) > 1 and words[at][0] in "-+":
        option = words[at]
        at += 1
        if option == "--":
            break
        if not option.startswith("--"):
            wants = wants or (option[0] == "-" and "c" in option)
            at += option.count("o") + option.count("O")
    if not wants:
        return None
    return words[at] if at < len(words) else ""


def _kubernetes_expand(text: str, env: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Expand ``$(NAME)`` as the kubelet does; an unknown one stays as it stands."""
    unknown: list[str] = []

    def value(match: re.Match[str]) -> str:
        if match[0].startswith("$$"):
            return match[0][1:]
        found = env.get(match[1])
        if found is None or found.startswith("<"):
            unknown.append(match[1])
            return match[0]
        return found

    return re.sub(r"\$?\$\(([A-Za-z_][\w.-]*)\)", value, text), tuple(unknown)


def _call(words: Sequence[Word]) -> EngineCall | None:
    for number, word in enumerate(words):
        match = _PROGRAM.fullmatch(word.text)
        if match and number and words[number - 1].text == "-m":
            return _flags(word.text, words[number + 1 :])
        if _PYTHON.fullmatch(word.text) or word.operator:
            continue
        if word.text in ("trtllm-llmapi-launch", "trtllm-serve", "vllm") and number + 1 < len(words):
            if words[number + 1].text == "serve":
                return _flags("vllm.entrypoints.serve", words[number + 2 :])
            if word.text == "trtllm-serve":
                return _flags("tensorrt_llm.serve", words[number + 1 :])
    return None


def _flags(program: str, words: Sequence[Word]) -> EngineCall:
    flags: dict[str, str] = {}
    unknown: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, value = _flag_name(word.text)
        unknown.extend(f"{word.text}: {what}" for what in word.open)
        if not name:
            if program in _MODEL_FIRST and "model" not in flags:
                flags["model"] = word.text
            continue
        values = [value] if value is not None else []
        while value is None and at < len(words) and not _is_flag(words[at].text):
            values.append(words[at].text)
            unknown.extend(f"--{name}: {what}" for what in words[at].open)
            at += 1
        _set_flag(flags, name, values)
    return EngineCall(program, _overridden(flags), tuple(dict.fromkeys(unknown)))


def _overridden(flags: dict[str, str]) -> dict[str, str]:
    """Let the settings of :data:`OVERRIDE_FLAG` take the place of the flags that they override."""
    start = f"{OVERRIDE_FLAG}."
    more = {canonical_flag(name[len(start) :]): value for name, value in flags.items() if name.startswith(start)}
    return {**{name: value for name, value in flags.items() if not name.startswith(start)}, **more}


def _flag_name(text: str) -> tuple[str, str | None]:
    """Return the flag's canonical name and the value written with it (``--x=1``), if any; no flag gives ``""``."""
    if text.startswith("--") and len(text) > 2:
        name, equals, value = text.partition("=")
        return canonical_flag(name), value if equals else None
    if text.startswith("-") and len(text) > 1 and not _NUMBER.fullmatch(text):
        name, equals, value = text[1:].partition("=")
        if name.partition(".")[0] in SHORT_FLAGS:
            return canonical_flag(name), value if equals else None
        if name[:1] == "O" and name[1:].isdigit():
            return "compilation-config", name[1:]
        if len(name) == 1 and name.isalpha():
            return name, value if equals else None
    return "", None


def _is_flag(text: str) -> bool:
    return bool(_flag_name(text)[0])


def _set_flag(flags: dict[str, str], name: str, values: list[str]) -> None:
    if not values:
        if name in SWITCH_ALIASES:
            name = SWITCH_ALIASES[name]
        if name.startswith("no-"):
            flags[name[3:]] = "false"
        else:
            flags[name] = "true"
        return
    # Of a flag given twice the last counts, with all its parts.
    for part in [part for part in flags if part.startswith(f"{name}.")]:
        del flags[part]
    settings = parsed_settings(values[0]) if len(values) == 1 else None
    if settings:
        flags.update(settings_flags(settings, f"{name}."))
        flags.pop(name, None)
        return
    flags[name] = " ".join(canonical_value(name, value) for value in values)


def _with_environment(call: EngineCall, env: Mapping[str, str]) -> EngineCall:
    env = {**env, **call.env}
    more = {
        flag: canonical_value(flag, env[name])
        for name, flag in ENV_FLAGS.items()
        if name in env and not env[name].startswith("<") and flag not in call.flags
    }
    return replace(call, flags={**more, **call.flags}) if more else call
