"""`tenon parity`: meshes against one device."""

import json

from support import CommandTest, run


class Parity(CommandTest):
    def parity(self, *options, status=0):
        settings = ["--set", f"data.path={self.text}", "--platform", "cpu:4", "--steps", "3"]
        done = run("parity", "austen_tiny", *settings, *options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_agrees(self):
        meshes = ["fsdp=2,model=2", "data=2,accumulation=2", "fsdp=2,model=2,outer.model=2"]
        done = self.parity(*[word for mesh in meshes for word in ("--mesh", mesh)], "--json")
        report = json.loads(done.stdout)
        self.assertTrue(report["agrees"])
        self.assertEqual([mesh["mesh"] for mesh in report["meshes"]], meshes)
        for mesh in report["meshes"]:
            self.assertTrue(mesh["same_weights"])
            self.assertEqual(len(mesh["losses"]), 3)
            self.assertLess(mesh["largest"], 1e-5)

    def test_differences_end_with_an_error(self):
        done = self.parity("--mesh", "fsdp=2,model=2", "--tolerance", "0", status=2)
        self.assertRegex(done.stdout, r"(?m)^fsdp=2,model=2 +the same bits .* DIFFERS$")
        self.assertIn("error: mesh_mismatch: a mesh changes what is learned", done.stderr)

    def test_mistakes(self):
        for mesh, words in (
            ("fsdp=8", "at most 4"),
            ("fsdq=2", "did you mean fsdp"),
            ("fsdp=4,outer.fsdp=3", "mesh.outer.fsdp"),
            ("fsdp=3,data=-1", "does not divide 4 devices"),
            ("fsdp", "fsdp=4,model=2"),
            ("pipeline=2", 'form = "pipeline"'),
            ("fsdp=3", "the batch doesn't divide over the mesh"),
        ):
            said = self.parity("--mesh", mesh, status=2).stderr
            self.assertIn(words, said, mesh)
            self.assertNotIn("mesh 1:", said, "nothing was trained before")
        for tolerance in ("nan", "-1", "inf"):
            done = self.parity("--mesh", "fsdp=2", "--tolerance", tolerance, status=2)
            self.assertIn("invalid_argument at --tolerance: not a tolerance", done.stderr)
