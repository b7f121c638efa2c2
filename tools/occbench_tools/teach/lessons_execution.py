# SPDX-License-Identifier: Apache-2.0
"""Lessons on blocks, warps and latency: sections 4.2 to 4.6."""

from functools import partial

from occbench_tools.teach import answers
from occbench_tools.teach.calculator import Footprint
from occbench_tools.teach.lesson import Chart, Lesson

EXECUTION = (
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
            "An SM holds all {warps} warps that it can, once in blocks of 64 threads and once in blocks of "
            "512. Each thread alternates one FMA and one __syncthreads(). Which takes longer for the same "
            "work? 1: blocks of 64. 2: blocks of 512. 3: the same within 5 %."
        ),
        choices=("blocks of 64", "blocks of 512", "the same within 5 %"),
        unit="choice",
        given=answers.all_warps,
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
            "throughput? (the fewest of {tried})"
        ),
        unit="warps",
        given=partial(answers.warp_counts, variant="two-operand-ilp1"),
        figures=answers.fma_warps,
        explain=(
            ("answer < most and dip_share < 90",
                "{answer} warps reach {share} of {best}; the SM holds {most}. An FMA waits only few "
                "cycles for the one before, so few warps keep the SM's four schedulers busy. More can be "
                "slower: {dip} warps reach {dip_share}. A scheduler serves its oldest warps first; those "
                "left over run last, too few to fill the gaps."),
            ("answer < most",
                "{answer} warps reach {share} of {best}; the SM holds {most}. An FMA waits only few "
                "cycles for the one before, so few warps keep the SM's four schedulers busy. Full "
                "occupancy is not needed."),
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
            "reach 90 % of the best throughput of this kernel? (the fewest of {tried})"
        ),
        unit="warps",
        given=partial(answers.warp_counts, variant="read-f32-4B-ilp1"),
        figures=answers.load_warps,
        explain=(
            ("share_before < 90 and answer < half",
                "{answer} warps reach {share} of {best}; {before} only {share_before}. A load waits "
                "hundreds of cycles. Even so {answer} of {most} warps ask for most of what the DRAM "
                "delivers to an SM."),
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
            "throughput, 90 % of the best that loads of 4 bytes reached? (the fewest of {tried})"
        ),
        unit="warps",
        given=partial(answers.warp_counts, variant="read-f32-16B-ilp4"),
        figures=answers.wide_warps,
        explain=(
            ("answer < narrow",
                "{answer} warps reach {share} of {best}, where loads of 4 bytes take {narrow}. What "
                "counts is bytes in flight: each thread has sixteen times as many. The best of the wide "
                "loads is {wide_best}."),
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
)  # fmt: skip
