"""The tables of scripts/paper_tables, from what `tenon aot llama2_7b --target h100:32x8 --instance gpu-h100-256 --analytic
--json` printed."""

import argparse
import copy
import json
import pathlib
import tempfile
import unittest

import loading

import aot_rows

paper_tables = loading.load("paper_tables")
REPORT = json.loads((pathlib.Path(__file__).parent / "paper_report.json").read_text())
NAME = "llama2_7b"


def row(*, table, notes=None, arguments=()):
    return aot_rows.Row("name", [NAME, "--target", "h100:32x8", *arguments], notes or {}, table)


def compiled(**bound):
    """The report as if it had been compiled in 61.4 s, to 20 GiB."""
    report = copy.deepcopy(REPORT)
    report.update(compiled=True, compile_s=61.4)
    report["bytes"]["total"] = 20 * 2**30
    report["bound"].update(bound)
    report["bound_s"] = max(report["bound"][part] for part in paper_tables.PARTS if report["bound"][part] is not None)
    return report


def format_table(title, rows):
    """Of all rows of a table."""
    return paper_tables.format_table(title, rows, rows[0])


def cells(text, number=0):
    """Of a table's row, which comes behind a title, an empty line and two lines of headings."""
    return [cell.strip() for cell in text.splitlines()[4 + number].strip("|").split("|")]


class Tables(unittest.TestCase):
    def test_training(self):
        settings = row(table="training: x", notes={"step_s": "1.4", "mfu": "54.2"})
        made = cells(format_table("training: x", [(settings, {"report": REPORT})]))
        # 6.607e9 parameters meet a token in products; attention takes 12 x 32 layers x 4096 x 4096 FLOPs of it.
        tokens, peak = 1024 * 4096, 256 * 989.4e12
        parameters, attention = 6 * 6_607_077_376 * tokens, 12 * 32 * 4096 * 4096 * tokens
        took = REPORT["bound_s"]
        shares = [parameters + attention, parameters + attention * (4097 / 4096 / 2), parameters]
        told = " · ".join(f"{100 * share / took / peak:.1f} %" for share in shares)
        expected = ["`llama2_7b`, `h100:32x8`", "data=32,fsdp=8", "9.42 GiB, arguments alone", f"{took:.3g} s, compute", told]
        self.assertEqual(made, [*expected, "1.4 s, 54.2 %", "not compiled"])
        self.assertIsNone(paper_tables.too_short(settings, REPORT))
        self.assertIn("at least 0.83", paper_tables.too_short(row(table="", notes={"step_s": "0.7"}), REPORT))

    def test_remat(self):
        report = compiled()
        once = report["flops"]["model_products"]
        report["flops"]["products"] = {"bf16": 1.25 * once, "f32": 0.05 * once}
        made = cells(format_table("remat: x", [(row(table="", notes={"kept": "a_layer's_input"}), {"report": report})]))
        self.assertEqual(made[1:4], ["a layer's input", "20 GiB", f"{0.3 * once:.3g}, 30.0 %"])

    def test_memory(self):
        report = compiled()
        self.assertEqual((paper_tables.memory(report), paper_tables.compile_time(report)), ("20 GiB", "61 s"))
        report["fits"] = False
        self.assertEqual(paper_tables.memory(report), "20 GiB of 79.1 GiB: doesn't fit")
        report.update(compiled=False, refused="used 99 of 79", bound=None, bound_s=None)
        self.assertEqual(paper_tables.memory(report), "doesn't fit, says the compiler")
        made = cells(format_table("sweep: x", [(row(table=""), {"report": report})]))
        self.assertEqual(made[3:7], ["?", "? · ? · ? · ?", "?", "?"])

    def test_scaling(self):
        one = compiled(compute_s=2.0, memory_s=1.0, links_s=1.0, network_s=0.0)
        two = compiled(compute_s=2.0, memory_s=1.0, links_s=1.0, network_s=4.0)
        rows = [(row(table="", notes={"mfu": "60"}), {"report": one}), (row(table="", notes={"mfu": "45"}), {"report": two})]
        text = format_table("scaling: Of a model", rows)
        self.assertTrue(text.startswith("### Of a model\n"))
        speed = f"{1024 * 4096 / 2 / 256:,.0f}"
        self.assertEqual(cells(text)[3:], ["2 s, compute", "2 · 1 · 1 · 0", speed, "100.0 %", "100.0 %", "60 %, 100.0 %", "61 s"])
        self.assertEqual(cells(text, 1)[6:9], ["50.0 %", "50.0 %", "45 %, 75.0 %"])
        rows[1][1]["report"] = compiled(compute_s=2.0, memory_s=1.0, links_s=1.0, network_s=1.0)
        text = format_table("scaling: Of a model", rows)
        self.assertEqual(cells(text, 1)[6:8], ["100.0 %", "80.0 %"])

    def test_efficiency_is_by_the_first_row_of_all(self):
        rows = [(row(table="", notes=notes), {"report": compiled()}) for notes in ({}, {"mfu": "45"})]
        told = [cells(paper_tables.format_table("scaling: x", rows, (row(table="", notes={"mfu": "60"}), None)), n) for n in (0, 1)]
        self.assertEqual([each[6:9] for each in told], [["?", "?", "-"], ["?", "?", "45 %, 75.0 %"]])
        told = [cells(format_table("scaling: x", rows), n) for n in (0, 1)]
        self.assertEqual([each[8] for each in told], ["-", "45 %, ?"])

    def test_inference(self):
        arguments = ["--rows", "4", "--set", "model.param_dtype=bf16"]
        prefill, decode = compiled(compute_s=0.04, memory_s=0.01), compiled(compute_s=0.001, memory_s=0.0025)
        decode["bound"]["by"] = "memory"
        both = {"report": {"prefill": prefill, "decode": decode}}
        settings = row(table="", notes={"ttft_ms": "40.1", "tpot_ms": "9.1"}, arguments=arguments)
        made = cells(format_table("inference: x", [(settings, both)]))
        expected = ["4, bf16", "20 GiB; 20 GiB", "40 ms, compute", "2.5 ms, memory", "40.1 ms, 9.1 ms", "61 s; 61 s"]
        self.assertEqual(made[1:], expected)

    def test_rows_that_failed_show_why(self):
        failed = {"failed": "SetMesh: 1 change\nerror: compile at decoder:\n  a | b " + 400 * "x"}
        text = format_table("training: x", [(row(table=""), failed), (row(table=""), failed)])
        self.assertIn("| error: compile at decoder: a \\| b xxx", text)
        self.assertIn("xxx… |  |", text)
        for words, shown in (("SetMesh: 1 change\nended by signal 9", "ended by signal 9"), ("", "nothing was said")):
            self.assertEqual(paper_tables.failure(words, 2), [shown, ""])
        self.assertTrue(text.endswith("\n```\ntenon aot llama2_7b --target h100:32x8\ntenon aot llama2_7b --target h100:32x8\n```\n"))

    def test_rows_of_the_paper(self):
        rows = list(aot_rows.read_rows(paper_tables.ROWS))
        self.assertEqual(len({each.name for each in rows}), len(rows))
        for each in rows:
            self.assertIn(each.table.partition(": ")[0], paper_tables.KINDS, each)
            self.assertIn("--target", each.arguments)
            self.assertLessEqual(set(each.notes), {"step_s", "mfu", "ttft_ms", "tpot_ms", "kept"})


class Gathering(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tenon = self.folder / "tenon"
        self.options = argparse.Namespace(results=self.folder / "kept", tables=False, analytic=False, tenon=self.tenon)

    def says(self, script):
        self.tenon.write_text(f"#!/bin/sh\necho ran >> {self.folder}/runs\n{script}\n")
        self.tenon.chmod(0o755)

    def runs(self):
        return len((self.folder / "runs").read_text().split())

    def gather(self, **settings):
        return paper_tables.gather(row(table="", **settings), self.options)

    def test_what_was_kept_is_not_compiled_again(self):
        self.options.tables = True
        self.assertIsNone(self.gather())
        self.options.tables = False
        self.says("echo '{\"fits\": true}'; echo so it was >&2; exit 3")  # too large: a report, and status 3
        for _ in range(2):
            self.assertEqual(self.gather()["report"], {"fits": True})
        self.assertEqual(self.runs(), 1)
        self.gather(arguments=["--set", "a=1"])
        self.assertEqual(self.runs(), 2)
        overlay = self.folder / "overlay.toml"
        for text in ("seed = 1", "seed = 2", "seed = 1"):
            overlay.write_text(text)
            self.gather(arguments=["--config", str(overlay)])
        self.assertEqual(self.runs(), 4)

    def test_what_failed_is_tried_again(self):
        self.says("echo 'error: plugin: no' >&2; exit 4")
        self.assertEqual(self.gather()["failed"], "error: plugin: no")
        self.says("kill -9 $$")
        self.assertEqual(self.gather()["failed"], "ended by signal 9")
        self.says("echo '{}'")
        self.assertEqual(self.gather()["failed"], "")
        self.says("echo '{\"fits\": true}'")
        self.assertEqual(self.gather()["report"], {"fits": True})
        self.assertEqual(self.runs(), 4)

    def test_what_takes_too_long(self):
        self.says("exec sleep 60")
        self.assertEqual(aot_rows.run_aot(self.tenon, [], 0.2), (None, None, "took longer than 0.2 s"))

    def test_rows_of_a_file(self):
        path = self.folder / "rows.txt"
        path.write_text("# text\n[sweep: x]\na llama --set 'x = \"#1\"' | mfu=3  # three\n\nb c\n")
        first, second = aot_rows.read_rows(path)
        self.assertEqual((first.name, first.arguments, first.notes), ("a", ["llama", "--set", 'x = "#1"'], {"mfu": "3"}))
        self.assertEqual((second.name, second.table, second.notes), ("b", "sweep: x", {}))
        self.assertEqual([each.name for each in aot_rows.read_rows(path, "^b")], ["b"])
        path.write_text("a b | c\n")
        with self.assertRaisesRegex(SystemExit, "rows.txt:1: .*not: c"):
            list(aot_rows.read_rows(path))


if __name__ == "__main__":
    unittest.main()
