# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.findings"""

import sys

from occbench_tools.findings import main

sys.exit(main())
