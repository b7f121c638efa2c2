# SPDX-License-Identifier: Apache-2.0
"""env.json of a folder that somebody sent, each of its fields of each other type: one line, exit code 4."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

import programs
from occbench_tools import compare, explain, report, schema
from occbench_tools.attached import folder as attached
from occbench_tools.folder import read_env, read_folder
from occbench_tools.untrusted_files import parse_json
from pages import H200

VALUES: list[Any] = [True, 7, 1.5, "x", [1], ["waves", 1], {"a": 1}]
Step = str | int


def paths(tree: object, before: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The places of all fields that the tree has, those of the first object of a list included."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree[:1]) if isinstance(tree, list) else ()
    for name, value in inner:
        yield (*before, name)
        yield from paths(value, (*before, name))


def at(tree: Any, path: tuple[Step, ...]) -> Any:  # noqa: ANN401
    for step in path:
        tree = tree[step]
    return tree


# Of free form: nothing but `occbench run` and people read what stands below.
FREE = ("method", "parameters", "counters", "assumed", "machine_code", "bands")


@pytest.mark.parametrize("kind", ["run", "attach"])
def test_rejects_fields_of_wrong_type_by_name(kind: str, tmp_path: Path) -> None:
    source = programs.write(tmp_path / "attached") if kind == "attach" else H200
    env = json.loads((source / "env.json").read_text())
    env = {name: value for name, value in env.items() if name not in FREE}
    if kind == "attach":
        del env["gpu"]  # a copy of the first of `gpus`, which is read
    rules = attached.rules() if kind == "attach" else schema.schema()
    schema.check_types(env, rules)
    passed = []
    for path in paths(env):
        old, inside = at(env, path), at(env, path[:-1])
        for value in VALUES:
            inside[path[-1]] = value
            try:
                schema.check_types(env, rules)
                if not (is_free(path) or may_be(old, value)):
                    passed.append((path, value))
            except ValueError as error:
                assert re.match(f"env.json: {path[0]}.{{,150}} is not of type", str(error)), error
        inside[path[-1]] = old
    assert passed == []


def is_free(path: tuple[Step, ...]) -> bool:
    """Whether the schema says nothing of the field: other checks come before, or it is shown and no more."""
    return path[0] in ("schema_version", "kind") or str(path[-1]).endswith("_lanes_per_sm")


def may_be(old: object, value: object) -> bool:
    """Whether a field that was `old` may be `value`: fields of no rule are welcome."""
    if isinstance(old, float):
        return type(value) in (int, float)
    return old is None or (type(value) is type(old) and value not in ([1], ["waves", 1]))


def read_as(read: Callable[[Path], object], file: Path, env: dict[str, Any]) -> str:
    """What the reader says; empty where it takes it."""
    file.write_text(json.dumps(env))
    try:
        read(file)
    except ValueError as error:
        return str(error)
    return ""


def test_experiments_of_an_older_schema(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).with_name("runs") / "schema-3", tmp_path / "run")
    env = json.loads((tmp_path / "run/env.json").read_text())
    said = read_as(read_env, tmp_path / "run/env.json", env | {"experiments": ["waves", 1]})
    assert said == "env.json: experiments[1]: 1 is not of type string"


@pytest.mark.parametrize("text", ["1" * 400, "-" + "9" * 21, "1e400", "-1e999", "1" * 5000])
def test_rejects_out_of_range_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="is out of range"):
        parse_json(f'{{"gpu": {{"sm_count": {text}}}}}')
    assert parse_json("[18446744073709551615, -1, 1e308]") == [2**64 - 1, -1, 1e308]


def test_json_with_a_byte_order_mark(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).with_name("runs") / "schema-3", tmp_path / "run")
    before = read_folder(tmp_path / "run").env
    text = (tmp_path / "run/env.json").read_bytes()
    (tmp_path / "run/env.json").write_bytes(b"\xef\xbb\xbf" + text)
    assert read_folder(tmp_path / "run").env == before


Said = pytest.CaptureFixture[str]
CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "gpu is a list": lambda env: env.update(gpu=["H200"]),
    "a UUID is a number": lambda env: env["gpus"][0].update(uuid=7),
    "a GPU's UUID is a list": lambda env: env["gpus"][0].update(uuid=[]),
    "a process's timing is an object": lambda env: env["processes"][0].update(timing={}),
    "a GPU's SMs are a word": lambda env: env["gpus"][0].update(sm_count="132"),
    "no object at all": lambda env: env.clear(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_folders_of_attach(what: str, tmp_path: Path, capsys: Said) -> None:
    folders = [programs.write(tmp_path / name) for name in ("good", "bad")]
    env = json.loads((folders[1] / "env.json").read_text())
    env.setdefault("gpu", dict(env["gpus"][0]))
    CHANGES[what](env)
    (folders[1] / "env.json").write_text(json.dumps(env))
    good, bad = map(str, folders)
    for main, words in (
        (compare.main, [good, bad]), (compare.main, [bad, good]), (explain.main, [bad]),
        (report.main, [bad, "--output", str(tmp_path / "page.html")]),
    ):  # fmt: skip
        code = main(words)
        said = capsys.readouterr().err
        assert (code in (2, 4), said.count("\n")) == (True, 1), (words, code, said)
        assert "env.json" in said or not env, said
