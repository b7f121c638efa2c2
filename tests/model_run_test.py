# SPDX-License-Identifier: Apache-2.0
"""The whole program on a model of a GPU."""

import csv
import io
import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from command import PARAMETERS, SANITIZED, content, occbench, parameters_but, rows, validated, working_folder


class ModelRun(unittest.TestCase):
    """The whole program on a model: everything but silicon."""

    BANNER = "MODEL of H200: nothing here was measured"
    MEASURED = ("blocks_per_sm_api", "blocks_per_sm_resident", "time_ci95_low_s", "time_p90_s", "power_w")

    def run_model(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = occbench("run", "--device", f"model:{PARAMETERS}", *words, gpu=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def some_cases(self) -> str:
        """A filter for one case of each experiment, and all of those from which most findings are made."""
        listed = occbench("list", "--device", f"model:{PARAMETERS}", "--preset", "quick", "--format", "json")
        first = {case["experiment"]: case["case_id"] for case in reversed(json.loads(listed.stdout)["cases"])}
        whole = ("block_size", "latency_hiding", "registers", "shared_memory", "spilling")
        return f"^({'|'.join(first.values())}|({'|'.join(whole)})[.].*)$"

    def test_quick(self) -> None:
        # All of its cases take minutes under sanitizers, and most repeat the code of their neighbours.
        part = [f"--benchmark_filter={self.some_cases()}"] if SANITIZED else []
        with working_folder() as folder:
            lines = self.run_model("--preset", "quick", *part).stdout.splitlines()
            self.assertTrue(lines[0].startswith(self.BANNER), lines[0])
            self.assertEqual(lines[-1], self.BANNER)
            self.assertLessEqual(len(lines[1:]), 25, "what follows the progress")
            self.assertLessEqual(max(map(len, lines[1:])), 80)
            self.assertRegex(lines[1], r"^The model of an H200 predicts \d+ cases in ")
            self.assertNotIn("measured", " ".join(lines[1:-1]))
            too_few = r"\d+ experiments: too few points for a curve in quick; --preset "
            if not part:  # of a filtered run it is no news
                self.assertRegex("\n".join(lines), too_few)
            self.assertRegex(lines[-2], r"^next   occbench report    occbench explain [a-z_]+$")
            (run,) = folder.glob("results/*/*")
            self.assertEqual(run.parent.name, "model-h200")
            env = json.loads((run / "env.json").read_text())
            self.assertEqual((env["source"], env["gpu"]["uuid"]), ("model", "model:h200"))
            self.assertEqual(env["parameters"]["file"], str(PARAMETERS))
            self.assertEqual(env["parameters"]["content"], json.loads(PARAMETERS.read_text()))
            # docs/model.md says why the model does not cover these.
            apart = [name for name, it in env["experiments"].items() if it["outside_model"]]
            self.assertEqual(apart, ["cache_reuse", "clusters", "constant_memory", "launch_bounds_roulette"])
            self.assertEqual(rows(run / "samples.csv"), [])
            check = validated(run)
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
            valid = 0
            for row in rows(run / "cases.csv"):
                self.assertEqual((row["source"], row["samples"]), ("model", "0"))
                self.assertEqual({row[name] for name in self.MEASURED}, {""})
                self.assertIn(row["status"], ("valid", "impossible", "skipped"))
                self.assertEqual(bool(row["reason"]), row["status"] != "valid")
                for name in ("throughput", "time_median_s", "throughput_predicted", "bound_predicted"):
                    self.assertEqual(bool(row[name]), row["status"] == "valid", row["case_id"])
                valid += row["status"] == "valid"
            self.assertGreater(valid, 200 if part else 300)

    def test_verbose_lists_the_experiments_first(self) -> None:
        with working_folder():
            words = ("--experiment", "registers,adam", "--verbose", "--output", "elsewhere")
            lines = self.run_model("--preset", "quick", *words).stdout.splitlines()
            closing = [line.startswith("The model of an H200 predicts") for line in lines].index(True)
            listing = "\n".join(lines[:closing])
            too_few = r"\nadam: .*\n(  .*\n)*  not enough points: at most 2 per curve"
            self.assertRegex(listing, too_few)
            self.assertRegex(listing, r"\nregisters: .*\n(  .*\n)*    90.* % of it at [\d.]+ % occupancy")
            self.assertIn("next   occbench report elsewhere    occbench explain elsewhere registers", lines)

    def test_bands(self) -> None:
        """They hold the prediction, widen with the ranges of the parameters, and go on with --resume."""
        with working_folder():
            words = ("--preset", "quick", "--experiment", "adam", "--bands")
            wide = json.loads(PARAMETERS.read_text())
            for entry in wide["parameters"].values():
                entry.update(low=0.8 * entry["value"], high=1.2 * entry["value"])
            Path("wide.json").write_text(json.dumps(wide))
            self.run_model(*words, "--output", "narrow")
            model = ("run", "--device", "model:wide.json")
            self.assertEqual(occbench(*model, *words, "--output", "wide", gpu=False).returncode, 0)
            spans = {}
            for run in ("narrow", "wide"):
                self.assertIs(json.loads(Path(run, "env.json").read_text())["bands"], True)
                self.assertEqual(validated(Path(run)).returncode, 0)
                for row in rows(Path(run, "cases.csv")):
                    ends = [row[f"throughput_predicted{end}"] for end in ("_low", "", "_high")]
                    self.assertEqual(all(ends), row["status"] == "valid", row["case_id"])
                    if all(ends):
                        low, said, high = map(float, ends)
                        self.assertTrue(low < said < high, row["case_id"])
                        spans.setdefault(row["case_id"], []).append(high / low)
            self.assertTrue(spans)
            for case_id, (narrow, wider) in spans.items():
                self.assertGreater(wider, narrow, case_id)
            whole = Path("wide/cases.csv").read_text().splitlines(keepends=True)
            Path("wide/cases.csv").write_text("".join(whole[:3]))
            self.assertEqual(occbench("run", "--resume", "wide", gpu=False).returncode, 0)
            self.assertEqual(
                sorted(Path("wide/cases.csv").read_text().splitlines(keepends=True)), sorted(whole)
            )

    def test_without_bands_the_columns_are_empty(self) -> None:
        with working_folder():
            self.run_model("--preset", "quick", "--experiment", "adam", "--output", "run")
            self.assertIs(json.loads(Path("run/env.json").read_text())["bands"], False)
            for row in rows(Path("run/cases.csv")):
                self.assertEqual(
                    (row["throughput_predicted_low"], row["throughput_predicted_high"]), ("", "")
                )

    def test_skips_kernels_with_unknown_parameters(self) -> None:
        with working_folder():
            unknown = dict(value=None, unit="byte/s", source="nobody", method="not measured")
            Path("p.json").write_text(parameters_but(dram_write_bandwidth=unknown))
            done = occbench(
                *("run", "--device", "model:p.json", "--preset", "quick", "--output", "run"),
                *("--experiment", "registers,tensor_core"),
                gpu=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(rows(Path("run/cases.csv")))
            for row in rows(Path("run/cases.csv")):
                loads = row["variant"].startswith("load")
                lacks = "the device's parameters lack 'dram_write_bandwidth', which this kernel needs"
                if row["status"] != "impossible" and loads:
                    self.assertEqual((row["status"], row["reason"]), ("skipped", lacks), row["case_id"])

    def test_embedded_machine_code_covers_every_case(self) -> None:
        with working_folder():
            self.run_model("--preset", "quick", "--experiment", "barriers,tiled_matmul", "--output", "run")
            for row in rows(Path("run/cases.csv")):
                self.assertNotIn("no description of its machine code", row["reason"])

    def test_google_benchmark_output_names_the_model(self) -> None:
        with working_folder():
            done = self.run_model("--preset", "quick", "--experiment", "registers", "--benchmark_format=json")
            self.assertEqual(json.loads(done.stdout)["context"]["source"], "model")
            self.assertIn(self.BANNER, done.stderr)

    def test_anonymous(self) -> None:
        """Neither host nor user nor a path; the run is valid, and goes on as it was begun."""
        with working_folder():
            mine = Path.cwd() / "home-of-somebody"
            mine.mkdir()
            shutil.copy(PARAMETERS, mine / "card.json")
            words = ("--anonymous", "--preset=quick", "--experiment=registers", "--output", str(mine / "run"))
            device = f"model:{mine / 'card.json'}"
            self.assertEqual(occbench("run", "--device", device, *words, gpu=False).returncode, 0)
            text = "".join(file.read_text() for file in (mine / "run").iterdir())
            for word in ("home-of-somebody", str(Path.cwd()), f'"{os.uname().nodename}"', "/home"):
                self.assertFalse(word in text, word)
            env = json.loads((mine / "run/env.json").read_text())
            said = (env["anonymous"], env["host"], env["command_line"])
            self.assertEqual(said, (True, None, "occbench run --anonymous"))
            self.assertEqual(env["parameters"]["file"], "card.json")
            self.assertEqual(validated(mine / "run").returncode, 0)
            whole = (mine / "run/cases.csv").read_text()
            (mine / "run/cases.csv").write_text("".join(whole.splitlines(keepends=True)[:5]))
            refused = occbench("run", "--resume", str(mine / "run"), "--benchmark_out=out.json", gpu=False)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("an anonymous run goes without --benchmark_out", refused.stderr)
            self.assertEqual(occbench("run", "--resume", str(mine / "run"), gpu=False).returncode, 0)
            self.assertEqual(len(rows(mine / "run/cases.csv")), whole.count("\n") - 1)

    def test_list_matches_the_cases_of_run(self) -> None:
        for model in ("model:h200", "model:v100", f"model:{PARAMETERS}"):
            words = ("--device", model, "--experiment", "registers", "--format", "csv")
            listed = occbench("list", *words, gpu=False)
            ids = [row["case_id"] for row in csv.DictReader(io.StringIO(listed.stdout))]
            words = ("run", "--device", model, "--experiment", "registers", "--benchmark_list_tests")
            self.assertEqual(ids, occbench(*words, gpu=False).stdout.split())
            self.assertTrue(ids)

    def test_list(self) -> None:
        with working_folder() as folder:
            done = self.run_model("--experiment", "registers", "--benchmark_list_tests")
            self.assertTrue(all(name.startswith("registers.") for name in done.stdout.split()), done.stdout)
            self.assertEqual(content(folder), {})

    def test_model_runs_of_one_day_get_distinct_folders(self) -> None:
        with working_folder() as folder:
            for _ in range(2):
                self.run_model("--preset", "quick", "--experiment", "registers")
            self.assertEqual(len(list(folder.glob("results/model-h200/*"))), 2)

    def test_reports_the_machine_code_used(self) -> None:
        said = {
            "a100": ("sm_80", ["sm_80"], ""),
            "l40s": ("sm_89", ["sm_89"], ""),
            "rtx4060": ("sm_89", ["sm_89"], ""),
            "rtx4090": ("sm_89", ["sm_89"], ""),
            "h100": ("sm_90", ["sm_90"], ""),
            # its compiler sets two loops of pointer_chase in another order
            "b200": (
                "sm_100",
                ["sm_90", "sm_100"],
                "; machine code of sm_90 stands in for sm_100's in some kernels",
            ),
            "v100": ("sm_70", ["sm_80"], "; machine code of sm_80 stands in for sm_70's"),
            "t4": ("sm_75", ["sm_80"], "; machine code of sm_80 stands in for sm_75's"),
        }
        with working_folder():
            for name, (own, described, borrowed) in said.items():
                words = ("--preset", "quick", "--experiment", "reduction", "--output", name)
                done = occbench("run", "--device", f"model:{name}", *words, gpu=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"parameters: {name}.json (built in){borrowed}\n", done.stdout + done.stderr)
                environment = json.loads(Path(name, "env.json").read_text())
                code = environment["machine_code"]
                self.assertEqual((code["architecture"], code["described"]), (own, described))
                self.assertTrue(all(0 < each["share"] <= 0.02 for each in code["guessed"]), code["guessed"])


if __name__ == "__main__":
    unittest.main()
