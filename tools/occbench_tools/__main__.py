# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools COMMAND [ARGUMENT]...: what `occbench COMMAND` starts, without the program."""

import sys

from occbench_tools.lines import print_error
from occbench_tools.start import TOOLS, start

usage = f"python -m occbench_tools COMMAND [ARGUMENT]...; COMMAND is one of {', '.join(sorted(TOOLS))}"
word = sys.argv.pop(1) if len(sys.argv) > 1 else ""
if word in ("-h", "--help"):
    print(usage)
    sys.exit(0)
if word not in TOOLS:
    print_error("occbench", f"'{word}' is not a command: {usage}" if word else usage)
    sys.exit(2)
sys.exit(start(word))
