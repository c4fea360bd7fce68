"""Accelerators by description, and checks of plugins: an invented one, which is the CPU's plugin under other names."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

from support import COMMAND, CommandTest, metrics, run

PLUGINS = pathlib.Path(os.environ["TENON_TEST_PLUGINS"])
ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = """
[z1]
platform = "zeta"
plugin = "libzeta_pjrt.so"
device_kind = "Zeta Z1"
client_options = { lanes = 4 }
compile_options = { xla_cpu_enable_concurrency_optimized_scheduler = false, xla_cpu_enable_fast_min_max = false }
kernels = ["cpu_attention", "cpu_dot"]
aot = "devices"
memory_gib = 1.0
memory_source = "invented"
memory_gb_s = 10.0
bandwidth_source = "invented"
tflops = { bf16 = 0.5 }
tflops_source = "invented"
link_gb_s = 1.0
link_source = "invented"
host_devices = 8
network_gb_s = 1.0
network_source = "invented"
[[z1.mesh_rules]]
instance = "zeta-z1-.*"
modifiers = [{ type = "SetMesh", mesh = { data = 1, fsdp = -1, model = 2 } }]
"""


class BackendsTest(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        shutil.copy(PLUGINS / "libzeta_pjrt.so", cls.root)
        cls.file = cls.device("zeta.toml")

    @classmethod
    def device(cls, name, *changes):
        """A description, with pairs of what it says and what this one says instead."""
        text = DEVICE
        for said, instead in changes:
            assert said in text
            text = text.replace(said, instead)
        (cls.root / name).write_text(text)
        return cls.root / name


class InventedDevice(BackendsTest):
    def test_trains_as_the_cpu_does(self):
        zeta, cpu = self.root / "zeta", self.root / "cpu"
        done = self.check(self.train(zeta, options=["--device", self.file]))
        self.assertIn('mesh rule 0 of device z1, "zeta-z1-.*", matches "zeta-z1-4"\n', done.stderr)
        self.assertIn("4 x zeta (Zeta Z1), mesh fsdp=2,model=2\n", done.stdout)
        self.assertIn("attention by cpu_attention", done.stdout)
        self.assertIn("2 TFLOPS (4 x z1, invented)\n", done.stdout)
        options = ["--platform", "cpu:4", "--set", "mesh.data=1", "--set", "mesh.fsdp=2", "--set", "mesh.model=2"]
        self.check(self.train(cpu, options=options))
        self.assertEqual(len(metrics(cpu)), 20)
        self.assertEqual(metrics(zeta), metrics(cpu))
        wrote = self.check(run("generate", zeta, "--device", self.file, "--prompt", "it is", "--max_tokens", 8)).stdout
        self.assertEqual(wrote, self.check(run("generate", cpu, "--prompt", "it is", "--max_tokens", 8)).stdout)

    def test_a_signal_ends_it_while_its_compiler_hangs(self):
        command = [COMMAND, *map(str, self.train_command(self.root / "hung")), "--device", self.file]
        env = {**os.environ, "ZETA_FAULT": "hang module", "TENON_CACHE_DIR": str(self.root / "cache")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "encoding": "utf-8"}
        with subprocess.Popen(command, env=env, **pipes) as child:
            while child.stdout.readline().split()[:1] != ["total"]:  # of the table of parameters, the last before
                self.assertIsNone(child.poll())
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=60), -signal.SIGINT)

    def test_is_compiled_for(self):
        aot = ["aot", "austen_tiny", "--device", self.file, "--json", "--target"]
        report = json.loads(self.check(run(*aot, "z1:4")).stdout)
        self.assertEqual((report["compiled"], report["mesh"]), (True, "fsdp=2,model=2"))
        self.assertGreater(report["bound_s"], 0)
        self.check_error(run(*aot, "z1:1x8"), 2, "mesh_mismatch", "zeta.toml:2", "got 4 devices", "expected 8")
        report = json.loads(self.check(run(*aot, "z1:1x8", "--analytic")).stdout)
        self.assertEqual((report["compiled"], report["mesh"]), (False, "fsdp=4,model=2"))
        self.check_error(run(*aot, "h100:8"), 2, "--device", "got z1", "z1:8")
        own = run(*aot, "z1:4", "--instance", "abacus-1")
        self.assertIn('no mesh rule matches "abacus-1": there are ', own.stderr)

    def test_mistakes(self):
        def check_device(said, instead, status, *words):
            path = self.device("wrong.toml", (said, instead))
            self.check_error(self.train(self.root / "wrong", options=["--device", path]), status, *words)
            self.assertFalse((self.root / "wrong").exists())

        check_device('"zeta"', '"zetta"', 4, "plugin at ", "wrong.toml:2", 'got "zeta" from', 'expected "zetta"')
        check_device("Zeta Z1", "Zeta Z2", 4, "device_kind", 'got "Zeta Z1" from', 'expected "Zeta Z2"')
        check_device("libzeta_pjrt.so", "libzeta.so", 4, f"plugin at {self.root}/libzeta.so", "wrong.toml:2 names it")
        check_device("libzeta_pjrt.so", "text.txt", 4, "text.txt", "can't be loaded")
        check_device("lanes", "lane", 4, "a client of zeta takes one option: lanes")
        check_device("cpu_dot", "cpu_dott", 2, "wrong.toml:8", "did you mean cpu_dot?")
        check_device("kernels", "kernel", 2, "wrong.toml:8", "did you mean kernels?")
        check_device("SetMesh", "SetMash", 2, "wrong.toml:23", "did you mean SetMesh?")
        # These show when the step is compiled, in a run's directory.
        uneven = self.device("uneven.toml", ("model = 2", "model = 3"))
        self.check_error(self.train(self.root / "uneven", options=["--device", uneven]), 2, "mesh_mismatch")
        flag = self.device("flag.toml", ("xla_cpu_enable_fast_min_max", "zeta_fast"))
        self.check_error(self.train(self.root / "flag", options=["--device", flag]), 4, "zeta_fast")
        done = self.train(self.root / "wrong", options=["--device", self.file], env={"ZETA_FAULT": "old"})
        self.check_error(done, 4, "libzeta_pjrt.so", "version 0.3")
        done = self.train(self.root / "wrong", options=["--device", self.file, "--platform", "cpu"])
        self.check_error(done, 2, "--device", "--platform")
        self.check_error(self.train(self.root / "wrong", options=["--device", "trn3"]), 2, "did you mean trn2?")
        done = self.train(self.root / "wrong", options=["--device", "trn2"], env={"TENON_PLUGIN_PATH": ""})
        self.check_error(done, 4, "no PJRT plugin for platform neuron")

    def test_the_environment_its_plugin_reads(self):
        path = self.device("faulty.toml", ("client_options", 'environment = { ZETA_FAULT = "old" }\nclient_options'))
        self.check_error(self.train(self.root / "wrong", options=["--device", path]), 4, "version 0.3")
        user = self.train(self.root / "users", "max_steps=1", options=["--device", path], env={"ZETA_FAULT": "none"})
        self.check(user)


class BackendCheck(BackendsTest):
    def report(self, *options, fault="", status=0, **env):
        done = run("backend", "check", *options, "--json", env={"ZETA_FAULT": fault, **env})
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def check_one(self, report, name, status, words):
        """One case of the op isn't good, and nothing else."""
        bad = [op for op in report["ops"] if op["status"] not in ("works", "not tried")]
        self.assertEqual({op["name"] for op in bad}, {name})
        for op in bad:
            self.assertEqual(op["status"], status)
            self.assertIn(words, op["words"])
        self.assertFalse(report["works"])
        self.assertGreater(sum(op["status"] == "works" for op in report["ops"]), 5)

    def test_the_cpus(self):
        report = self.report("cpu", "--ops", "add|dot_general|all_.*")
        self.assertEqual((report["machine"], report["runs"], report["works"]), ("4 x cpu", True, True))
        self.assertEqual(report["facts"]["platform"], "cpu")
        self.assertEqual({op["status"] for op in report["ops"]}, {"works"})
        self.assertIn("all_reduce_sum", {op["name"] for op in report["ops"]})
        checks = {check["name"]: check for check in report["checks"]}
        for name in ("training step", "sharding", "donation", "host memory", "own kernels", "saved programs"):
            self.assertEqual(checks[name]["status"], "works", checks[name])
        self.assertEqual(checks["own kernels"]["words"], "attention by cpu_attention")
        self.assertEqual(checks["profiler"]["status"], "refused")
        self.assertFalse(checks["profiler"]["needed"])

    def test_an_invented_one_by_description(self):
        done = self.check(run("backend", "check", "--device", self.file, "--ops", "sin|cos"))
        self.assertIn("programs run on 4 x Zeta Z1\n", done.stdout)
        self.assertRegex(done.stdout, r"\n  training step +works\n")
        self.assertRegex(done.stdout, r"\nops: 2 of 2 without a fault; of \d+ cases \d+ works\n$")
        self.assertIn("checking donation\n", done.stderr)
        # Its client isn't made without the option that the description has.
        done = run("backend", "check", self.root / "libzeta_pjrt.so")
        self.check_error(done, 4, "nothing can be compiled with the plugin here")
        self.assertIn("a client of zeta takes one option: lanes", done.stdout)

    def test_the_op_that_fails_is_found(self):
        check = ["--device", self.file, "--ops", "sin|floor"]
        for fault, status, words in (
            ("refuse stablehlo.sine", "refused", "zeta has no such op"),
            ("crash stablehlo.sine", "crashed", "signal 6 (Aborted): zeta: unit 7 is on fire"),
            ("wrong stablehlo.sine", "differs", "the interpreter says"),
        ):
            with self.subTest(fault):
                self.check_one(self.report(*check, fault=fault, status=4), "sin", status, words)

    def test_devices_that_do_not_come_back(self):
        check = ["--device", self.file, "--ops", "sin|floor"]
        report = self.report(*check, fault="break stablehlo.sine", status=4, ZETA_BROKEN=str(self.root / "broken"))
        self.assertFalse(report["works"])
        self.assertEqual({op["status"] for op in report["ops"]}, {"lost"})
        self.assertIn("the devices don't come back", report["ops"][0]["words"])

    def test_one_that_never_answers(self):
        check = ["--device", self.file, "--ops", "floor", "--timeout_s", 10]
        report = self.report(*check, fault="hang this is no program", status=4)
        hung = [check["name"] for check in report["checks"] if check["status"] == "hung"]
        self.assertEqual(hung, ["words against a wrong program"])
        self.assertEqual({op["status"] for op in report["ops"]}, {"works"})

    def test_what_is_no_plugin(self):
        self.check_error(run("backend", "check", self.text), 4, "text.txt", "can't be loaded")
        self.check_error(run("backend", "check", "/nowhere.so"), 4, "/nowhere.so")
        self.check_error(run("backend", "check", PLUGINS / "no_tag.so"), 4, "no function GetPjrtApi")
        self.check_error(run("backend", "check", PLUGINS / "old_pjrt.so"), 4, "version 0.3")
        self.check_error(run("backend", "check"), 2, "nothing to check")
        self.check_error(run("backend", "check", ""), 2, "the plugin's name is empty")
        self.check_error(run("backend", "check", "cpu", "--target", "h1000:8"), 2, "unknown_name at --target", "h100")
        self.check_error(run("backend", "check", "cpu", "--ops", "("), 2, "--ops")
        self.check_error(run("backend", "check", "cpu", "--ops", "abacus"), 2, "no op is called so")
        self.check_error(run("backend", "check", "cpu", "--timeout_s", 0), 2, "--timeout_s")
        other = run("backend", "check", self.root / "libzeta_pjrt.so", "--target", "cpu:4")
        self.check_error(other, 4, "nothing can be compiled")
        self.assertIn("the target isn't one of the plugin's platform", other.stdout)
