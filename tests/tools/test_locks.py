# SPDX-License-Identifier: Apache-2.0
"""tools/locks holds what pyproject.toml asks for: `tools/lock` writes it anew."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "tools/locks"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
GROUPS = PYPROJECT["dependency-groups"]
RUN = PYPROJECT["project"]["dependencies"]


def group(name: str) -> list[str]:
    asked = GROUPS[name]
    inside = [pin for each in asked if isinstance(each, dict) for pin in group(each["include-group"])]
    return [pin for pin in asked if isinstance(pin, str)] + inside


ASKED = {
    "use": RUN + EXTRAS["report"],
    "test": RUN + [pin for pins in EXTRAS.values() for pin in pins] + group("docs") + group("test"),
    **{name: group(name) for name in ("calculator", "cmake", "cuda", "release", "uv")},
}


def entries(lock: str) -> list[str]:
    """Each requirement with its hashes and with the comment that says who asks for it."""
    text = (LOCKS / f"{lock}.txt").read_text()
    return re.findall(r"^\S.*(?:\n +.*)*", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE), re.MULTILINE)


def versions(lock: str) -> dict[str, str]:
    return dict(re.split("==", entry.split()[0]) for entry in entries(lock))


def test_each_group_has_its_lock() -> None:
    assert set(ASKED) == {path.stem for path in LOCKS.iterdir()}
    assert set(ASKED) == set(GROUPS) - {"docs"} | {"use"}  # docs is for work on the tree, as test


@pytest.mark.parametrize("lock", ASKED)
def test_locks_contain_every_requirement(lock: str) -> None:
    held = versions(lock)
    for asked in ASKED[lock]:
        name, _, rest = re.match(r"([a-z0-9-]+)(\[.*\])?(.*)", asked).groups()
        assert name == "occbench" or name in held, "run tools/lock"
        if rest.startswith("=="):
            assert held[name] == rest[2:], "run tools/lock"
    by_us = {re.split(r"[\[=<>]", asked)[0] for asked in ASKED[lock]}
    ours = re.compile(r"(via|# ) +(occbench \(|pyproject\.toml:)")
    assert {entry.split("==")[0] for entry in entries(lock) if ours.search(entry)} <= by_us, "run tools/lock"


@pytest.mark.parametrize("lock", ASKED)
def test_versions_have_hashes_and_no_url(lock: str) -> None:
    for entry in entries(lock):
        assert re.match(r"[a-z0-9._-]+==[^ ]+ (;.+ )?\\\n +--hash=sha256:[0-9a-f]{64}", entry)
        assert "://" not in entry and "index-url" not in entry


def test_scripts_install_only_hashed_packages() -> None:
    """Or is a file that lies there already."""
    scripts = [
        *(ROOT / "tools").iterdir(),
        *(ROOT / ".github/workflows").iterdir(),
        ROOT / "Containerfile",
        ROOT / ".ci/run",
    ]
    called = [
        f"{script.name}: {line.strip()}"
        for script in scripts
        if script.is_file()
        for line in script.read_text().splitlines()
        if re.search(r"\bpip3? (install|download)\b|pipx|uvx|venv_pip install", line)
        and line.strip()[0] not in "#"
    ]
    said = ("say ", "die ", "sh -c", "grep ")
    called = [line for line in called if not any(word in line for word in said) or "--quiet" in line]
    assert called
    assert [line for line in called if "--require-hashes" not in line and "--no-index" not in line] == []


def test_user_versions_match_tested_versions() -> None:
    use, test = versions("use"), versions("test")
    assert {name: test.get(name) for name in use} == use, "run tools/lock"


def test_users_get_ranges_and_the_checkout_exact_versions() -> None:
    for asked in [*RUN, *(pin for pins in EXTRAS.values() for pin in pins)]:
        assert asked.startswith("occbench[") or re.fullmatch(r"[a-z-]+>=[\d.]+,<\d+", asked), asked
    assert [pin for name in GROUPS for pin in group(name) if "==" not in pin] == []


def test_cuda_packages_share_one_version() -> None:
    """For `cuda-toolkit[nvcc]` alone pip takes crt and nvvm of a newer one, whose PTX this ptxas refuses."""
    held = versions("cuda")
    release = held.pop("cuda-toolkit")
    disassemblers = {held.pop("nvidia-cuda-cuobjdump"), held.pop("nvidia-cuda-nvdisasm")}
    assert len(disassemblers) == 1  # which read the code of every older toolkit
    compiler = {"nvidia-cuda-cccl", "nvidia-cuda-crt", "nvidia-cuda-cupti", "nvidia-cuda-nvcc", "nvidia-nvvm"}
    compiler |= {"nvidia-cuda-profiler-api", "nvidia-cuda-runtime", "nvidia-nvtx"}
    assert set(held) == compiler
    of_one = ".".join(release.split(".")[:2])
    assert {".".join(version.split(".")[:2]) for version in held.values()} == {of_one}
    assert f"PYPI_CUDA={of_one} " in (ROOT / "tools/lib.sh").read_text()
