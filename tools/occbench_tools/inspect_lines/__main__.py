# SPDX-License-Identifier: Apache-2.0
import sys

from occbench_tools.inspect_lines import main

sys.exit(main())
