# SPDX-License-Identifier: Apache-2.0
"""Sections of a cubin, and what ptxas noted there of a kernel."""

import struct
from collections.abc import Iterator

SIZED = 4  # format of an attribute in .nv.info.KERNEL: a size and then the value
VIRTUAL_RESOURCES = 0x4A  # EIATTR_VRC_CTA_INIT_COUNT
ANNOTATIONS = 0x55  # EIATTR_ANNOTATIONS: pairs of a kind and an offset into the code
SPILL_REFILL = 1  # a kind of them


def sections_of(cubin: bytes) -> dict[str, bytes]:
    """By name, of an ELF of 64 bits, little endian."""
    if cubin[:6] != b"\x7fELF\x02\x01":
        return {}
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + n * size) for n in range(count)]
    strings = headers[names][4]
    found = {}
    for header in headers:
        begin = strings + header[0]
        name = cubin[begin : cubin.index(b"\0", begin)].decode("utf-8", "replace")
        found[name] = cubin[header[4] : header[4] + header[5]]
    return found


def attributes_of(info: bytes) -> Iterator[tuple[int, bytes]]:
    """Of .nv.info.KERNEL, whose entries are a format, an attribute and a value or its size and the value."""
    at = 0
    while at + 4 <= len(info):
        layout, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if layout == SIZED:
            yield attribute, info[at : at + size]
            at += -(-size // 4) * 4
        else:
            yield attribute, info[at - 2 : at]


def virtual_resources_of(info: bytes) -> int:
    return next((value[0] for kind, value in attributes_of(info) if kind == VIRTUAL_RESOURCES and value), 0)


def noted_spills(info: bytes) -> set[int]:
    """Offsets of the loads and stores of spilled registers, which ptxas notes since CUDA 12.6. nvdisasm 13.2
    and earlier do not print these notes."""
    values = (value for attribute, value in attributes_of(info) if attribute == ANNOTATIONS)
    words = (pair for value in values for pair in struct.iter_unpack("<II", value[: len(value) // 8 * 8]))
    return {offset for kind, offset in words if kind == SPILL_REFILL}
