# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.report"""

import sys

from occbench_tools.report import main

sys.exit(main())
