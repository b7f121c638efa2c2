# SPDX-License-Identifier: Apache-2.0
"""The lab's lessons, in the order of the chapter: one entry each in LESSONS.

The first explanation whose condition holds is given, so that no sentence says what the rows do not.
Only what the text prints is quoted. The text is Hwu, Kirk and El Hajj, 'Programming Massively Parallel
Processors' (PMPP), 4th edition, chapter 4 and section 5.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from occbench_tools.teach import answers
from occbench_tools.teach.answers import KIB, Figures
from occbench_tools.teach.calculator import Footprint
from occbench_tools.teach.figures import Desk


class Chart(NamedTuple):
    """The picture of a lesson: an experiment, axes, and patterns of the lines that it shows."""

    experiment: str
    x: str
    y: str
    show: tuple[str, ...]


class Lesson(NamedTuple):
    """ask, explain and the texts of mistakes are templates over `figures`, whose 'answer' is the answer.

    explain: (condition, text) pairs. mistakes: (a figure, what one overlooks who answers with it).
    attempt: a command that shows it. precision: what the question rounds to; half of it is allowed on each
    side of the run's interval. choices: of a question without a number, counted from 1. cases: a regular
    expression of the case ids that its run needs. footprints: of the page's table.
    """

    id: str
    title: str
    source: str
    claim: str
    ask: str
    unit: str
    figures: Callable[[Desk], Figures]
    explain: tuple[tuple[str, str], ...]
    attempt: str
    chart: Chart
    precision: float = 0
    choices: tuple[str, ...] = ()
    mistakes: tuple[tuple[str, str], ...] = ()
    cases: str = ""
    footprints: tuple[Footprint, ...] = ()


LESSONS = (
    Lesson(
        id="one-more-block",
        title="One block more than a wave",
        source="PMPP 4.2",
        claim=(
            "Blocks are assigned to SMs; those that do not fit wait until others have ended."
        ),
        ask=(
            "An SM has room for one block of this kernel at a time, and a grid has one block per SM. You "
            "add one block to the grid. How many times as long does it take? (one decimal)"
        ),
        unit="times",
        precision=0.1,
        figures=answers.one_more_block,
        explain=(
            ("answer > 1.5",
                "{grid} blocks are one wave of this GPU. The one of {more} needs a second wave for a "
                "single block: {answer} times as long, with all other SMs idle. A block is never split "
                "over SMs."),
            ("",
                "{grid} blocks are one wave of this GPU, and a grid of {more} takes {answer} times as "
                "long."),
        ),
        mistakes=(
            ("shared",
                "You spread the work of the last block over all SMs. A block runs on one SM from start to"
                " end."),
        ),
        attempt="occbench explain DIR waves",
        chart=Chart("waves", "waves", "best", ("partial waves",)),
        cases=r"waves\..*\.r1\.g.*",
    ),
    Lesson(
        id="barriers",
        title="Waiting for the slowest warp",
        source="PMPP 4.3",
        claim=(
            "__syncthreads() holds every thread of a block until the last one has arrived."
        ),
        ask=(
            "An SM holds the same number of warps, once in blocks of 64 threads and once in blocks of "
            "512. Each thread alternates one FMA and one __syncthreads(). Which takes longer for the same "
            "work? 1: blocks of 64. 2: blocks of 512. 3: the same within 5 %."
        ),
        choices=("blocks of 64", "blocks of 512", "the same within 5 %"),
        unit="choice",
        figures=answers.barriers,
        explain=(
            ("answer = 1",
                "Blocks of 64 take longer: those of 512 do {times} times the work per second, with "
                "{warps} warps per SM each. Waiting costs more in large blocks, but each barrier costs "
                "the SM time, and small blocks have more of them."),
            ("answer = 2",
                "Blocks of 512 take longer: those of 64 do {inverse} times the work per second, with "
                "{warps} warps per SM each. A large block stops more warps at once, and no other block "
                "fills in."),
            ("",
                "With {warps} warps per SM, blocks of 512 do {times} times the work of blocks of 64: the "
                "same within 5 %."),
        ),
        attempt="occbench explain DIR barriers",
        chart=Chart("barriers", "block_size", "best", ("^sync-fma1",)),
        cases=r"barriers\..*sync-fma1\..*",
    ),
    Lesson(
        id="half-a-warp",
        title="Threads that fill no warp",
        source="PMPP 4.4",
        claim=(
            "A block is divided into warps of 32 threads; a last warp that is not full is padded with "
            "lanes that do nothing."
        ),
        ask=(
            "What occupancy do blocks of 48 threads have, as the percentage of warp slots that are taken?"
        ),
        unit="percent",
        precision=1,
        figures=answers.half_a_warp,
        explain=(
            ("",
                "48 threads take two warps. {blocks} blocks are {warps} warps: {answer} occupancy. In "
                "threads it would be less: a quarter of the lanes has no thread. Occupancy counts warps, "
                "full or not."),
        ),
        mistakes=(
            ("in_threads",
                "You counted threads. Occupancy is counted in warps, and a warp of 16 threads takes a "
                "whole slot."),
        ),
        attempt="occbench calc --device {device} --block-size 48 --registers 32",
        chart=Chart("block_size", "block_size", "best", ("^read-f32-4B-ilp1", "^two-operand-ilp1")),
        footprints=(Footprint(48), Footprint(64)),
    ),
    Lesson(
        id="one-lane",
        title="One lane takes the other branch",
        source="PMPP 4.5",
        claim=(
            "Lanes of a warp that take different branches run one after the other: control divergence."
        ),
        ask=(
            "Both branches of an if take equally long. One lane of 32 takes the else branch. How many "
            "times as long does the warp take as when no lane does? (one decimal)"
        ),
        unit="times",
        precision=0.1,
        figures=answers.one_lane,
        explain=(
            ("answer > 1.5 and sixteen > 1.5",
                "{answer} times as long with one lane apart, {sixteen} times with sixteen ({warps} warps "
                "per SM). A branch is issued for the warp as a whole: how many lanes take it does not "
                "matter."),
            ("",
                "{answer} times as long with one lane apart, {sixteen} times with sixteen ({warps} warps "
                "per SM)."),
        ),
        mistakes=(
            ("share",
                "You counted lanes. The warp issues the whole else branch, for one lane as for sixteen."),
        ),
        attempt="occbench explain DIR divergence",
        chart=Chart("divergence", "lanes_apart", "best", ("split-lane",)),
        cases=r"divergence\..*split-lane-.*",
    ),
    Lesson(
        id="fma-warps",
        title="Warps that hide arithmetic latency",
        source="PMPP 4.6",
        claim=(
            "An SM has more warps than it can issue from at once, so that others run while some wait."
        ),
        ask=(
            "Each thread runs one chain of dependent FMAs. How many warps per SM reach 90 % of the best "
            "throughput? (the fewest of 4, 8, 12, 16, 20, 24, 32, 40, 48 and 64)"
        ),
        unit="warps",
        figures=answers.fma_warps,
        explain=(
            ("answer < most",
                "{answer} warps reach {share} of {best}; the SM holds {most}. An FMA waits only few "
                "cycles for the one before, so few warps fill each scheduler's gap. Full occupancy is not"
                " needed."),
            ("", "It takes all {answer} warps to reach {share} of {best}."),
        ),
        mistakes=(
            ("most",
                "You took full occupancy to be needed. A scheduler needs only the warps that fill the few "
                "cycles of an FMA."),
        ),
        attempt="occbench explain DIR latency_hiding",
        chart=Chart("latency_hiding", "warps_per_sm", "best", ("^two-operand-ilp1$",)),
        cases=r"latency_hiding\..*two-operand-ilp1\..*",
    ),
    Lesson(
        id="load-warps",
        title="Warps that hide memory latency",
        source="PMPP 4.6",
        claim="While a warp waits for memory, the SM runs others: latency tolerance.",
        ask=(
            "Each thread reads 4 bytes from DRAM at a time and waits for them. How many warps per SM "
            "reach 90 % of the best throughput of this kernel? (the fewest of 4, 8, 12, 16, 20, 24, 32, 40, "
            "48 and 64)"
        ),
        unit="warps",
        figures=answers.load_warps,
        explain=(
            ("share_before < 90",
                "{answer} warps reach {share} of {best}; {before} only {share_before}. A load waits "
                "hundreds of cycles, and a warp has one of 128 bytes in flight: this kernel needs many "
                "warps."),
            ("",
                "{answer} warps reach {share} of {best}, already the fewest that were tried."),
        ),
        attempt="occbench explain DIR latency_hiding",
        chart=Chart("latency_hiding", "warps_per_sm", "GB/s", ("^read-f32-4B-ilp1$",)),
        cases=r"latency_hiding\..*read-f32-4B-ilp1\..*",
    ),
    Lesson(
        id="wide-loads",
        title="More bytes in flight per thread",
        source="Beyond PMPP 4.6",
        claim=(
            "Little's law: bytes in flight = bandwidth x latency. It does not ask for warps."
        ),
        ask=(
            "Now each thread has 4 loads of 16 bytes in flight. How many warps per SM reach the same "
            "throughput, 90 % of the best that loads of 4 bytes reached? (the fewest of 4, 8, 12, 16, 20, "
            "24, 32, 40, 48 and 64)"
        ),
        unit="warps",
        figures=answers.wide_warps,
        explain=(
            ("answer < narrow",
                "{answer} warps reach {share} of {best}, where loads of 4 bytes take {narrow}. What "
                "counts is bytes in flight: each thread has sixteen times as many. Its best is "
                "{wide_best}."),
            ("",
                "{answer} warps reach {share} of {best}, as many as with loads of 4 bytes."),
        ),
        mistakes=(
            ("narrow",
                "You counted warps. What has to be in flight is bytes, and each thread has sixteen times "
                "as many."),
        ),
        attempt="occbench explain DIR latency_hiding",
        chart=Chart("latency_hiding", "in_flight_bytes", "GB/s", ("^read-f32-(4B-ilp1|16B-ilp4)$",)),
        cases=r"latency_hiding\..*read-f32-(4B-ilp1|16B-ilp4)\..*",
    ),
    Lesson(
        id="block-slots",
        title="Very small blocks",
        source="PMPP 4.7",
        claim=(
            "An A100 holds 32 blocks, 64 warps and 2,048 threads per SM. Blocks of 32 threads use all "
            "block slots and only half of the threads; blocks of 768 leave 512 threads that no further "
            "block fits."
        ),
        ask=(
            "Blocks of 32 threads and 32 registers each: what is the occupancy of this GPU, in percent?"
        ),
        unit="percent",
        precision=1,
        figures=answers.small_blocks,
        explain=(
            ("answer < 100",
                "An SM has {slots} block slots and {warps} warp slots. {slots} blocks of one warp each "
                "are {answer}: the block slots run out first."),
            ("",
                "An SM has {warps} warp slots, and {slots} blocks of one warp fill them: {answer}."),
        ),
        mistakes=(
            ("all",
                "You left out the block slots: an SM holds a limited number of blocks, however small."),
        ),
        attempt="occbench calc --device {device} --block-size 32 --registers 32",
        chart=Chart("block_size", "block_size", "best", ("^read-f32-4B-ilp1", "^two-operand-ilp1")),
        footprints=(Footprint(32), Footprint(96), Footprint(256), Footprint(768)),
    ),
    Lesson(
        id="register-cliff",
        title="A register too many",
        source="PMPP 4.7",
        claim=(
            "With blocks of 512 threads, 31 registers per thread let four blocks in; two more variables "
            "make it 33, and one block has to go. The text calls it a performance cliff."
        ),
        ask=(
            "Blocks of 512 threads fill an SM of this GPU while they use few registers. From how many "
            "registers per thread on does one block fewer fit?"
        ),
        unit="registers",
        figures=answers.register_cliff,
        explain=(
            ("answer = book",
                "{answer}, as in the text: {blocks} blocks become {fewer}, and {occupancy} occupancy "
                "{lower}. Registers are given to warps in units: {held} to a block at {last} per thread, "
                "{room} at {answer}."),
            ("",
                "{answer}, not the text's {book}. Its A100 holds 64 warps per SM, this GPU {warps}. Here "
                "{blocks} blocks become {fewer} and {occupancy} occupancy {lower}: a block takes {held} "
                "registers at {last} per thread, {room} at {answer}."),
        ),
        mistakes=(
            ("book",
                "That is the cliff of the text's A100, whose SM holds 64 warps. This GPU's SM holds "
                "fewer."),
        ),
        attempt="occbench calc --device {device} --block-size 512 --registers 16",
        chart=Chart("registers", "registers_per_thread", "best", ("^(load|fma), maxnreg, blocks of 512$",)),
        footprints=(Footprint(512, 31), Footprint(512), Footprint(512, 33), Footprint(512, 64)),
    ),
    Lesson(
        id="cliff-cost",
        title="What the cliff costs",
        source="PMPP 4.7",
        claim=(
            "The text calls the loss of a block for two variables a performance cliff."
        ),
        ask=(
            "Blocks of 512 threads cross that cliff: one more register, one block fewer. By how many "
            "percent does the throughput of a kernel that only loads fall? (to the nearest 5)"
        ),
        unit="percent",
        precision=5,
        figures=answers.cost_of_cliff,
        explain=(
            ("answer > 3 and fma < 3",
                "From {last} to {over} registers loads lose {answer}; a chain of FMAs loses {fma}. "
                "Occupancy went from {occupancy} to {lower}. The cliff is real for a kernel that needs "
                "warps to hide latency, and flat for one that does not."),
            ("answer < 3 and fma < 3",
                "From {last} to {over} registers the throughput of loads changes by {answer} only, that "
                "of FMAs by {fma}: enough is in flight at {lower} occupancy too. A cliff of occupancy is "
                "not always one of speed."),
            ("",
                "From {last} to {over} registers loads lose {answer} and a chain of FMAs {fma}. Occupancy"
                " went from {occupancy} to {lower}."),
        ),
        mistakes=(
            ("lost",
                "You took throughput to fall as occupancy does. It falls only as far as warps are needed "
                "to hide latency."),
        ),
        attempt="occbench explain DIR registers",
        chart=Chart("registers", "registers_per_thread", "best", ("^(load|fma), maxnreg, blocks of 512$",)),
        cases=r"registers\..*maxnreg.*\.b512.*",
    ),
    Lesson(
        id="register-units",
        title="How many blocks the registers hold",
        source="PMPP 4.7",
        claim=(
            "65,536 registers over threads times registers, rounded down to blocks: the text's rule for "
            "how many blocks fit."
        ),
        ask=(
            "Blocks of {threads} threads with {registers} registers per thread: what is the occupancy of "
            "this GPU, in percent?"
        ),
        unit="percent",
        precision=0.5,
        figures=answers.register_units,
        explain=(
            ("answer < divided",
                "{answer}; plain division gives {divided}. Registers are given to warps in units of 256: "
                "a block takes {room}, not {asked}. Each of the four register files of an SM holds whole "
                "warps only, so {warps} warps fit."),
            ("", "{answer}, and plain division gives {divided}."),
        ),
        mistakes=(
            ("divided",
                "You divided. Registers are given out in units of 256 per warp, and each of four register"
                " files holds whole warps only."),
        ),
        attempt="occbench calc --device {device} --block-size {threads} --registers {registers}",
        chart=Chart("registers", "registers_per_thread", "GB/s", ("^load, maxnreg, blocks of (256|512)$",)),
        footprints=(Footprint(512, 33), Footprint(256, 33), Footprint(128, 33), Footprint(64, 33)),
    ),
    Lesson(
        id="no-launch",
        title="Threads with many registers",
        source="Beyond PMPP 4.7",
        claim=(
            "By the text's rule 320 threads of 200 registers fit: they are 64,000 registers, and an SM "
            "has 65,536."
        ),
        ask="How many blocks of 320 threads with 200 registers each fit on an SM?",
        unit="blocks",
        figures=answers.no_launch,
        explain=(
            ("answer = 0",
                "None: the launch fails, though plain division promises {promised}. Each of the four "
                "register files holds two warps of this size, eight in all, and 320 threads are ten "
                "warps. With 256 threads {one} block fits."),
            ("", "{answer} on this GPU."),
        ),
        mistakes=(
            ("divided",
                "You divided 65,536 by 64,000. The registers are four files, and each holds whole warps "
                "only."),
        ),
        attempt="occbench calc --device {device} --block-size 320 --registers 200",
        chart=Chart("registers", "registers_per_thread", "GB/s", ("^load, maxnreg, blocks of 256$",)),
        footprints=(Footprint(320, 200), Footprint(256, 200), Footprint(256, 255)),
    ),
    Lesson(
        id="shared-per-sm",
        title="Whose limit a device query prints",
        source="PMPP 4.8",
        claim="A program can ask its device for its limits: cudaGetDeviceProperties.",
        ask=(
            "sharedMemPerBlock says 48 KiB. How many KiB of shared memory does an SM have for all its "
            "resident blocks?"
        ),
        unit="KiB",
        precision=1,
        figures=answers.shared_per_sm,
        explain=(
            ("answer > block",
                "{answer} KiB, the field sharedMemPerMultiprocessor. sharedMemPerBlock is the limit of "
                "one block that has not asked for more, here {block} KiB."),
            ("", "{answer} KiB, as much as one block may have."),
        ),
        mistakes=(
            ("block",
                "That is the limit of one block, without opting in; the SM has more for all its blocks."),
        ),
        attempt="occbench devices --device {device}",
        chart=Chart("shared_memory", "dynamic_smem_bytes", "best", ("",)),
    ),
    Lesson(
        id="shared-memory",
        title="How many blocks the shared memory holds",
        source="PMPP 5.6",
        claim=(
            "A kernel with 32 KB of shared memory per block of 256 threads uses \u201c132 B/thread\u201d; an "
            "A100, with 164 KB per SM, holds 1,272 such threads: \u201c62 %\u201d occupancy."
        ),
        ask=(
            "How many blocks of 256 threads (32 registers each) with {kib} KiB of dynamic shared memory "
            "fit on an SM of this GPU?"
        ),
        unit="blocks",
        figures=answers.shared_memory,
        explain=(
            ("answer < divided",
                "{answer}, {occupancy} occupancy; plain division gives {divided}. Threads come in whole "
                "blocks, and the system takes {reserved} of each block (from compute capability 8.0 on): "
                "{taken} instead of {asked}."),
            ("",
                "{answer}, {occupancy} occupancy. A block takes {taken}: this GPU reserves nothing for "
                "the system, so that plain division is right. From compute capability 8.0 on it is 1 KiB "
                "more."),
        ),
        mistakes=(
            ("divided",
                "You divided. From compute capability 8.0 on the system takes 1 KiB of each block's "
                "shared memory."),
        ),
        attempt="occbench calc --device {device} --block-size 256 --registers 32 --dynamic-smem {kib}K",
        chart=Chart("shared_memory", "dynamic_smem_bytes", "best", ("",)),
        footprints=(Footprint(256, 32, 32 * KIB), Footprint(256, 32, 31 * KIB), Footprint(256, 32, 27 * KIB)),
    ),
    Lesson(
        id="tiles",
        title="Reuse or occupancy",
        source="PMPP 5.6",
        claim=(
            "The tiled matrix product with tiles of 16 x 16 takes 2 KB of shared memory per block of 256 "
            "threads, 8 bytes per thread: shared memory does not limit its occupancy."
        ),
        ask=(
            "Which matrix product is faster? 1: tiles of 16 x 16, one result per thread. 2: 8 x 8 results"
            " per thread in registers, which leave room for fewer warps. 3: the same within 5 %."
        ),
        choices=("tiles of 16 x 16", "8 x 8 results per thread", "the same within 5 %"),
        unit="choice",
        figures=answers.tiles,
        explain=(
            ("answer = 2 and part < full",
                "The one with 8 x 8 results per thread: {times} times as fast, at {part} occupancy "
                "against {full}. A value that it reads from shared memory serves eight results. What a "
                "warp does counts before how many there are."),
            ("answer = 2",
                "The one with 8 x 8 results per thread: {times} times as fast, at {part} occupancy "
                "against {full}."),
            ("",
                "8 x 8 results per thread are {times} times as fast as tiles of 16 x 16, at {part} "
                "occupancy against {full}."),
        ),
        attempt="occbench explain DIR tiled_matmul",
        chart=Chart("tiled_matmul", "occupancy_theoretical", "TFLOP/s", ("^textbook", "^register")),
        cases=r"tiled_matmul\..*(textbook-tile16|register-8x8)\..*",
        footprints=(Footprint(256, 32, 2 * KIB), Footprint(1024, 32, 8 * KIB), Footprint(64, 32, 512)),
    ),
)  # fmt: skip
