# SPDX-License-Identifier: Apache-2.0
import sys

from occbench_fleet import main

sys.exit(main())
