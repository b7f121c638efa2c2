# SPDX-License-Identifier: Apache-2.0
"""Puts liboccbench.so into the wheel, and liboccbench_inspect.so where there is one: those at and beside
OCCBENCH_LIBRARY, or what CMake builds for it."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "liboccbench.so"
INSPECT = "liboccbench_inspect.so"  # not built without libelf, liblz4 and libzstd


class Hook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        library = os.environ.get("OCCBENCH_LIBRARY")
        if not library:
            self.folder = tempfile.TemporaryDirectory()
            source = Path(self.root).parent / "harness/c_api"
            subprocess.run(["cmake", "-S", source, "-B", self.folder.name], check=True)
            subprocess.run(["cmake", "--build", self.folder.name], check=True)
            library = str(Path(self.folder.name) / NAME)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
        build_data["force_include"][library] = f"occbench/{NAME}"
        beside = Path(library).with_name(INSPECT)
        if beside.exists():
            build_data["force_include"][str(beside)] = f"occbench/{INSPECT}"
