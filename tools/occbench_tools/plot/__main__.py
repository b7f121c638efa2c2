# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.plot"""

import sys

from occbench_tools.plot import main

sys.exit(main())
