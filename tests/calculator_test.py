# SPDX-License-Identifier: Apache-2.0
"""The calculator's web page: its module answers as the program, under node and in two browsers.

CALCULATOR_FOOTPRINTS: how many (300). CALCULATOR_FILES: a folder of more files for the readers.
"""

import csv
import gzip
import importlib
import io
import json
import math
import os
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from command import OCCBENCH, ROOT, occbench

COUNT = int(os.environ.get("CALCULATOR_FOOTPRINTS", "300"))
NUMBERS = ("block_size", "registers_per_thread", "static_smem_bytes", "dynamic_smem_bytes", "barriers",
           "cluster_size", "carveout_percent", "max_block_size", "grid_size")  # fmt: skip
ANSWERS = ("blocks_per_sm", "warps_per_sm", "occupancy", "limiters", "status")
SIZE_LIMIT = 1_500_000  # bytes of the page
FORMS = [path for folder in ("forms/*", "samples") for path in sorted((ROOT / "tests").glob(f"{folder}/*"))
         if path.is_file() and path.name != "form.json"]  # fmt: skip
if MORE := os.environ.get("CALCULATOR_FILES"):
    FORMS += sorted(path for path in Path(MORE).rglob("*") if path.is_file())
BUILT = OCCBENCH.parent.parent / "calculator/calculator.wasm"

# Runs the page's own script up to its engine: reads {questions: [[question, input file or null]...]}.
DRIVER = """
const fs = require("node:fs"), zlib = require("node:zlib");
const html = fs.readFileSync(process.argv[1], "utf8");
const part = (id) => html.match(new RegExp(`id="${id}">([^<]*)<`))[1];
const engineOf = eval("(" + html.match(/function engineOf[\\s\\S]*?\\n}\\n/)[0] + ")");
const ask = engineOf(new WebAssembly.Module(zlib.gunzipSync(Buffer.from(part("module"), "base64"))));
const input = (file) => {
  const bytes = new Uint8Array(fs.readFileSync(file));
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? new Uint8Array(zlib.gunzipSync(bytes)) : bytes;
};
for (const [question, file] of JSON.parse(fs.readFileSync(0, "utf8")))
  console.log(JSON.stringify(ask(question, file ? input(file) : null)));
"""


def footprints(names: list[str], count: int) -> list[dict[str, str]]:
    """Of every device in turn; most launch, some fail in each way."""
    chance = random.Random(46)
    rows = []
    for i in range(count):
        values = (
            chance.choice([chance.randint(1, 1100), 32 * chance.randint(1, 32)]), chance.randint(0, 260),
            chance.choice([0, chance.randint(0, 50_000)]), chance.choice([0, chance.randint(0, 240_000)]),
            chance.randint(0, 17), chance.choice([1, 1, 1, 2, 8, 16]), chance.choice([-1, -1, 0, 50, 100]),
            chance.choice([1024, 1024, 256]), 16 * chance.randint(1, 200),
        )  # fmt: skip
        rows.append({"device": names[i % len(names)]} | dict(zip(NUMBERS, map(str, values), strict=True)))
    return rows


def value_of(formula: str) -> float:
    """The number that a formula's arithmetic gives, which ends at its first '='."""
    words = re.sub(r"(?<=\d),(?=\d)", "", formula.split(" = ")[0]).replace(" x ", " * ")
    return eval(words, {"floor": math.floor, "ceil": math.ceil, "min": min, "max": max})


@unittest.skipUnless(shutil.which("node"), "needs node, which runs the page's module")
class Page(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]
    page: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.page = Path(cls.folder.name) / "calculator.html"
        done = occbench("calc", "--page", str(cls.page), "--device", "a100", "--block-size", "64", gpu=False)
        assert done.returncode == 0, done.stderr

    def ask(self, questions: list[list[Any]]) -> list[dict[str, Any]]:
        done = subprocess.run(["node", "-e", DRIVER, self.page], input=json.dumps(questions), text=True,
                              capture_output=True, check=True)  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_page_is_one_small_file_with_the_query(self) -> None:
        text = self.page.read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), SIZE_LIMIT)
        self.assertFalse(re.findall(r"@[A-Z_]+@", text))
        self.assertFalse(re.findall(r"""(?:src|href)=["'](?!data:)""", text.split("<script>")[0]))
        query = json.loads(re.search(r'id="query">([^<]*)<', text)[1])
        self.assertEqual(query, {"device": "a100", "values": {"block_size": "64"}})

    def test_matches_calc_batch(self) -> None:
        [catalogue] = self.ask([[{"ask": "catalogue"}, None]])
        rows = footprints([device["name"] for device in catalogue["devices"]], COUNT)
        table = io.StringIO()
        writer = csv.DictWriter(table, ["device", *NUMBERS])
        writer.writeheader()
        writer.writerows(rows)
        done = occbench("calc", "--batch", "-", stdin=table.getvalue(), gpu=False)
        expected = list(csv.DictReader(io.StringIO(done.stdout)))
        asked = [{"ask": "answer", "device": row["device"]} for row in rows]
        numbers = [{name: row[name] for name in NUMBERS} for row in rows]
        answers = self.ask([[q | {"query": n}, None] for q, n in zip(asked, numbers, strict=True)])
        self.assertEqual(len(answers), COUNT)
        launched = 0
        for row, want, got in zip(rows, expected, answers, strict=True):
            if "error" in got:  # what calc refuses is an argument of the wrong range
                self.assertIn(got["error"].split(": ")[-1], want["status"], row)
                continue
            launched += got["launches"]
            for name in ANSWERS:
                value = got["answer"][name]
                same = float(want[name]) == value if name == "occupancy" else want[name] == str(value)
                self.assertTrue(same, (row, name, want[name], value))
            self.check_formulas(row, got)
        self.assertGreater(launched, COUNT / 10)
        self.assertLess(launched, COUNT)

    def check_formulas(self, row: dict[str, str], got: dict[str, Any]) -> None:
        """The arithmetic of each formula gives the number that it explains."""
        a = got["answer"]
        numbers = dict(a["blocks_allowed_by"]) | {"warps_per_block": got["warps_per_block"]}
        numbers |= {"occupancy": 100 * a["occupancy"], "warps_per_sm": a["warps_per_sm"]}
        numbers |= {name: a[name] for name in ("blocks_per_sm", "allocated_registers_per_block",
                                               "allocated_smem_per_block_bytes")}  # fmt: skip
        numbers |= {name: a[name] for name in ("waves", "idle_sms")} if a["waves"] else {}
        numbers |= {"tail_share": 100 * a["tail_share"]} if a["waves"] else {}
        for name, formula in (got.get("formulas") or {}).items():
            if name != "occupancy_textbook":
                self.assertAlmostEqual(value_of(formula["text"]), numbers[name], 9, (row, name, formula))

    def test_reads_the_same_input_as_calc(self) -> None:
        forms = [
            form for form in FORMS if form.suffix not in (".ncu-rep", ".nsys-rep", ".cubin", ".fatbin")
        ]  # which ncu, nsys and inspect read
        self.assertGreater(len(forms), 12)
        for device in ("", "h200"):
            question = {"ask": "kernels", "block_size": "256", "device": device}
            answers = self.ask([[question | {"source": f"'{form}'"}, str(form)] for form in forms])
            for form, got in zip(forms, answers, strict=True):
                words = ("--device", device) if device else ()
                done = occbench(
                    "calc", str(form), *words, "--block-size", "256", "--format", "json", gpu=False
                )
                if done.stdout:
                    self.assertEqual(got.get("kernels"), json.loads(done.stdout), (form, got.get("error")))
                    self.assertEqual(got["notes"], done.stderr, form)
                else:
                    self.assertEqual(f"occbench: {got['error']}\n", done.stderr, form)

    def test_reads_cubins_like_inspect(self) -> None:
        """Plain cubins, and those that zstd packs in the program itself; names demangle to '>>' or '> >'."""
        cut = self.page.with_name("cut.cubin")
        cut.write_bytes((ROOT / "tests/samples/inspect.cubin").read_bytes()[:2000])
        files = [ROOT / "tests/samples/inspect.cubin", OCCBENCH, cut, Path(shutil.which("node"))]
        answers = self.ask([[{"ask": "kernels", "source": str(file)}, str(file)] for file in files])
        for file, got in zip(files, answers, strict=True):
            done = occbench("inspect", str(file), "--format", "json", gpu=False)
            if done.stdout:
                rows = json.loads(json.dumps(got["kernels"]).replace(">>", "> >").replace(">>", "> >"))
                self.assertEqual(rows, json.loads(done.stdout.replace(">>", "> >")), file)
            else:
                self.assertEqual(f"occbench: {got['error']}\n", done.stderr)

    def test_published_cases_match_calc(self) -> None:
        """docs/data/calculators.csv: what other calculators say is recorded, what occbench says is run."""
        with (ROOT / "docs/data/calculators.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        names = ("block_size", "registers_per_thread", "dynamic_smem_bytes")
        asked = [",".join(["cc" + row["compute_capability"], *(row[n] for n in names), "0"]) for row in rows]
        header = ",".join(["device", *names, "static_smem_bytes"])
        done = occbench("calc", "--batch", "-", stdin="\n".join([header, *asked]) + "\n", gpu=False)
        answers = [row["blocks_per_sm"] for row in csv.DictReader(io.StringIO(done.stdout))]
        self.assertEqual(answers, [row["occbench"] for row in rows])
        page = (ROOT / "docs/calculator.md").read_text(encoding="utf-8")
        for row in rows:
            cells = [value or "-" for name, value in row.items() if name != "case"]
            self.assertIn(f"| {' | '.join(cells)} |\n", page)

    def test_says_why_not(self) -> None:
        query = {"block_size": "256", "registers_per_thread": "32"}
        bad = [{"ask": "answer", "device": "nothing", "query": query}, {"ask": "nothing"},
               {"ask": "answer", "device": "h200", "query": query | {"block_size": "many"}},
               {"ask": "kernels", "device": "h200"}]  # fmt: skip
        for question, got in zip(bad, self.ask([[each, None] for each in bad]), strict=True):
            self.assertEqual(list(got), ["error"], question)
            self.assertNotIn("\n", got["error"])
        for words in (["--device", "nothing"], ["--block-size", "all"], ["--registers", "many"]):
            done = occbench("calc", "--page", str(self.page.with_name("not.html")), *words, gpu=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        done = occbench("calc", "--page", "/nowhere/page.html", gpu=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (4, 1), done.stderr)


# Asks the questions in the page; #question holds the file of the one that has one.
IN_PAGE = """
const [questions, hasFile, done] = arguments;
(async () => {
  while (!globalThis.calculator) await new Promise((resolve) => setTimeout(resolve, 20));
  const file = hasFile && await unpacked(document.getElementById("question").files[0]);
  const answers = [];
  for (const each of questions)
    answers.push(hasFile ? await calculator.askLater(each, file) : calculator.ask(each));
  done(JSON.stringify(answers));
})();
"""
FILE_INPUT = """
document.getElementById("question")?.remove();
document.body.append(make("input", {id: "question", type: "file"}));
arguments[0]();
"""
BATCH = 500  # questions of a call into the browser


class InChromium(Page):
    """Page's tests in the page itself; a file goes to its worker, as a dropped one does."""

    script: Any
    find: Any

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        try:
            cls.start()
        except ImportError as error:
            raise unittest.SkipTest(str(error)) from error

    @classmethod
    def start(cls) -> None:
        webdriver = importlib.import_module("selenium.webdriver")
        programs = shutil.which("chromium"), shutil.which("chromedriver")
        if not all(programs):
            raise unittest.SkipTest("needs chromium and chromedriver")
        options = webdriver.ChromeOptions()
        options.binary_location = programs[0]
        for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
            options.add_argument(word)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))
        cls.addClassCleanup(driver.quit)
        driver.set_script_timeout(600)
        driver.get(cls.page.as_uri())
        cls.script, cls.find = driver.execute_async_script, driver.find_element

    def ask(self, questions: list[list[Any]]) -> list[dict[str, Any]]:
        size = BATCH if questions[0][1] is None else 1
        answers = []
        for batch in (questions[i : i + size] for i in range(0, len(questions), size)):
            if file := batch[0][1]:
                self.script(FILE_INPUT)
                self.find("id", "question").send_keys(file)
            answers += json.loads(self.script(IN_PAGE, [question for question, _ in batch], bool(file)))
        return answers


class InFirefox(InChromium):
    """By PyPI's marionette-driver: Debian has no geckodriver."""

    @classmethod
    def start(cls) -> None:
        marionette = importlib.import_module("marionette_driver.marionette")
        program = shutil.which("firefox-esr")
        if not program:
            raise unittest.SkipTest("needs firefox-esr")
        log = cls.page.parent / "firefox.log"  # the driver removes what is there first: no device
        client = marionette.Marionette(bin=program, headless=True, startup_timeout=600, gecko_log=str(log))
        cls.addClassCleanup(client.cleanup)
        client.start_session()
        client.timeout.script = 600
        client.navigate(cls.page.as_uri())
        cls.find = client.find_element
        cls.script = staticmethod(
            lambda script, *values: client.execute_async_script(script, script_args=values, sandbox=None)
        )


class Build(unittest.TestCase):
    @unittest.skipUnless(BUILT.is_file(), "needs what the target calculator_wasm builds, by zig")
    def test_committed_module_is_up_to_date(self) -> None:
        committed = gzip.decompress((ROOT / "benchmarks/calculator/calculator.wasm.gz").read_bytes())
        self.assertTrue(committed == BUILT.read_bytes(), "stale: build the target `calculator` and commit it")


if __name__ == "__main__":
    unittest.main()
