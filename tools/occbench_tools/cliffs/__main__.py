# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.cliffs"""

import sys

from occbench_tools.cliffs.command import main

sys.exit(main())
