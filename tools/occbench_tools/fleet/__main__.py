# SPDX-License-Identifier: Apache-2.0
import sys

from occbench_tools.fleet import main

sys.exit(main())
