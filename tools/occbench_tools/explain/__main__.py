# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.explain"""

import sys

from occbench_tools.explain import main

sys.exit(main())
