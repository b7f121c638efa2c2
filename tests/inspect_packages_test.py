# SPDX-License-Identifier: Apache-2.0
"""`occbench inspect` of wheels, archives and fatbins: what is in them, and what is said of damaged ones."""

import gzip
import io
import subprocess
import tarfile
import unittest
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from damaged_input_test import CORPUS, CUBIN, KERNELS, SAMPLES, WithFiles, rows, run

OBJECT = CORPUS / "object"
KERNELS_OF_OBJECT = 2  # one for each of two architectures


def nested(depth: int) -> bytes:
    """How an archive begins that holds an archive that holds ..., `depth` deep: the first member's header."""
    return b"%-48s%-10d`\n!<arch>\n" % (b"a.a/", 68 * depth - 60)


def zipped(*contents: bytes, first: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of part0, part1, ...; `first`: how part0 is packed."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as file:
        for i, content in enumerate(contents):
            file.writestr(f"part{i}", content, first if i == 0 else None)
    return whole.getvalue()


def said(*words: object) -> list[dict[str, str]]:
    """The rows that it prints as CSV."""
    done = run("inspect", *words, "--format", "csv")
    assert done.returncode == 0, done.stderr
    return rows(done)


class Packages(WithFiles):
    def damaged(self) -> Iterator[tuple[str, str]]:
        """Containers that somebody damaged, and what is said of them."""
        names = ("packed_zstd", "packed_lz4", "plain_fatbin")
        zstd, lz4, plain = ((CORPUS / name).read_bytes() for name in names)
        # Of the first part: the header at 16, packed length at 32, unpacked length at 72, content at 80.
        packed = int.from_bytes(zstd[32:36], "little")
        for name, content, sentence in (
            ("claims", zstd[:72] + (1 << 40).to_bytes(8, "little") + zstd[80:], "has an impossible length"),
            ("zstd", zstd[:90] + bytes(40) + zstd[130:], "is damaged: it cannot be unpacked"),
            ("cut_zstd", zstd[:32] + (packed - 9).to_bytes(4, "little") + zstd[36:], "is cut off"),
            ("lz4", lz4[:80] + bytes(200) + lz4[280:], "is damaged: it cannot be unpacked"),
            ("encrypted", plain[:80] + bytes(byte ^ 0x5A for byte in plain[80:]), "is encrypted, or packed"),
            ("cut", plain[:2000], "has a fatbin that is cut off"),
            (
                "nested",
                b"!<arch>\n" + b"".join(nested(depth) for depth in range(50_000, 0, -1)),
                "inside an archive",
            ),
            ("cut.a", (CORPUS / "archive").read_bytes()[:9_000], "is cut off"),
        ):
            self.file(name, content)
            yield name, sentence
        subprocess.run(["ar", "rcsT", self.folder / "thin.a", OBJECT], check=True)
        yield "thin.a", "is a thin archive; name its objects"

    def test_damaged_containers(self) -> None:
        for name, sentence in self.damaged():
            with self.subTest(name):
                self.refused(run("inspect", self.folder / name), sentence)

    def packages(self) -> Iterator[tuple[str, int]]:
        """Files that hold OBJECT or CUBIN packed, and how many kernels are in them."""
        with zipfile.ZipFile(self.folder / "model.pt2", "w") as pt2:  # stored, as torch.export writes it
            pt2.write(CUBIN, "model/data/kernel.cubin")
            pt2.writestr("model/version", "3")
        yield "model.pt2", KERNELS
        with zipfile.ZipFile(self.folder / "a-1-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
            wheel.write(OBJECT, "a/lib.so")
            wheel.write(self.folder / "model.pt2", "a/model.pt2")
            wheel.writestr("a/__init__.py", "import torch\n" * 1000)
        yield "a-1-py3-none-any.whl", KERNELS_OF_OBJECT + KERNELS
        for name, form in (("a.tar.gz", tarfile.PAX_FORMAT), ("gnu.tar", tarfile.GNU_FORMAT)):
            with tarfile.open(self.folder / name, "w:gz" if name.endswith("gz") else "w", format=form) as tar:
                tar.add(OBJECT, "deep/" * 40 + "all.o")
                tar.add(self.folder / "a-1-py3-none-any.whl", "a.whl")
                tar.add(SAMPLES / "inspect.cu", "a.cu")
            yield name, 2 * KERNELS_OF_OBJECT + KERNELS
        self.file("new.cubin.gz", gzip.compress(CUBIN.read_bytes()))
        yield "new.cubin.gz", KERNELS

    def test_wheels_and_other_packages(self) -> None:
        for name, kernels in self.packages():
            with self.subTest(name):
                found = said(self.folder / name)
                self.assertEqual(len(found), kernels)
                self.assertTrue(all(row["file"].startswith(str(self.folder / name)) for row in found))
        wheel = said(self.folder / "a-1-py3-none-any.whl")
        self.assertEqual(
            {row["file"].partition("(")[2] for row in wheel},
            {"a/lib.so)", "a/model.pt2)(model/data/kernel.cubin)"},
        )
        anywhere = [
            [row | dict(file="") for row in some] for some in (said(OBJECT), wheel[:KERNELS_OF_OBJECT])
        ]
        self.assertEqual(*anywhere)

    def damaged_packages(self) -> Iterator[tuple[str, bytes]]:
        """What is said of a zip's first member; the second is CUBIN."""
        cubin = CUBIN.read_bytes()
        nested = zipped(zipped(zipped(zipped(cubin))))
        whole = zipped(cubin, cubin)
        entry = whole.index(b"PK\1\2")  # the first of the directory: flags at 8, CRC-32 at 16
        yield "is encrypted", whole[: entry + 8] + b"\1" + whole[entry + 9 :]
        yield "is damaged: it cannot be unpacked", whole[: entry + 16] + b"\0" + whole[entry + 17 :]
        yield "is packed by zip's method 14; unpack it first", zipped(cubin, cubin, first=zipfile.ZIP_LZMA)
        yield "is nested too deep: 4 levels of zip, tar and gzip are read", zipped(nested, cubin)
        zeros = gzip.compress(cubin[:64] + bytes(100_000_000))
        yield "would unpack to far more than its file has bytes", zipped(zeros, cubin)

    def test_damaged_packages(self) -> None:
        for sentence, content in self.damaged_packages():
            with self.subTest(sentence):
                done = run("inspect", self.file("damaged.zip", content), "--format", "csv")
                self.refused(done, sentence)
                self.assertIn("damaged.zip(part0", done.stderr)
                self.assertEqual(len(rows(done)), KERNELS)

    def test_rejects_truncated_packages(self) -> None:
        whole = zipped(CUBIN.read_bytes())
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as file:
            file.add(OBJECT, "all.o")
        packed = gzip.compress(tar.getvalue())
        for content, sentence in (
            (whole[:-30], "is a zip file that is cut off"),
            (tar.getvalue()[:9000], "is a tar file that is cut off"),
            (packed[:-100], "is cut off"),
        ):
            done = run("inspect", self.file("cut.zip", content))
            self.refused(done, f"'{self.folder}/cut.zip': {sentence}")
            self.assertEqual(done.stdout, "")

    def test_reads_members_before_a_truncated_tar_end(self) -> None:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as tar:
            tar.add(CUBIN, "new.cubin")
            end = tar.offset
        done = run("inspect", self.file("cut.tar", made.getvalue()[:end]), "--format", "csv")
        self.refused(done, "cut.tar': is a tar file that is cut off")
        self.assertEqual(len(rows(done)), KERNELS)

    def with_flags(self, name: str, change: Callable[[int], int]) -> Path:
        """CUBIN with other e_flags."""
        content = bytearray(CUBIN.read_bytes())
        flags = change(int.from_bytes(content[48:52], "little"))
        content[48:52] = flags.to_bytes(4, "little")
        return self.file(name, content)

    def test_reports_unknown_architecture(self) -> None:
        found = said(self.with_flags("unknown.cubin", lambda flags: flags & 0xFF0000FF | 250 << 8))
        self.assertEqual({row["status"] for row in found}, {"no occupancy: unknown architecture sm_250"})
        self.assertEqual({row["occupancy"] for row in found}, {""})

    def test_elf_flag_bit_3_means_architecture_specific(self) -> None:
        """As nvlink 12.9 writes sm_100a, without an entry in .nv.compat."""
        exact = self.with_flags("exact.cubin", lambda flags: flags & 0xFF000000 | 0x640A)
        self.assertEqual({row["architecture"] for row in said(exact)}, {"sm_100a"})
        refused = run("inspect", exact, "--device", "b300")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("none of its code runs on --device; it has code for sm_100a", refused.stderr)

    def test_no_stack_means_no_spills_before_cc_7(self) -> None:
        old = self.with_flags("old.cubin", lambda flags: flags & 0xFF0000FF | 60 << 8)
        row = next(row for row in said(old) if row["kernel"].startswith("plain"))
        self.assertEqual((row["architecture"], row["stack_bytes"], row["spill_bytes"]), ("sm_60", "0", "0"))

    def test_reads_other_files_after_an_unreadable_one(self) -> None:
        """A file that cannot be read, beside one that can."""
        done = run("inspect", CUBIN, "/nowhere/b.so", "--format", "csv")
        self.refused(done, "occbench: /nowhere/b.so: No such file or directory\n")
        self.assertEqual(len(rows(done)), KERNELS)


if __name__ == "__main__":
    unittest.main()
