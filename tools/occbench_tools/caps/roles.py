# SPDX-License-Identifier: Apache-2.0
"""Splits of a launch's registers between the warps of a block that moves them (setmaxnreg)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from occbench_tools.caps.builds import Build
from occbench_tools.caps.ptx import Limit
from occbench_tools.caps.ptx import requests as requests_of
from occbench_tools.caps.toolchain import Script
from occbench_tools.command import CommandError
from occbench_tools.inspect_lines.listing import read_listing
from occbench_tools.inspect_lines.pressure import mark_spills
from occbench_tools.inspect_lines.roles import LEAST, MOST, UNIT, Pool, pool_of
from occbench_tools.lines import print_error
from occbench_tools.sass import Failure, Skip

MOST_SPLITS = 24  # that are built if none is named


def pool_of_build(build: Build, kernel: str, arch: str, block_size: int) -> Pool | None:
    """The warp roles of a build's kernel and their register requests. Raises CommandError."""
    if not build.cubin or kernel not in build.uses:
        return None
    try:
        listing = read_listing(build.cubin, arch, kernel)
    except Skip as missing:
        raise CommandError(5, str(missing)) from None
    except Failure as unreadable:
        raise CommandError(1, str(unreadable)) from None
    use = build.uses[kernel]
    row = {
        "block_size": block_size,
        "registers_per_thread": use.registers,
        "spill_bytes": use.spill_bytes,
    }
    mark_spills(listing, row, [])
    return pool_of(listing, row)


@dataclass(frozen=True)
class Requests:
    """The register requests of the source's roles, and the bounds within which each may change."""

    counts: tuple[int, ...]
    warpgroups: tuple[int, ...]  # of each role
    actions: dict[int, set[str]]  # 'inc', 'dec' or both; other roles keep the launch's registers

    def bounds(self, launch: int) -> list[range]:
        """The bounds by role: .dec cannot exceed the launch's `launch` registers, .inc not go below them."""
        found = []
        for count in self.counts:
            actions = self.actions.get(count)
            least = launch if actions is None or "inc" in actions else LEAST
            most = launch if actions is None or "dec" in actions else MOST
            found.append(range(least, most + 1, UNIT))
        return found

    def why_not(self, split: tuple[int, ...], launch: int) -> str:
        """Why a split is not legal; empty where it is."""
        if len(split) != len(self.counts):
            return f"the kernel has {len(self.counts)} warp roles: {'/'.join(map(str, self.counts))}"
        if any(new not in bound for new, bound in zip(split, self.bounds(launch), strict=True)):
            return (
                f"a request is a multiple of {UNIT} from {LEAST} to {MOST}, "
                f"at most the launch's {launch} after .dec and no fewer after .inc"
            )
        if len(set(zip(self.counts, split, strict=True))) != len(set(self.counts)):
            return "roles that ask for as many registers in the source do so in each split"
        requested = self.total_request(split)
        allocated = launch * sum(self.warpgroups)
        return (
            f"it asks for {requested} registers, and the launch has {allocated}"
            if requested > allocated
            else ""
        )

    def total_request(self, split: tuple[int, ...]) -> int:
        return sum(n * groups for n, groups in zip(split, self.warpgroups, strict=True))

    def splits(self, launch: int) -> Iterator[tuple[int, ...]]:
        """The legal splits in which no role could have more unless another had fewer."""
        kinds = list(dict.fromkeys(self.counts))
        bounds = dict(zip(self.counts, self.bounds(launch), strict=True))
        groups = {
            kind: self.total_request(tuple(int(count == kind) for count in self.counts)) for kind in kinds
        }
        *others, last = sorted(kinds, key=lambda kind: len(bounds[kind]))
        allocated = launch * sum(self.warpgroups)
        for chosen in product(*(bounds[kind] for kind in others)):
            new = dict(zip(others, chosen, strict=True))
            rest = allocated - sum(n * groups[kind] for kind, n in new.items())
            new[last] = min(rest // groups[last] // UNIT * UNIT, bounds[last][-1])
            room = rest - new[last] * groups[last]
            is_full = all(n == bounds[kind][-1] or groups[kind] * UNIT > room for kind, n in new.items())
            if new[last] in bounds[last] and is_full:
                yield tuple(new[count] for count in self.counts)

    def nearest(self, launch: int) -> tuple[list[tuple[int, ...]], int]:
        """At most MOST_SPLITS of splits(), those that change least; and the number of all."""

        def registers_moved(split: tuple[int, ...]) -> int:
            changes = (abs(new - old) for new, old in zip(split, self.counts, strict=True))
            return self.total_request(tuple(changes))

        found = sorted(self.splits(launch), key=registers_moved)
        return sorted(found[:MOST_SPLITS]), len(found)

    def limit(self, split: tuple[int, ...]) -> Limit:
        return Limit(requests=tuple(zip(self.counts, split, strict=True)))


def kernel_with_roles(own: Build, names: frozenset[str]) -> str:
    """The one kernel with setmaxnreg in its code. Raises CommandError."""
    found = [name for name, use in own.uses.items() if name in names and use.requests]
    if not found:
        remark = f": {own.remark}" if own.remark else ""
        raise CommandError(2, f"no kernel moves registers between its warps (setmaxnreg){remark}")
    if len(found) > 1:
        raise CommandError(
            2, f"--roles takes one kernel, and {len(found)} move registers; --kernel names one"
        )
    return found[0]


def read_requests(script: Script, own: Build, kernel: str) -> Requests:
    """The requests of the source as it is, whose pool has been read. Raises CommandError."""
    if own.pool is None:
        raise CommandError(2, "its blocks are not of whole warpgroups (128 threads): who asks cannot be read")
    if not own.pool.is_read:
        raise CommandError(2, "which warpgroup takes which branch before setmaxnreg cannot be read")
    actions: dict[int, set[str]] = {}
    for step in script.ptxas:
        text = step.ptx.read_text(encoding="utf-8", errors="replace")
        for count, action in requests_of(text, kernel).items():
            actions.setdefault(count, set()).update(action)
    counts = tuple(role.request for role in own.pool.roles)
    if not set(actions) <= set(counts):
        raise CommandError(2, "a warpgroup asks for registers more than once: its splits are not tried")
    return Requests(counts, tuple(len(role.warpgroups) for role in own.pool.roles), actions)


def launch_registers(requests: Requests, own: Build, kernel: str, build: Callable[[Limit], Build]) -> int:
    """Registers per thread at the launch. ptxas gives at most the largest request: a build asks for MOST."""
    at_launch, largest = own.pool.own, max(requests.counts)
    if at_launch < largest or "inc" not in requests.actions.get(largest, ()):
        return at_launch
    widest = build(requests.limit(tuple(MOST if n == largest else n for n in requests.counts)))
    use = widest.uses.get(kernel)
    return -(-use.registers // UNIT) * UNIT if use else at_launch


def chosen_splits(requests: Requests, launch: int, named: str) -> list[tuple[int, ...]]:
    """The splits in `named`, as '24/240,40/232', else the legal ones. Raises CommandError."""
    if not named:
        splits, count = requests.nearest(launch)
        if count > len(splits):
            nearest = f"the {len(splits)} nearest to the source's of {count} legal splits; name others"
            print_error(
                "occbench caps", f"--roles tries {nearest}: --roles {'/'.join(map(str, splits[0]))},..."
            )
        return splits
    found = []
    for text in named.split(","):
        words = text.split("/")
        if not all(word.isdecimal() and len(word) <= 3 for word in words):
            raise CommandError(2, f"--roles wants splits as 24/240, not '{text}'")
        found.append(tuple(map(int, words)))
        if why_not := requests.why_not(found[-1], launch):
            raise CommandError(2, f"--roles {text}: {why_not}")
    return found
