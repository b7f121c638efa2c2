# SPDX-License-Identifier: Apache-2.0
import sys

from occbench_tools.compare import main

sys.exit(main())
