# SPDX-License-Identifier: Apache-2.0
"""Shared by all commands: parsers, the default folder, and exit codes."""

import argparse
import contextlib
import functools
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TextIO

from occbench_tools.escape import printable
from occbench_tools.lines import for_terminal, print_error, reason
from occbench_tools.untrusted_files import walk_folders

Main = Callable[[list[str] | None], int]
RESULTS = Path("results")


def no_relative_path() -> None:
    """Drops '.' and empty entries from PATH: no program is run because it lies in the working folder."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, folders)) or os.defpath


class CommandError(Exception):
    """The command's one line on stderr, and its exit code."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.code = code


class Parser(argparse.ArgumentParser):
    """Its errors quote arguments, which shell patterns may have made from file names."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, for_terminal(f"{self.prog}: {printable(message)}; see `{self.prog} --help`") + "\n")

    def print_help(self, file: TextIO | None = None) -> None:
        """argparse's own ignores a full disk."""
        print(self.format_help(), end="", file=file or sys.stdout, flush=True)


def parser_of(word: str, description: str, example: str) -> argparse.ArgumentParser:
    """The parser of `occbench WORD`; its help ends with an example."""
    return Parser(
        prog=f"occbench {word}",
        description=textwrap.fill(description, 79),
        epilog=f"Example\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_folder(
    parser: argparse.ArgumentParser, many: bool = False, holds: str = "cases.csv, env.json"
) -> None:
    """DIR, or DIR... if `many`: `folder` or `folders`, for folder_of() or folders_of()."""
    words = f"a run's folder, with {holds} (default: the newest under ./{RESULTS})"
    name, count = ("folders", "*") if many else ("folder", "?")
    parser.add_argument(name, metavar="DIR", type=Path, nargs=count, help=words)


RUNS = ("cases.csv",)  # a folder with one of them is a run's
ALL = (*RUNS, "kernels.csv")  # or of `occbench attach`


def newest(program: str, without: str = "", of: tuple[str, ...] = RUNS) -> Path:
    """The folder under ./results whose file of `of` is the newest, and that has no file `without`.

    Says on stderr which. Raises CommandError.
    """
    unread: list[str] = []
    try:
        found = [
            ((where / name).stat().st_mtime_ns, where)
            for where, _, files in (walk_folders(RESULTS, unread) if RESULTS.is_dir() else ())
            for name in of
            if name in files and not (without and without in files)
        ]
    except OSError as error:
        raise CommandError(4, f"{reason(RESULTS, error)}; name a folder") from None
    if unread:  # the newest may lie there
        raise CommandError(4, f"{unread[0]}; name a folder")
    if not found:
        raise CommandError(4, f"no results under ./{RESULTS}; name a folder, or make one: occbench run")
    folder = max(found)[1]
    print_error(program, f"{folder}, the newest")
    return folder


def folder_of(options: argparse.Namespace, program: str) -> Path:
    """The named folder, or the newest. Raises CommandError."""
    return options.folder or newest(program)


def folders_of(options: argparse.Namespace, program: str, of: tuple[str, ...] = RUNS) -> list[Path]:
    """The named folders, or the newest alone. Raises CommandError."""
    return options.folders or [newest(program, of=of)]


def occbench() -> Path | None:
    """The measuring program: $OCCBENCH, on the PATH, beside this Python, or the newest built here; None."""
    beside = shutil.which("occbench", path=os.path.dirname(sys.executable))
    if named := os.environ.get("OCCBENCH") or shutil.which("occbench") or beside:
        return Path(named)
    built = Path(__file__).resolve().parents[2].glob("build/*/benchmarks/occbench")
    return max(built, key=lambda path: path.stat().st_mtime, default=None)


@contextlib.contextmanager
def reading(where: Path) -> Iterator[None]:
    """Raises CommandError, with exit code 4, where reading or writing within the block fails."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CommandError(4, reason(where, error)) from error


def relative(path: Path) -> Path:
    """The path relative to the working folder, where it is below."""
    here = Path.cwd()
    return path.resolve().relative_to(here) if path.resolve().is_relative_to(here) else path


class Output(io.TextIOWrapper):
    """Standard output whose errors name it, so that commands do not blame their input."""

    def write(self, text: str) -> int:
        with named_output():
            return super().write(text)

    def flush(self) -> None:
        with named_output():
            super().flush()


@contextlib.contextmanager
def named_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = error.filename or "standard output"
        raise


def entry(program: str) -> Callable[[Main], Main]:
    """Makes a main() end as a command should: silently with 141 on a broken pipe, 130 when interrupted."""

    def decorate(main: Main) -> Main:
        @functools.wraps(main)
        def run(arguments: list[str] | None = None) -> int:
            no_relative_path()
            if sys.stdout is None:
                print_error(program, "standard output: closed")
                return 4
            if type(sys.stdout) is io.TextIOWrapper:
                old = dict(encoding=sys.stdout.encoding, line_buffering=sys.stdout.line_buffering)
                sys.stdout = Output(sys.stdout.detach(), **old)
            if isinstance(sys.stdout, io.TextIOWrapper):  # which may lack signs of a name
                sys.stdout.reconfigure(errors="backslashreplace")
            try:
                try:
                    return main(arguments)
                finally:
                    sys.stdout.flush()
            except CommandError as refused:
                print_error(program, refused)
                return refused.code
            except BrokenPipeError:  # as `| head` leaves it
                drop_stdout()
                return 141
            except KeyboardInterrupt:
                print_error(program, "interrupted")
                return 130
            except OSError as error:
                drop_stdout()
                print_error(program, reason("standard output", error))
                return 4

        return run

    return decorate


def drop_stdout() -> None:
    """Discards what is still buffered, which Python would try to write again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
