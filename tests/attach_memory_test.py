# SPDX-License-Identifier: Apache-2.0
"""`occbench attach` under valgrind: the library reads no memory that is not its own, in each kind of arm."""

import os
import shutil
import subprocess
import unittest

from attached import FAKE, OPENED, AttachCase, driver

VALGRIND = shutil.which("valgrind")
ERROR = 99  # valgrind's, of whatever process


@unittest.skipUnless(VALGRIND, "needs valgrind")
class Memory(AttachCase):
    def test_valgrind_finds_no_invalid_access(self) -> None:
        path = f"{FAKE}/lib-cupti:{driver()['LD_LIBRARY_PATH']}"
        for n, (words, code) in enumerate(
            (
                (f"--observe -- {OPENED} proc flat_k 50", 0),
                (f"--budget 500% -- {OPENED} proc latency_k:40,l1_k 600 graph", 0),
                (f"--timing activity --counters --budget 500% -- {OPENED} proc flat_k 2000", 0),
                (f"--sms --budget 500% -- {OPENED} proc latency_k:40 2000 exit42", 42),
                (f"--registers 32,64 --budget 500% -- {OPENED} ptx caps_k 200", 0),
            )
        ):
            with self.subTest(words):
                log = self.folder / f"{n}-%p.log"
                valgrind = (
                    str(VALGRIND), "--quiet", "--trace-children=yes", "--leak-check=no",
                    f"--error-exitcode={ERROR}", f"--log-file={log}",
                )  # fmt: skip
                done = subprocess.run(
                    [*valgrind, *self.command(words, output=f"r{n}")],
                    text=True,
                    capture_output=True,
                    timeout=300,
                    cwd=self.folder,
                    env=os.environ | {"LD_LIBRARY_PATH": path},
                )
                said = "".join(each.read_text() for each in self.folder.glob(f"{n}-*.log"))
                self.assertEqual((done.returncode, done.stdout, said), (code, "failed 0\n", ""), done.stderr)
                self.assertTrue(self.kernels(f"r{n}"))


if __name__ == "__main__":
    unittest.main()
