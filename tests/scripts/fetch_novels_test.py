"""The R reader on bytes written by hand after R's format, and what happens when the package isn't what it was."""

import gzip
import pathlib
import struct
import tempfile
import unittest
import unittest.mock
import zlib

import loading

fetch_novels = loading.load("fetch_novels")
HEADER = b"X\n" + struct.pack(">iiii", 3, 0x40201, 0x30500, 5) + b"UTF-8"


def ints(*values):
    return struct.pack(f">{len(values)}i", *values)


def char(text, levels=8):
    return ints(9 | levels << 12, len(text)) + text


def strings(*texts):
    return ints(16, len(texts)) + b"".join(char(text) for text in texts)


SYMBOL = ints(1) + char(b"names")
REFERENCE = ints(255 | 1 << 8)  # to the first symbol of the stream


def named_list(symbol=SYMBOL, **items):
    """A list with the attribute `names`."""
    names = ints(2 | 0x400) + symbol + strings(*(name.encode() for name in items)) + ints(254)
    return ints(19 | 0x200, len(items)) + b"".join(items.values()) + names


class Reader(unittest.TestCase):
    def test_strings(self):
        data = HEADER + ints(16, 3) + char("é".encode()) + char(b"\xe9", levels=4) + ints(9, -1)
        self.assertEqual(fetch_novels.RReader(data).item(), ["é", "é", None])

    def test_named_list(self):
        data = HEADER + named_list(a=ints(13, 2, 7, -1), b=strings(b"x"))
        self.assertEqual(fetch_novels.RReader(data).item(), {"a": [7, -1], "b": ["x"]})

    def test_truncated_or_foreign_bytes_are_refused(self):
        data = HEADER + strings(b"one", b"two")
        for end in range(len(data)):
            with self.assertRaises((fetch_novels.Failure, struct.error)):
                fetch_novels.RReader(data[:end]).item()
        with self.assertRaisesRegex(fetch_novels.Failure, "R type 25"):
            fetch_novels.RReader(HEADER + ints(25)).item()


class Package(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write_database(self):
        """An Rdata.rdx and Rdata.rdb with one vector, `book`."""
        raw = HEADER + strings(b"first", b"", b"last")
        blob = ints(len(raw)) + zlib.compress(raw)
        (self.folder / "Rdata.rdb").write_bytes(b"skip" + blob)
        variables = named_list(book=ints(13, 2, 4, len(blob)))
        index = HEADER + named_list(REFERENCE, variables=variables, references=ints(254), compressed=ints(13, 1, 1))
        (self.folder / "Rdata.rdx").write_bytes(gzip.compress(index))
        return self.folder / "Rdata"

    def test_lazy_load(self):
        self.assertEqual(fetch_novels.read_lazy_load(self.write_database()), {"book": ["first", "", "last"]})

    def test_another_package_is_refused_and_nothing_is_written(self):
        target = self.folder / "out" / "austen"
        with unittest.mock.patch.object(fetch_novels, "download", lambda _: self.write_database()):
            with self.assertRaisesRegex(fetch_novels.Failure, "has changed: book, emma"):
                fetch_novels.fetch(target)
        self.assertFalse(target.exists())

    def test_what_is_complete_is_left_alone(self):
        (self.folder / "book.txt").write_bytes(b"first\n\nlast\n")
        digest = fetch_novels.sha256(b"first\n\nlast\n")
        with unittest.mock.patch.object(fetch_novels, "NOVELS", {"book": digest}):
            self.assertTrue(fetch_novels.complete(self.folder))
            (self.folder / "book.txt").write_bytes(b"first\n\nlas\n")
            self.assertFalse(fetch_novels.complete(self.folder))


if __name__ == "__main__":
    unittest.main()
