# SPDX-License-Identifier: Apache-2.0
"""Lessons on what limits the blocks of an SM: sections 4.7, 4.8 and 5.6."""

from occbench_tools.teach import answers
from occbench_tools.teach.answers import KIB
from occbench_tools.teach.calculator import Footprint
from occbench_tools.teach.lesson import Chart, Lesson

RESOURCES = (
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
        may_be_negative=True,
        figures=answers.cost_of_cliff,
        explain=(
            ("answer >= 10 and fma > -3 and fma < 3",
                "From {last} to {over} registers loads lose {answer}; a chain of FMAs loses {fma}. "
                "Occupancy went from {occupancy} to {lower}. The cliff is real for a kernel that needs "
                "warps to hide latency, and flat for one that does not."),
            ("answer > 3 and fma > -3 and fma < 3",
                "From {last} to {over} registers loads lose {answer}; a chain of FMAs loses {fma}. "
                "Occupancy went from {occupancy} to {lower}, but most of what loads need is in flight all "
                "the same: a step rather than a cliff."),
            ("answer > -3 and answer < 3 and fma > -3 and fma < 3",
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
        given=answers.rounded_footprint_figures,
        figures=answers.register_units,
        explain=(
            ("answer < divided",
                "{answer}; plain division gives {divided}. Registers are given to warps in units of 256: "
                "a block takes {room}, not {asked}. The 65,536 registers are four files, one for each "
                "scheduler of the SM. Each file holds whole warps only, so {warps} warps fit."),
            ("", "{answer}, and plain division gives {divided}."),
        ),
        mistakes=(
            ("divided",
                "You divided. Registers are given out in units of 256 per warp, and not from one pool: "
                "each scheduler of the SM has a register file of its own."),
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
                "None: the launch fails, though plain division promises {promised}. The 65,536 registers "
                "are four files, one for each scheduler of the SM. Each file holds two warps of this size, "
                "eight in all, and 320 threads are ten warps. With 256 threads {one} block fits."),
            ("", "{answer} on this GPU."),
        ),
        mistakes=(
            ("divided",
                "You divided 65,536 by 64,000. The registers are not one file: an SM has four, and each "
                "holds whole warps only."),
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
                "That is the limit of one block that has not asked for more; the SM has more for all its "
                "blocks."),
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
        given=answers.reserve_figures,
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
            "Which matrix product is faster, each at the occupancy where it runs fastest? 1: tiles of "
            "16 x 16, one result per thread. 2: 8 x 8 results per thread in registers, which leave room "
            "for fewer warps. 3: the same within 5 %."
        ),
        choices=("tiles of 16 x 16", "8 x 8 results per thread", "the same within 5 %"),
        unit="choice",
        figures=answers.tiles,
        explain=(
            ("answer = 2 and part < full",
                "The one with 8 x 8 results per thread is {times} times as fast. It runs fastest at {part} "
                "occupancy, tiles of 16 x 16 at {full}. A value that it reads from shared memory serves "
                "eight results. What a warp does counts before how many there are."),
            ("answer = 2",
                "The one with 8 x 8 results per thread is {times} times as fast. It runs fastest at {part} "
                "occupancy, tiles of 16 x 16 at {full}."),
            ("",
                "8 x 8 results per thread are {times} times as fast as tiles of 16 x 16. They run fastest "
                "at {part} occupancy, the tiles at {full}."),
        ),
        attempt="occbench explain DIR tiled_matmul",
        chart=Chart("tiled_matmul", "occupancy_theoretical", "TFLOP/s", ("^textbook", "^register")),
        cases=r"tiled_matmul\..*(textbook-tile16|register-8x8)\..*",
        footprints=(Footprint(256, 32, 2 * KIB), Footprint(1024, 32, 8 * KIB), Footprint(64, 32, 512)),
    ),
)  # fmt: skip
