# Copyright (c) 2026 Inference Ops contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The instance id that Dynamo gives a worker from its pod's name.

Source: Dynamo's Kubernetes discovery (``lib/runtime/src/discovery/kube``): Rust's default hasher (SipHash-1-3 with zero
keys) over the text as Rust hashes it, which is its bytes followed by 0xff; the low 53 bits are kept, so that JSON
readers with doubles do not round the number.
"""

from __future__ import annotations

from .errors import InputError, shown

_MASK = 2**64 - 1
_LOW_BITS = 2**53 - 1
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
_COMPRESSIONS = 1
_FINALIZATIONS = 3


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK


def _rounds(state: tuple[int, int, int, int], count: int) -> tuple[int, int, int, int]:
    v0, v1, v2, v3 = state
    for _unused in range(count):
        v0 = (v0 + v1) & _MASK
        v1 = _rotate(v1, 13) ^ v0
        v0 = _rotate(v0, 32)
        v2 = (v2 + v3) & _MASK
        v3 = _rotate(v3, 16) ^ v2
        v0 = (v0 + v3) & _MASK
        v3 = _rotate(v3, 21) ^ v0
        v2 = (v2 + v1) & _MASK
        v1 = _rotate(v1, 17) ^ v2
        v2 = _rotate(v2, 32)
    return v0, v1, v2, v3


def siphash13(data: bytes) -> int:
    """Return SipHash-1-3 of ``data`` under zero keys, a whole number of 64 bits."""
    state = _START
    whole = len(data) - len(data) % 8
    words = [int.from_bytes(data[start : start + 8], "little") for start in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56)
    for word in words:
        v0, v1, v2, v3 = _rounds((state[0], state[1], state[2], state[3] ^ word), _COMPRESSIONS)
        state = (v0 ^ word, v1, v2, v3)
    v0, v1, v2, v3 = _rounds((state[0], state[1], state[2] ^ 0xFF, state[3]), _FINALIZATIONS)
    return v0 ^ v1 ^ v2 ^ v3


def worker_instance_id(pod_name: str) -> int:
    """Return the decimal instance id of the worker in the pod of that name; raise :class:`InputError` for no name."""
    if not isinstance(pod_name, str) or not pod_name:
        raise InputError("a pod's name is needed", where="worker_instance_id", found=shown(pod_name))
    try:
        data = pod_name.encode()
    except UnicodeEncodeError as error:
        raise InputError("not valid Unicode", where="worker_instance_id", found=shown(pod_name)) from error
    return siphash13(data + b"\xff") & _LOW_BITS
