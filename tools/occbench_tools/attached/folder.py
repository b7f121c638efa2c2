# SPDX-License-Identifier: Apache-2.0
"""One folder of `occbench attach` as data frames, typed by results/schema.json; errors are one line."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from occbench_tools.attached.findings import read_findings
from occbench_tools.folder import check_version, read_csv, refuse
from occbench_tools.schema import check_types, rename_fields, schema
from occbench_tools.untrusted_files import parse_json, read_untrusted

SHAPE = ["grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"]


@dataclass
class Attached:
    """kernels: most GPU time first; part_sms: SMs of kernels that may not run on all. caps: registers.csv;
    None without caps. launches: None unless requested. warnings: lines for readers.
    """

    path: Path
    env: dict[str, Any]
    kernels: pd.DataFrame
    launches: pd.DataFrame | None = None
    caps: pd.DataFrame | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def program(self) -> str:
        """The command line."""
        return " ".join(self.env["program"])

    @property
    def gpus(self) -> str:
        """The GPUs' names."""
        names = [str(gpu.get("name") or "a GPU without a name") for gpu in self.env["gpus"]]
        return ", ".join(dict.fromkeys(names)) or "no GPU"

    @property
    def why_empty(self) -> str:
        """A line why the folder has no kernel."""
        noted = self.env["complaints"]
        return f"{self.path}: " + (f"no kernel was noted: {noted[0]}" if noted else "no kernel was launched")

    @cached_property
    def findings(self) -> dict[str, Any]:
        """findings.json, as results/schema.json has attach's. Raises as read_findings."""
        found = read_findings(self.path, rules())
        if len(found["verdicts"]) != len(self.kernels):
            raise ValueError("findings.json: not a verdict for each row of kernels.csv")
        return found

    @cached_property
    def verdicts(self) -> dict[int, dict[str, Any]]:
        """The findings' verdict on each kernel, by kernel_id."""
        return dict(zip(self.kernels["kernel_id"], self.findings["verdicts"], strict=True))


def rules() -> dict[str, Any]:
    """results/schema.json with attach's files in place of a run's."""
    whole = schema()
    return whole | dict(files=whole["attach"])


def read_attached(path: Path, launches: bool = False) -> Attached:
    """Reads env.json, kernels.csv, arms.csv, registers.csv where there is one, and launches.csv if asked.

    OSError where a file cannot be read; ValueError, a line that names file and place, where it violates the
    schema. It may have no kernel.
    """
    warnings: list[str] = []
    env = read_env(path / "env.json")

    def read(name: str) -> pd.DataFrame:
        version = env["schema_version"]
        return read_csv(path / name, rules(), warnings, strict=True, empty=True, version=version)

    kernels, arms = read("kernels.csv"), read("arms.csv")
    launch_rows = read("launches.csv") if launches else None
    caps = None
    if (path / "registers.csv").exists():
        caps = read("registers.csv")
        twice = caps.duplicated(["kernel_id", "register_cap"])
        refuse("registers.csv", caps, "kernel_id", twice, "has this cap twice")
    refuse("kernels.csv", kernels, "kernel_id", kernels["kernel_id"].duplicated(), "stands there twice")
    twice = arms.duplicated([c for c in ("kernel_id", "arm", "blocks_per_sm", "sm_count") if c in arms])
    refuse("arms.csv", arms, "kernel_id", twice, "has this arm twice")
    for name, rows in (("arms.csv", arms), ("launches.csv", launch_rows), ("registers.csv", caps)):
        if rows is not None:
            refuse(
                name, rows, "kernel_id", ~rows["kernel_id"].isin(kernels["kernel_id"]), "is not a kernel's"
            )
    whole = {gpu.get("uuid"): gpu.get("sm_count") for gpu in env["gpus"]}
    sms = kernels["sm_count"]
    kernels["part_sms"] = sms.where((sms > 0) & (sms < pd.to_numeric(kernels["gpu_uuid"].map(whole))))
    kernels["kernel"] = kernels["kernel"].fillna(kernels["symbol"]).fillna("(no name)")
    kernels[["verdict", "why", "next_step"]] = kernels[["verdict", "why", "next_step"]].fillna("")
    return Attached(path, env, kernels, launch_rows, caps, warnings)


def read_env(path: Path) -> dict[str, Any]:
    """env.json, checked to have the lists that are shown. Raises OSError or ValueError."""
    try:
        env = parse_json(read_untrusted(path).decode("utf-8"))
    except ValueError as error:
        raise ValueError(f"env.json: not JSON: {error}") from error
    if not isinstance(env, dict):
        raise ValueError("env.json: not an object")
    check_version("env.json", env.get("schema_version"))
    check_types(env, rules())
    rename_fields(env, rules()["files"]["env.json"]["fields"])
    for name in ("program", "gpus", "processes", "complaints"):
        if env.get(name) is None:
            raise ValueError(f"env.json: {name} is missing")
    return env
