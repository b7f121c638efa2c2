# SPDX-License-Identifier: Apache-2.0
"""What differs between two runs beside the measurements, and which comparisons that invalidates."""

from typing import Any

import numpy as np
import pandas as pd

from occbench_tools.folder import Folder

SAME_DEVICE, SAME_KIND, DIFFERENT = "same device", "same kind of device", "different devices"
# Fields that are equal on devices of one kind. Other fields of `gpu` are listed where they differ.
KIND = ("name", "compute_capability", "sm_count", "memory_bytes", "memory_bus_bits", "mig")
# Not listed: they differ between any two runs.
OWN = {"created_utc", "anonymous", "command_line", "parameters", "assumed", "schema_version",
       "method.empty_launch_s", "method.memcpy_bytes_per_s", "method.sm_clock_hz", "disturbance"}  # fmt: skip
# What a difference means for the numbers, by field.
MEANS = {
    "gpu.power_limit_w": "kernels near the power cap run at another clock under another cap: read cycles",
    "gpu.ecc": "error correction takes a part of DRAM's bandwidth on some devices",
    "gpu.memory_clock_hz": "the DRAM clock differs: DRAM rates compare clocks, not code",
    "gpu.throttle_reasons": "one run began under a throttled clock",
    "gpu.mig": "one of them is a slice of a device",
    "gpu.driver_version": "the driver places data and compiles PTX: it may cause a difference",
    "cuda_toolkit": "another compiler makes other machine code: see the registers and spills that changed",
    "compiler_flags": "other flags make other machine code",
    "cuda_architectures": "one binary may run machine code for another architecture, or PTX",
    "build_type": "only Release builds are comparable with other runs",
    "git_commit": "another commit: the code may cause a difference",
    "preset": "another preset has other cases and other precision",
    "benchmark_filter": "other cases were asked for",
    "experiments": "other experiments were asked for",
    "source": "one of them is a model: nothing of it was measured",
}
# The fields that are warned about before all tables.
GRAVE = {
    "gpu.power_limit_w",
    "gpu.ecc",
    "gpu.memory_clock_hz",
    "gpu.throttle_reasons",
    "gpu.mig",
    "build_type",
}
CLOCK_MATTERS = 0.01  # of the SM clock
OF_RELATION = {
    SAME_KIND: "two cards of one kind: placement and chip variation alone shift a case by a few percent",
    DIFFERENT: "different devices: seconds compare the hardware, shares of the ceiling how it is used",
}


def anonymous_uuid(uuid: str) -> str:
    """The name of this card in an anonymous run (results/schema.json): the 64-bit FNV-1a of its UUID."""
    if uuid.startswith("anonymous-"):
        return uuid
    value = 0xCBF29CE484222325
    for byte in uuid.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"anonymous-{value:016x}"


def device_relation(base: dict[str, Any], other: dict[str, Any]) -> str:
    """same device (by UUID), same kind of device (by name and size), or different devices; both are `gpu`."""
    kind = all(base.get(field) == other.get(field) for field in KIND)
    uuids = [gpu.get("uuid") or "" for gpu in (base, other)]
    if kind and all(uuids) and len({*map(anonymous_uuid, uuids)}) == 1:
        return SAME_DEVICE
    return SAME_KIND if kind else DIFFERENT


def flat(env: dict[str, Any]) -> dict[str, object]:
    """env.json with the fields of `gpu` and `method` as gpu.name, ..., and experiments by name alone."""
    fields: dict[str, object] = {}
    for name, value in (env | dict(experiments=sorted(env["experiments"]))).items():
        inner = isinstance(value, dict) and name in ("gpu", "method")
        fields |= {f"{name}.{key}": part for key, part in value.items()} if inner else {name: value}
    return fields


def clocks(base: Folder, other: Folder, pairs: pd.DataFrame) -> tuple[float, float, float]:
    """Median SM clock (Hz) of the aligned cases of each, and the median ratio less one."""
    a = base.valid.set_index("case_id").loc[pairs["base_case_id"], "sm_clock_hz"].to_numpy()
    b = other.valid.set_index("case_id").loc[pairs["case_id"], "sm_clock_hz"].to_numpy()
    return float(np.median(a)), float(np.median(b)), float(np.median(b / a)) - 1


def differences(base: Folder, other: Folder, pairs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """(field, base, candidate, means) where the environments differ, and the warnings that follow.

    A field that only one of the runs has counts as different.
    """
    a, b = flat(base.env), flat(other.env)
    names = [name for name in dict.fromkeys([*a, *b]) if name not in OWN and a.get(name) != b.get(name)]
    names.sort(key=lambda name: (not name.startswith("gpu."), name.startswith("method.")))
    known = {name for name in names if a.get(name) is not None and b.get(name) is not None}
    rows = [
        (name, text_of(a.get(name)), text_of(b.get(name)), MEANS.get(name, "") * (name in known))
        for name in names
    ]
    before, after, change = clocks(base, other, pairs)
    warnings = []
    if abs(change) >= CLOCK_MATTERS:
        message = f"the SM clock differs by {100 * abs(change):.2g} %: "
        message += "seconds (--by time) compare clocks, not code"
        rows.insert(
            0,
            ("SM clock, median of the cases", f"{before / 1e6:,.0f} MHz", f"{after / 1e6:,.0f} MHz", message),
        )
        warnings.append(message)
    relation = device_relation(base.env["gpu"], other.env["gpu"])
    if warning := OF_RELATION.get(relation):
        warnings.append(warning)
    expected = {"gpu.memory_clock_hz"} if relation == DIFFERENT else set()  # bought with the device
    warnings += [f"{name}: {MEANS[name]}" for name in names if name in (known & GRAVE) - expected]
    warnings += [
        f"{side} was disturbed: {entry['message']}"
        for side, env in (("base", base.env), ("candidate", other.env))
        for entry in env.get("disturbance", [])
        if entry.get("message")
    ]
    if a.get("git_dirty") and b.get("git_dirty"):
        warnings.append("both trees had uncommitted changes: the commits do not identify the code")
    return pd.DataFrame(rows, columns=["field", "base", "candidate", "means"]), warnings


def text_of(value: object) -> str:
    """A value for readers; clocks and rates with enough digits to show a difference."""
    if value is None:
        return "(not known)"
    if isinstance(value, float):
        return f"{value:.9g}"
    return str(value) or "(empty)"
