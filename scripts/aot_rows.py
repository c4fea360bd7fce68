"""Rows of a file, each compiled by `tenon aot --json`: what scripts/update_programs and scripts/paper_tables share."""

import dataclasses
import json
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_PLUGIN = 4


@dataclasses.dataclass
class Row:
    name: str
    arguments: list  # what follows `tenon aot`
    notes: dict = dataclasses.field(default_factory=dict)  # "key=value" behind a bar
    table: str = ""  # "[table]" above it


def read_rows(path, only=""):
    """Of each line "NAME ARGUMENTS… | KEY=VALUE…" whose name matches a Row. "#" begins a comment, "[…]" a table."""
    table = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if line.startswith("["):
            table = line.strip("[]")
        elif line:
            told, _, behind = line.partition(" | ")
            name, *arguments = shlex.split(told)
            try:
                notes = dict(note.split("=", 1) for note in behind.split())
            except ValueError:
                raise SystemExit(f"{path}:{number}: behind a bar there is KEY=VALUE, not: {behind}") from None
            if re.search(only, name):
                yield Row(name, arguments, notes, table)


def run_aot(tenon, arguments, timeout=None):
    """(exit status, report or None, what it said else) of one compilation; None as the status: it took too long."""
    command = [tenon, "aot", *arguments, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", cwd=ROOT, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None, None, f"took longer than {timeout:g} s"
    said = done.stderr.strip()
    if done.returncode < 0:
        said += f"\nended by signal {-done.returncode}"
    return done.returncode, json.loads(done.stdout) if done.stdout else None, said.strip()


def plugin_is_missing(status, said):
    return status == NO_PLUGIN and "scripts/setup" in said
