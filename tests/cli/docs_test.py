"""The snippets of the guides to configs, experiments, 8-bit products and plug-ins, and of the tutorial, run."""

import os
import pathlib
import re
import shlex
import shutil

from support import CommandTest, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLUGIN = str(pathlib.Path(os.environ["TENON_TEST_PLUGINS"]) / "squared_relu.so")


def pattern(expected):
    """Of an output: a line "..." is any lines, "..." in a line any text."""
    parts = []
    for line in expected:
        parts.append(r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n")
    return "".join(parts)


class Guides(CommandTest):
    def check_console(self, text):
        commands = []
        for line in text.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
        for command, expected in commands:
            words = [PLUGIN if word == "$PLUGIN" else word for word in shlex.split(command)]
            self.assertEqual(words[0], "tenon")
            done = run(*words[1:], cwd=self.root)
            self.assertRegex(done.stderr + done.stdout, f"^{pattern(expected)}$", command)

    def check_guide(self, name, shorter=()):
        """`shorter`: pairs of what the guide says and what its files have here instead."""
        guide = (ROOT / "docs" / name).read_text()
        for said, instead in shorter:
            self.assertIn(said, guide)
            guide = guide.replace(said, instead)
        blocks = BLOCK.findall(guide)
        self.assertGreater(len(blocks), 1)
        for language, target, text in blocks:
            if language == "console":
                self.check_console(text)
            elif language == "toml":
                (self.root / target).write_text(text)
            elif language in ("bash", "python"):
                self.assertEqual(target, "")
            else:
                self.assertEqual(language, "cpp")
                self.assertIn(text, (ROOT / target).read_text())

    def test_configs(self):
        self.check_guide("configs.md")

    def test_experiments(self):
        self.check_guide("experiments.md")

    def test_images(self):
        self.check_guide("images.md")

    def test_optimizers(self):
        self.check_guide("optimizers.md")
        # Its tables name all there are.
        text = (ROOT / "docs" / "optimizers.md").read_text()
        source = "".join(path.read_text() for path in (ROOT / "src/tenon/optim").glob("*.cc"))
        names = re.findall(r"TENON_(?:MODULE\((\w+), (?:Optimizer|GradientClip)|FN_TYPE\((\w+), double\(int64_t\))", source)
        self.assertGreater(len(names), 12)
        for module, function in names:
            self.assertIn(f"`{module or function}`", text)

    def test_mixture_of_experts(self):
        self.check_guide("mixture_of_experts.md")

    def test_state_space(self):
        self.check_guide("state_space.md")

    def test_quantization(self):
        self.check_guide("quantization.md")

    def test_tutorial(self):
        folder = self.root / "novels"
        folder.mkdir()
        for guide in (ROOT / "docs").glob("*.md"):
            (folder / f"{guide.stem}.txt").write_text(guide.read_text())
        smaller = {"num_layers": (4, 1), "model_dim": (128, 32), "hidden_dim": (384, 48), "sequence_length": (128, 32),
                   "batch_size": (16, 4), "train_tokens": ("2_000_000", 2560), "warmup_steps": (50, 2)}
        lines = [tuple(f"\n{name} = {value}\n" for value in values) for name, values in smaller.items()]
        self.check_guide("tutorial.md", lines)

    def test_backends(self):
        shutil.copy(pathlib.Path(os.environ["TENON_TEST_PLUGINS"]) / "libzeta_pjrt.so", self.root)
        self.check_guide("backends.md")

    def test_plugins(self):
        self.check_guide("plugins.md")
