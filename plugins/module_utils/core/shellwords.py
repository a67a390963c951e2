# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A shell script taken apart into words and commands, as far as that needs no running of anything.

What would need it (substitutions of commands, unknown variables, arrays) is marked, never guessed.
Source: POSIX.1-2017, Shell Command Language, and bash where recipes use it (``+=``, ``&>``, ``<<<``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::?-([^}]*))?\})")
_OPERATORS = ("&&", "||", ";;", ";", "|", "&", "\n", "(", ")")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_KEYWORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "{", "!", "time"))
#: What only a running shell knows: arrays, parts of variables, its own arguments.
_SPECIAL = re.compile(r"\$(?:\{[^}]*\}|[@*#?$!0-9-])")
_REDIRECTION = re.compile(r"(?:\d*(?:>>|>\||>&|<&|<<<|<<-?|<>|>|<)|&>>?)[ \t]*")


@dataclass(frozen=True)
class Word:
    """A word of a shell script; ``operator`` marks an unquoted operator, ``open`` names what could not be expanded."""

    text: str
    operator: bool = False
    open: tuple[str, ...] = ()


def shell_words(script: str, env: Mapping[str, str]) -> Iterator[Word]:
    """Take a script apart into words and operators; variables are filled in from ``env`` and earlier assignments."""
    known = {name: value for name, value in env.items() if not value.startswith("<")}
    scanner = _Scanner(script, known)
    while (word := scanner.next()) is not None:
        yield word


class _Scanner:
    """Walks over a script once."""

    def __init__(self, script: str, known: dict[str, str]) -> None:
        self.text = script
        self.at = 0
        self.known = known
        self.first = True
        self.ready: list[Word] = []
        self.documents: list[str] = []

    def next(self) -> Word | None:
        if self.ready:
            return self.ready.pop(0)
        self._skip()
        while (match := _REDIRECTION.match(self.text, self.at)) is not None:
            self._redirect(match)
            self._skip()
        if self.at >= len(self.text):
            return None
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.at):
                self.at += len(operator)
                self.first = True
                if operator == "\n":
                    self._skip_documents()
                return Word(operator, operator=True)
        word = self._word()
        match = _ASSIGNMENT.fullmatch(word.text) if self.first else None
        if match and word.open:
            self.known.pop(match[1], None)  # only the shell knows it
        elif match:
            self.known[match[1]] = (self.known.get(match[1], "") if match[2] else "") + match[3]
        elif word.text not in ("export", "exec"):
            self.first = False
        return word

    def _skip(self) -> None:
        while self.at < len(self.text):
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] in " \t\r":
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _redirect(self, match: re.Match[str]) -> None:
        """Step over a redirection and its target; what a here-document holds is no command."""
        self.at = match.end()
        target = "" if self.at >= len(self.text) else self._word().text
        if match[0].strip().lstrip("0123456789") in ("<<", "<<-"):
            self.documents.append(target)

    def _skip_documents(self) -> None:
        for end in self.documents:
            found = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(self.text, self.at)
            self.at = len(self.text) if found is None else min(found.end() + 1, len(self.text))
        self.documents = []

    def _word(self) -> Word:
        parts: list[str] = []
        unknown: list[str] = []
        bare_expansion = False
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r\n;|&()<>":
                break
            if char == "'":
                end = self.text.find("'", self.at + 1)
                end = len(self.text) if end < 0 else end
                parts.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                self._double(parts, unknown)
            elif char == "\\":
                if not self.text.startswith("\\\n", self.at):
                    parts.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char in "$`":
                before, known = len(parts), len(unknown)
                self._dollar(parts, unknown)
                filled = parts[before:] if len(unknown) == known else []
                bare_expansion = bare_expansion or any(" " in part for part in filled)
            else:
                parts.append(char)
                self.at += 1
        text = "".join(parts)
        if bare_expansion:
            # An unquoted variable with spaces in its value becomes several words.
            split = text.split() or [""]
            self.ready = [Word(part, open=tuple(unknown)) for part in split[1:]]
            text = split[0]
        return Word(text, open=tuple(unknown))

    def _double(self, parts: list[str], unknown: list[str]) -> None:
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            char = self.text[self.at]
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                parts.append(self.text[self.at + 1].replace("\n", ""))
                self.at += 2
            elif char in "$`":
                self._dollar(parts, unknown)
            else:
                parts.append(char)
                self.at += 1
        self.at += 1

    def _dollar(self, parts: list[str], unknown: list[str]) -> None:
        match = _VARIABLE.match(self.text, self.at)
        if match:
            name = match[1] or match[2]
            value = self.known.get(name)
            if value is None and match[3] is not None and name not in self.known:
                value = match[3]
            if value is None:
                unknown.append(name)
            parts.append(match[0] if value is None else value)
            self.at = match.end()
            return
        special = _SPECIAL.match(self.text, self.at)
        if special:
            unknown.append(special[0])
            parts.append(special[0])
            self.at = special.end()
            return
        if self.text[self.at] == "`" or self.text.startswith("$(", self.at):
            end = self._closing()
            unknown.append("a command's output")
            parts.append(self.text[self.at : end])
            self.at = end
            return
        parts.append(self.text[self.at])
        self.at += 1

    def _closing(self) -> int:
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            return len(self.text) if end < 0 else end + 1
        depth = 0
        for place in range(self.at + 1, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[place], 0)
            if depth == 0:
                return place + 1
        return len(self.text)


def segments(words: Sequence[Word]) -> Iterator[list[Word]]:
    segment: list[Word] = []
    for word in words:
        if word.operator:
            if segment:
                yield segment
            segment = []
        else:
            segment.append(word)
    if segment:
        yield segment


def _without_keywords(segment: Sequence[Word]) -> Sequence[Word]:
    start = next((at for at, word in enumerate(segment) if word.text not in _KEYWORDS), len(segment))
    return segment[start:]


class ScriptEnv:
    """The variables that a script exports, or sets for one command."""

    def __init__(self) -> None:
        self.assigned: dict[str, str] = {}
        self.exported: set[str] = set()

    def read(self, segment: Sequence[Word]) -> None:
        """Take in a command that sets variables, exported or not."""
        segment = _without_keywords(segment)
        is_export = bool(segment) and segment[0].text in ("export", "declare", "typeset")
        for word in segment[1 if is_export else 0 :]:
            match = _ASSIGNMENT.fullmatch(word.text)
            if match:
                before = self.assigned.get(match[1], "") if match[2] else ""
                self.assigned[match[1]] = before + match[3]
            elif not is_export:
                return
            if is_export:
                self.exported.add(match[1] if match else word.text)

    def of(self, segment: Sequence[Word]) -> dict[str, str]:
        """Return what a command gets besides the container's variables, assignments in front of it included."""
        own: dict[str, str] = {}
        for word in _without_keywords(segment):
            match = _ASSIGNMENT.fullmatch(word.text)
            if match:
                own[match[1]] = match[3]
            elif word.text not in ("env", "exec", "nohup"):
                break
        return {**{name: text for name, text in self.assigned.items() if name in self.exported}, **own}
