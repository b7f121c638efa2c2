# SPDX-License-Identifier: Apache-2.0
"""python -m occbench_tools.teach"""

import sys

from occbench_tools.teach import main

sys.exit(main())
