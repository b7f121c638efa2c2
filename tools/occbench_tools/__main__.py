# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools COMMAND [ARGUMENT]...: what `occbench COMMAND` starts, without the program."""

import sys

from occbench_tools.lines import print_error
from occbench_tools.start import TOOLS, start

if len(sys.argv) < 2 or sys.argv[1] not in TOOLS:
    print_error("occbench_tools", f"the first argument is one of {', '.join(sorted(TOOLS))}")
    sys.exit(2)
sys.exit(start(sys.argv.pop(1)))
