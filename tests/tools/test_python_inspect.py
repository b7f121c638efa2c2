# SPDX-License-Identifier: Apache-2.0
"""occbench.inspect(): what the program reads of binaries, in Python; and what cannot be read."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("numpy")

import occbench
from made_up import REPOSITORY
from occbench.library import NAME, path_of_library
from pages import built

try:
    LIBRARY = path_of_library()
except ImportError:
    LIBRARY = None
pytestmark = pytest.mark.skipif(not LIBRARY, reason=f"no {NAME} is built")

CUBIN = REPOSITORY / "tests/samples/inspect.cubin"
FORMS = REPOSITORY / "tests/forms"
CORPUS = REPOSITORY / "tests/fuzz/corpus/binaries"
COLUMNS = {
    "kernel": "name",
    "file": "file",
    "architecture": "architecture",
    "registers_per_thread": "registers",
    "static_smem_bytes": "static_smem",
    "stack_bytes": "stack",
    "spill_bytes": "spill_bytes",
    "has_local_array": "has_local_array",
    "barriers": "barriers",
    "virtual_resources": "virtual_resources",
    "tensor_columns": "tensor_columns",
    "is_linked": "is_linked",
    "launch_bound": "launch_bound",
    "cluster_size": "cluster_size",
    "code_bytes": "code_bytes",
}


def cell(value: object) -> str:
    return "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


@pytest.mark.skipif(not built(), reason="no occbench is built")
@pytest.mark.filterwarnings("ignore:.*has sections of GPU code that overlap")  # one file of the corpus
@pytest.mark.parametrize("path", [CUBIN, CORPUS, FORMS, built()], ids=["cubin", "corpus", "forms", "program"])
def test_matches_the_program(path: Path) -> None:
    words = [built(), "inspect", path, "--block-size", "256", "--format", "csv"]
    said = list(csv.DictReader(io.StringIO(subprocess.run(words, capture_output=True, text=True).stdout)))
    kernels = occbench.inspect(path)
    assert len(said) == len(kernels) > 8
    for column, field in COLUMNS.items():
        assert [row[column] for row in said] == [cell(getattr(kernel, field)) for kernel in kernels], column
    plain = [n for n, kernel in enumerate(kernels) if kernel.block_size is None]
    found = occbench.occupancy(
        [kernels[n].device for n in plain],
        block_size=256,
        registers=[kernels[n].registers for n in plain],
        static_smem=[kernels[n].static_smem or 0 for n in plain],
        dynamic_smem=[kernels[n].dynamic_smem or 0 for n in plain],
        barriers=[kernels[n].barriers or 0 for n in plain],
        cluster_size=[kernels[n].cluster_size or 1 for n in plain],
        max_block_size=[kernels[n].launch_bound or 1024 for n in plain],
        virtual_resources=[kernels[n].virtual_resources for n in plain],
    )
    assert [float(said[n]["occupancy"]) for n in plain] == found.occupancy.tolist()


def test_fields() -> None:
    kernels = {kernel.name.split("(")[0]: kernel for kernel in occbench.inspect(str(CUBIN))}
    assert len(kernels) == 9
    bounded, any_barrier, array = kernels["bounded"], kernels["any_barrier"], kernels["local_array"]
    assert (bounded.launch_bound, bounded.mangled, bounded.device) == (128, "_Z7boundedPf", "cc9.0")
    assert any_barrier.barrier_id_at_run_time and any_barrier.barriers == 16
    assert array.has_local_array and array.spill_bytes == 0 and array.stack > 0
    assert kernels["shared"].static_smem == 12000 and bounded.constant_bytes["0"] > 0


def test_triton_cache(tmp_path: Path) -> None:
    shutil.copy(CUBIN, tmp_path / "k.cubin")
    (tmp_path / "k.json").write_text(json.dumps(dict(num_warps=4, shared=65536)))
    kernels = occbench.inspect(tmp_path)
    assert {(kernel.block_size, kernel.dynamic_smem) for kernel in kernels} == {(128, 65536)}


def test_kernels_convert_to_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(occbench.inspect(CUBIN))
    assert table.loc[table["registers"].idxmax(), "name"].startswith(("hungry", "local_array"))


def test_warns_about_damaged_file_and_reads_the_rest(tmp_path: Path) -> None:
    shutil.copy(CUBIN, tmp_path / "a.cubin")
    (tmp_path / "b.cubin").write_bytes(CUBIN.read_bytes()[:3000])
    with pytest.warns(UserWarning, match=r"b\.cubin.*is cut off"):
        assert len(occbench.inspect(tmp_path)) == 9


@pytest.mark.parametrize(
    ("content", "error", "sentence"),
    [
        (None, FileNotFoundError, "No such file"),
        (b"", ValueError, "is not a cubin, fatbin, object, archive, library or program"),
        (b"no ELF file", ValueError, "is not a cubin, fatbin, object, archive, library or program"),
        (CUBIN.read_bytes()[:3000] if CUBIN.exists() else b"", ValueError, "is cut off"),
    ],
    ids=["missing", "empty", "text", "cut"],
)
def test_bad_input(tmp_path: Path, content: bytes | None, error: type[Exception], sentence: str) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error, match=sentence):
        occbench.inspect(path)


def test_names_of_any_bytes(tmp_path: Path) -> None:
    damaged = CUBIN.read_bytes().replace(b"_Z5plain", b'_Z5\xff\xfe"\\n')
    path = tmp_path / os.fsdecode(b"\xff.cubin")
    path.write_bytes(damaged)
    assert any('\ufffd\ufffd"\\' in kernel.mangled for kernel in occbench.inspect(path))
