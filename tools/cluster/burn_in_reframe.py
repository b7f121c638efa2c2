# SPDX-License-Identifier: Apache-2.0
"""Burn-in as a ReFrame test: reframe -c tools/cluster/burn_in_reframe.py -r -S FleetBurnIn.num_tasks=8

Each task measures its own GPU, then `occbench fleet check` judges all of them. The test fails
where a card was not judged, or where the odd one among them is farther off than the reference allows.
A site sets by -S: num_tasks, num_tasks_per_node, words (of `occbench run`) and against (the
folder of a good card's run, to hold each against). $OCCBENCH names the program, if it is not on the PATH.
"""

import json
import os
from typing import Any, ClassVar

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable


@rfm.simple_test
class FleetBurnIn(rfm.RunOnlyRegressionTest):
    valid_systems: ClassVar = ["*"]
    valid_prog_environs: ClassVar = ["*"]
    descr = "Which GPU is odd"
    num_tasks = 4
    words = variable(str, value="--preset burn-in")
    against = variable(str, value="")
    # At most 1 % from the fleet's median: `fleet check` reports no smaller change.
    reference: ClassVar = {"*": {"largest_change": (0, None, 0.01, "ratio")}}

    @run_before("run")
    def tasks_then_check(self) -> None:
        program = os.environ.get("OCCBENCH", "occbench")
        self.executable = program
        self.executable_opts = ["run", "--task-device auto", "--output fleet", self.words]
        reference = f"--reference {self.against}" if self.against else ""
        self.postrun_cmds = [f"{program} fleet check fleet {reference} --format json > fleet.json"]

    def read_report(self) -> dict[str, Any]:
        with open(os.path.join(self.stagedir, "fleet.json")) as file:
            return json.load(file)

    @sanity_function
    def every_card_is_judged(self) -> object:
        found = self.read_report()
        for one in found["odd"]:
            self.logger.info(f"{one['name']} {one['resource']} {100 * one['change']:+.1f} %")
        return sn.all(
            [
                sn.assert_eq(found["judged"], self.num_tasks, msg="judged {0} of {1} cards"),
                sn.assert_eq(found["failed"], []),
            ]
        )

    @performance_function("ratio")
    def largest_change(self) -> float:
        return max((abs(one["change"]) for one in self.read_report()["odd"]), default=0.0)
