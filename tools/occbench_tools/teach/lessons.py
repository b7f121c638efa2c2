# SPDX-License-Identifier: Apache-2.0
"""The lab's lessons, in the order of the chapter.

The first explanation whose condition holds is given, so that no sentence says what the rows do not.
Only what the text prints is quoted. The text is Hwu, Kirk and El Hajj, 'Programming Massively Parallel
Processors' (PMPP), 4th edition, chapter 4 and section 5.6.
"""

from occbench_tools.teach.lessons_execution import EXECUTION
from occbench_tools.teach.lessons_resources import RESOURCES

LESSONS = EXECUTION + RESOURCES
