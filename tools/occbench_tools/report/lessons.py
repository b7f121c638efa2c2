# SPDX-License-Identifier: Apache-2.0
"""The lessons of occbench teach: what the text says, why the hardware does otherwise, and what to try.

Only what the text prints is quoted; every other number comes from `occbench calc` or from the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from occbench_tools.explain import MAIN
from occbench_tools.findings import Sentences
from occbench_tools.report.payload import Run

Answer = dict[str, Any]  # what `occbench calc --format json` says of one footprint


class Footprint(NamedTuple):
    """Registers per thread; threads, bytes of dynamic shared memory and barriers per block."""

    threads: int
    registers: int = 32
    smem: int = 0
    barriers: int = 1

    def words(self) -> str:
        """'512 threads, 33 registers'"""
        words = [f"{self.threads} threads", f"{self.registers} registers"]
        words += [f"{self.smem / 1024:g} KiB shared"] * (self.smem > 0)
        return ", ".join(words + [f"{self.barriers} barriers"] * (self.barriers > 1))

    def command(self, device: str) -> list[str]:
        """The words after `occbench` that ask for it."""
        words = f"calc --device {device} --block-size {self.threads} --registers {self.registers}".split()
        words += ["--dynamic-smem", str(self.smem)] * (self.smem > 0)
        return words + ["--barriers", str(self.barriers)] * (self.barriers > 1)


class Lesson(NamedTuple):
    """claim: the text's. why: prose, from the answers for its footprints on the text's device.

    experiment, x, y, show: the chart, `show`: patterns of its lines. measured: a sentence on one run.
    """

    id: str
    title: str
    source: str
    claim: str
    footprints: tuple[Footprint, ...]
    why: Callable[[list[Answer]], str]
    experiment: str
    x: str
    y: str
    show: tuple[str, ...]
    question: str
    attempt: tuple[str, ...]
    measured: Callable[[Run, str], str] = lambda run, experiment: " ".join(
        run.findings.get(experiment, Sentences([])).sentences[:MAIN]
    )


def rows_of(run: Run, experiment: str) -> pd.DataFrame:
    """The valid rows of one experiment."""
    return run.cases[run.cases["experiment"] == experiment]


def percent(fraction: float) -> str:
    """'62.5 %'"""
    return f"{100 * fraction:.3g} %"


def share(answer: Answer) -> str:
    """The exact occupancy."""
    return percent(answer["occupancy"])


def warps(answer: Answer) -> int:
    """The SM's warp slots."""
    return answer["warps_per_sm"] + answer["unused_per_sm"]["warps"]


def slots(answer: Answer) -> int:
    """The SM's block slots."""
    return answer["blocks_per_sm"] + answer["unused_per_sm"]["blocks"]


def smem_kib(answer: Answer) -> float:
    """Shared memory of the SM, KiB."""
    taken = answer["blocks_per_sm"] * answer["allocated_smem_per_block_bytes"]
    return (taken + answer["unused_per_sm"]["smem_bytes"]) / 1024


def never_launched(run: Run, _: str) -> str:
    """What the run met that could not launch, by its own words."""
    lost = run.lost[run.lost["status"] == "impossible"].dropna(subset="reason")
    reasons = lost[lost["reason"].str.contains("registers")]
    if lost.empty:
        return "Every case of this run could launch."
    example = (reasons if len(reasons) else lost).iloc[0]
    words = f"{len(lost)} cases of this run could not launch, `{example['case_id']}` among them"
    return f"{words}: {example['reason']}."


def little(run: Run, _: str) -> str:
    """Bytes in flight that idle latency asks for, and those that 90 % of the bandwidth really took."""
    reads = rows_of(run, "latency_hiding")
    reads = reads[(reads["form"] == "read") & reads["in_flight_bytes"].notna()]
    chase = rows_of(run, "pointer_chase")
    chase = chase[chase["variant"] == "dram"]
    sms = run.env["gpu"].get("sm_count")
    if reads.empty or chase.empty or not sms:
        return "This run lacks the reads or the idle latency that the law needs."
    top = reads["throughput"].max()
    row = chase.iloc[0]
    idle_s = (
        row["own_cycles_per_iteration" if row["own_cycles_per_iteration"] > 0 else "cycles_per_iteration"]
        / row["sm_clock_hz"]
    )
    enough = reads[reads["throughput"] >= 0.9 * top]
    took = enough.loc[enough["in_flight_bytes"].idxmin()]
    loaded_s = took["in_flight_bytes"] * sms / took["throughput"]
    return (
        f"Idle, a load took {1e9 * idle_s:.0f} ns; the best read, {top / 1e9:,.0f} GB/s, is "
        f"{top / sms / 1e9:.1f} GB/s for each of {sms} SMs. Their product asks for "
        f"{idle_s * top / sms / 1024:.1f} KiB in flight per SM. 90 % of the best took "
        f"{took['in_flight_bytes'] / 1024:.0f} KiB (`{took['variant']}`, {took['warps_per_sm']:.0f} "
        f"warps), as if each load took {1e9 * loaded_s:.0f} ns: {loaded_s / idle_s:.1f} times the idle "
        "latency."
    )


KIB = 1024
LESSONS = (
    Lesson(
        "block-slots", "Small blocks run out of slots", "PMPP 4.7",
        "An A100 holds 32 blocks, 64 warps and 2,048 threads per SM. Blocks of 32 threads use all block "
        "slots and only half of the threads; blocks of 768 leave 512 threads that no further block fits.",
        (Footprint(32), Footprint(96), Footprint(256), Footprint(768)),
        lambda a: f"Here plain division is right: what counts is whole blocks. {slots(a[0])} slots of "
        f"blocks of one warp give {share(a[0])}; of three warps {a[1]['blocks_per_sm']} blocks fit and "
        f"{a[1]['unused_per_sm']['warps']} warp slot stays empty, {share(a[1])}. Blocks of 768 are "
        f"{768 // 32} warps, and {warps(a[3])} / {768 // 32} rounded down is {a[3]['blocks_per_sm']}: "
        f"{share(a[3])}. Any size that divides the warp slots, from two warps on, fills the SM.",
        "block_size", "block_size", "best", ("^read-f32-4B-ilp1", "^two-operand-ilp1", "^read-f32-16B"),
        "Which block sizes over 512 threads fill an SM? Which of them would lose a third of it on a GPU "
        "with 1,536 threads per SM (compute capability 8.6)?",
        ("occbench calc --device cc8.6 --block-size 1024 --registers 32",),
    ),
    Lesson(
        "register-cliff", "Two registers that cost a quarter", "PMPP 4.7",
        "With blocks of 512 threads, 31 registers per thread let four blocks in; two more variables make "
        "it 33, and one block has to go. The text calls it a performance cliff.",
        (Footprint(512, 31), Footprint(512, 32), Footprint(512, 33), Footprint(512, 64)),
        lambda a: f"Registers are given to warps, {a[0]['allocated_registers_per_block']:,} to such a "
        "block of 31 registers per thread, exactly as many as of 32, and "
        f"{a[2]['allocated_registers_per_block']:,} of 33: rounded up in units. {a[0]['blocks_per_sm']} "
        f"blocks become {a[2]['blocks_per_sm']}, {share(a[0])} occupancy {share(a[2])}. With 64 registers "
        f"it is {share(a[3])}, and never more. Whether that costs time is another matter: look at both "
        "kernels below. Loads need the warps, a chain of FMAs does not.",
        "registers", "registers_per_thread", "best", ("^(load|fma), maxnreg, blocks of 512$",),
        "Where is the next cliff after 33 registers, and how many registers would have to go to climb back?",
        (
            "occbench calc --device a100 --block-size 512 --registers 33",
            "occbench run --experiment registers",
        ),
    ),
    Lesson(
        "register-units", "The cliff that plain division misplaces", "PMPP 4.7",
        "65,536 registers over threads times registers, rounded down to blocks: the text's rule for how "
        "many blocks fit.",
        (Footprint(512, 33), Footprint(256, 33), Footprint(128, 33), Footprint(64, 33)),
        lambda a: "At 512 threads the rule happens to be right. At 256 it says "
        f"{percent(a[1]['occupancy_textbook'])} and at 64 {percent(a[3]['occupancy_textbook'])}; the "
        f"hardware holds {a[1]['warps_per_sm']} warps, {share(a[1])}, however they are cut into blocks. 33 "
        f"registers take the room of {a[1]['allocated_registers_per_block'] // 256}: they are given out in "
        "units of 256 per warp, 8 per thread, and each of the four register files of an SM holds whole "
        "warps only.",
        "registers", "registers_per_thread", "GB/s", ("^load, maxnreg, blocks of (256|512)$",),
        "Between which two register counts do blocks of 256 lose their seventh block, by plain division "
        "and exactly?",
        ("occbench calc --device a100 --block-size 256 --registers 36",),
    ),
    Lesson(
        "shared-memory", "A kibibyte that nobody asked for", "PMPP 5.6",
        "A kernel with 32 KB of shared memory per block of 256 threads uses \u201c132 B/thread\u201d; an "
        "A100, with 164 KB per SM, holds 1,272 such threads: \u201c62 %\u201d occupancy.",
        (Footprint(256, 32, 32 * KIB), Footprint(256, 32, 31 * KIB), Footprint(256, 32, 27 * KIB)),
        lambda a: f"32 KiB over 256 threads are {32 * KIB // 256} B. Threads do not come one by one, but "
        f"in blocks: plain division of {smem_kib(a[0]):g} KiB gives {percent(a[0]['occupancy_textbook'])}, "
        "whole blocks counted. But the system takes 1 KiB of each block (from compute capability 8.0 on), "
        f"so that one takes {a[0]['allocated_smem_per_block_bytes'] / KIB:g} KiB and "
        f"{a[0]['blocks_per_sm']} fit: {share(a[0])}. One KiB less per block, and there are "
        f"{a[1]['blocks_per_sm']}: {share(a[1])}.",
        "shared_memory", "dynamic_smem_bytes", "best", ("",),
        "How much more shared memory could the block of 31 KiB take before it loses a neighbour?",
        ("occbench calc --device a100 --block-size 256 --registers 32 --dynamic-smem 31K",),
    ),
    Lesson(
        "tiles", "Full occupancy is not the goal", "PMPP 5.6",
        "The tiled matrix product with tiles of 16 x 16 takes 2 KB of shared memory per block of 256 "
        "threads, 8 bytes per thread: shared memory does not limit its occupancy.",
        (Footprint(256, 32, 2 * KIB), Footprint(1024, 32, 8 * KIB), Footprint(64, 32, 512)),
        lambda a: f"True, with the reserved KiB too: {share(a[0])}. Tiles of 32 x 32 fill the SM as well, "
        f"{share(a[1])}; tiles of 8 x 8, blocks of two warps, also do ({share(a[2])}). So all three look "
        "alike to a calculator. Compare their speed below, and that of the kernels that hold 4 x 4 or 8 x "
        "8 results per thread in registers, and so have fewer warps.",
        "tiled_matmul", "occupancy_theoretical", "TFLOP/s", ("^textbook", "^register"),
        "What occupancy has a kernel of 256 threads with 128 registers each? What does the model say of "
        "its speed with ILP 8?",
        ("occbench calc --device h200 --block-size 256 --registers 128 --predict compute --ilp 8",),
    ),
    Lesson(
        "no-launch", "Fits by division, does not launch", "beside PMPP 4.7",
        "By the text's rule 320 threads of 200 registers fit: they are 64,000 registers, and an SM has "
        "65,536.",
        (Footprint(320, 200), Footprint(256, 200), Footprint(256, 255)),
        lambda a: f"Exact: {share(a[0])}; it {a[0]['status']}. Plain division promises "
        f"{percent(a[0]['occupancy_textbook'])}. With {320 - 256} threads fewer, {share(a[1])}. The chart "
        "shows how the staircase ends: one block of 256 threads at 255 registers, and nothing between it "
        "and none.",
        "registers", "registers_per_thread", "GB/s", ("^load, maxnreg, blocks of 256$",),
        "How many registers may 320 threads have at most?",
        ("occbench calc --device a100 --block-size 320 --registers 168",),
        never_launched,
    ),
    Lesson(
        "barriers", "The limit that no table lists", "beside PMPP 4.7",
        "Threads, block slots, registers and shared memory limit residency: the text's list, and that of "
        "most calculators.",
        (Footprint(64), Footprint(64, barriers=4), Footprint(64, barriers=16)),
        lambda a: "An SM also has a set of named barriers. `__syncthreads()` takes one per block; a "
        "barrier whose number the compiler cannot know takes 16. On the text's A100 the calculator has no "
        f"such limit in its tables and gives {share(a[2])}; see the column of the device that was measured "
        "here.",
        "barriers", "warps_per_sm", "", ("^exchange$", "^named-runtime$"),
        "With how many barriers per block of 256 threads does the first block have to go?",
        ("occbench calc --device h200 --block-size 256 --registers 32 --barriers 8",),
    ),
    Lesson(
        "little", "How much must be in flight", "PMPP 4.6 and 4.7",
        "While warps wait for memory, others run: with enough warps latency is hidden. How many are enough?",
        (),
        lambda a: "Little's law: bytes in flight = bandwidth x latency, per SM. It does not ask for "
        "warps. A warp with four loads of 16 bytes under way counts as sixteen with one of 4, nearly: "
        "over bytes in flight the lines below fall together, over warps they do not (switch the axis). "
        "The latency is that under load, not that of one load alone.",
        "latency_hiding", "in_flight_bytes", "GB/s", ("^read-f32-(4|16)B-ilp[14]$", "^read-f32-8B-ilp1$"),
        "Which of these kernels has enough in flight with a quarter of the warps? Check in the chart, "
        "over resident warps.",
        ("occbench run --experiment latency_hiding,pointer_chase",),
        little,
    ),
)  # fmt: skip
