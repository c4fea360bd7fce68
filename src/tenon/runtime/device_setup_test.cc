#include "tenon/runtime/device_setup.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "tenon/base/file.h"
#include "tenon/ir/testing/errors.h"
#include "tenon/runtime/aot.h"
#include "tenon/runtime/chips.h"
#include "tenon/runtime/testing/chip_text.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// The one device that a table of these lines, behind its speeds (lines 2 to 12), describes.
Chip device(const std::string& lines) {
  return ChipTable::parse(std::string("[z1]\n") + kChipSpeeds + lines, "folder/f.toml").value().find("z1");
}
Error refused(const std::string& lines) {
  const auto error = error_of([&] { device(lines); });
  EXPECT_TRUE(error) << lines;
  return error ? *error : Error(ErrorCode::internal, "");
}

TEST(DeviceSetup, IsReadFromTheDevicesTable) {
  const Chip chip = device(R"(platform = "zeta"
plugin = "../libzeta.so"
environment = { ZETA_HOME = "/opt/zeta" }
client_options = { lanes = 4, half = 0.5, fast = true, name = "a", ids = [1, 2] }
compile_options = { zeta_fuse = true, zeta_level = 3, zeta_mode = "b" }
kernels = ["cpu_dot", "cpu_attention"]
topology = { name = "{name}:{shape}", options = { hosts = "{hosts} of {devices}", all = "{num_devices}", slow = 1 } }
[[z1.mesh_rules]]
instance = ".*"
)");
  const DeviceSetup& setup = chip.setup;
  EXPECT_EQ(chip.platform, "zeta");
  EXPECT_EQ(chip.instance(32), "zeta-z1-32");
  EXPECT_EQ(setup.plugin, std::filesystem::absolute("libzeta.so").string());  // from the file's folder
  EXPECT_THAT(setup.environment, ElementsAre(Pair("ZETA_HOME", "/opt/zeta")));
  EXPECT_EQ(setup.client_options, (pjrt::Options{{"lanes", int64_t{4}},
                                                 {"half", 0.5F},
                                                 {"fast", true},
                                                 {"name", std::string("a")},
                                                 {"ids", std::vector<int64_t>{1, 2}}}));
  EXPECT_THAT(setup.compile_options,
              UnorderedElementsAre(Pair("zeta_fuse", "true"), Pair("zeta_level", "3"), Pair("zeta_mode", "b")));
  EXPECT_THAT(*setup.kernels, ElementsAre("cpu_dot", "cpu_attention"));
  EXPECT_EQ(setup.aot, AotWay::topology);
  EXPECT_EQ(setup.topology, "{name}:{shape}");
  EXPECT_TRUE(setup.has_mesh_rules());
  EXPECT_EQ(setup.where, "folder/f.toml:1");
}

TEST(DeviceSetup, WhatIsLeftOutIsThePlatforms) {
  const auto way = [](const char* platform) { return aot_way(platform, {}); };
  EXPECT_EQ(way("cpu"), AotWay::devices);
  EXPECT_EQ(way("tpu"), AotWay::topology);
  EXPECT_EQ(way("zeta"), AotWay::none);
  EXPECT_EQ(aot_way("tpu", device("platform = \"tpu\"\naot = \"none\"\n").setup), AotWay::none);
  EXPECT_EQ(kernels_of("cpu", {}, 0).size(), kernels_for("cpu").size());
  EXPECT_TRUE(kernels_of("cpu", device("platform = \"cpu\"\nkernels = []\n").setup, 0).empty());
  const KernelList named = kernels_of("zeta", device("platform = \"cpu\"\nkernels = [\"cpu_dot\"]\n").setup, 0);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].name, "cpu_dot");
  EXPECT_FALSE(device("platform = \"cpu\"\n").setup.has_mesh_rules());
}

TEST(DeviceSetup, MistakesAreAtTheirLine) {
  const auto expect = [](const std::string& lines, ErrorCode code, const char* place, const char* words) {
    const Error e = refused(lines);
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(e.path(), place) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(words));
  };
  const auto platform = [](const std::string& line) { return "platform = \"cpu\"\n" + line; };
  expect("platform = \"tpv\"\n", ErrorCode::unknown_name, "folder/f.toml:13", "did you mean tpu?");
  expect(platform("plugins = \"x\"\n"), ErrorCode::unknown_name, "folder/f.toml:14", "did you mean plugin?");
  expect(platform("plugin = 3\n"), ErrorCode::wrong_type, "folder/f.toml:14", "not a text");
  expect(platform("plugin = \"\"\n"), ErrorCode::invalid_argument, "folder/f.toml:14", "empty");
  expect(platform("kernels = [\n\"cpu_dot\",\n\"cpu_atention\"]\n"), ErrorCode::unknown_name, "folder/f.toml:16",
         "did you mean cpu_attention");
  expect(platform("kernels = \"cpu_dot\"\n"), ErrorCode::wrong_type, "folder/f.toml:14", "not a list");
  expect(platform("client_options = { a = [0.5] }\n"), ErrorCode::wrong_type, "folder/f.toml:14", "whole number");
  expect(platform("compile_options = { a = [1] }\n"), ErrorCode::wrong_type, "folder/f.toml:14", "not one value");
  expect(platform("environment = { A = 1 }\n"), ErrorCode::wrong_type, "folder/f.toml:14", "not a text");
  expect(platform("environment = { \"A=B\" = \"1\" }\n"), ErrorCode::invalid_argument, "folder/f.toml:14", "A=B");
  expect(platform("aot = \"device\"\n"), ErrorCode::unknown_name, "folder/f.toml:14", "none, devices");
  expect(platform("topology = { nam = \"x\" }\n"), ErrorCode::unknown_name, "folder/f.toml:14", "did you mean name?");
  expect(platform("aot = \"none\"\ntopology = { name = \"x\" }\n"), ErrorCode::invalid_argument, "folder/f.toml:15",
         "in the place of `aot`");
  expect(platform("topology = { name = \"x\" }\naot = \"none\"\n"), ErrorCode::invalid_argument, "folder/f.toml:14",
         "in the place of `aot`");
  expect(platform("mesh_rules = 3\n"), ErrorCode::wrong_type, "folder/f.toml:14", "not a list");
}

TEST(DeviceSetup, AFileDescribesOneDevice) {
  const std::string path = std::filesystem::temp_directory_path() / ("tenon_device_" + random_suffix() + ".toml");
  const std::string one = std::string("[z1]\nplatform = \"cpu\"\n") + kChipSpeeds;
  write_file_atomic(path, one).value();
  EXPECT_EQ(read_device(path).name, "z1");
  for (const std::string& text : {std::string(), one + "[z2]\nplatform = \"cpu\"\n" + kChipSpeeds}) {
    write_file_atomic(path, text).value();
    const auto error = error_of([&] { read_device(path); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->path(), path);
    EXPECT_THAT(error->what(), AllOf(HasSubstr("tables"), HasSubstr("[z1]")));
  }
  std::filesystem::remove(path);
  EXPECT_EQ(error_of([&] { read_device(path); })->code(), ErrorCode::not_found);
}

TEST(DeviceSetup, PluginsThatAreNotThere) {
  const Chip chip = device("platform = \"zeta\"\nplugin = \"libzeta.so\"\n");
  const auto error = error_of([&] { Backend::open(chip); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::plugin);
  EXPECT_EQ(error->path(), std::filesystem::absolute("folder/libzeta.so").string());
  EXPECT_THAT(error->hint(), HasSubstr("folder/f.toml:1 names it"));
  const auto nowhere = error_of([] { load_plugin("zeta", {}); });
  ASSERT_TRUE(nowhere);
  EXPECT_THAT(nowhere->what(), AllOf(HasSubstr("platform zeta"), HasSubstr("plugin = ")));
}

// The CPU's own plugin, described as something else.
TEST(DeviceSetup, PluginsOfSomethingElse) {
  const Result<std::string> plugin = pjrt::find_plugin("cpu");
  if (!plugin) GTEST_SKIP() << plugin.error().what();
  const auto expect = [&](const std::string& lines, std::initializer_list<const char*> words) {
    const auto error = error_of([&] { Backend::open(device(lines + "plugin = \"" + *plugin + "\"\n")); });
    ASSERT_TRUE(error) << lines;
    EXPECT_EQ(error->code(), ErrorCode::plugin) << error->what();
    for (const char* word : words) EXPECT_THAT(error->what(), HasSubstr(word));
  };
  expect("platform = \"zeta\"\n", {"folder/f.toml:1", "another platform", "got \"cpu\"", "expected \"zeta\""});
  expect("platform = \"cpu\"\ndevice_kind = \"Z1\"\n", {"another device_kind", "got \"cpu\"", "expected \"Z1\""});
  expect("platform = \"cpu\"\nclient_options = { lanes = 1 }\n", {"lanes"});
}

TEST(DeviceSetup, IsWhatTheBackendRunsWith) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const auto plain = Backend::open(device("platform = \"cpu\"\n"));
  EXPECT_EQ(plain->num_devices(), 1);
  EXPECT_EQ(plain->kernels().size(), kernels_for("cpu").size());
  const auto backend =
      Backend::open(device("platform = \"cpu\"\nclient_options = { cpu_device_count = 3 }\n"
                           "compile_options = { xla_cpu_enable_fast_math = true }\nkernels = []\n"));
  EXPECT_EQ(backend->num_devices(), 3);
  EXPECT_EQ(backend->default_flags().at("xla_cpu_enable_fast_math"), "true");
  EXPECT_EQ(backend->default_flags().count("xla_cpu_enable_fast_min_max"), 1U);  // the platform's own stay
  EXPECT_TRUE(backend->kernels().empty());
  ASSERT_NE(backend->chip(), nullptr);
  EXPECT_EQ(backend->chip()->name, "z1");
  EXPECT_EQ(Backend::open("cpu")->chip(), nullptr);
}

// Of what the plugin is told of a machine, which here it refuses to know.
TEST(DeviceSetup, DescribesMachinesToThePlugin) {
  if (!pjrt::find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
  const Chip chip =
      device("platform = \"cpu\"\ntopology = { name = \"{name}/{shape}/{hosts}x{devices}={num_devices}\" }\n");
  const ChipTable chips = ChipTable::builtin().with(chip);
  const auto error = error_of([&] { AotMachine::open(AotTarget::parse("z1:2x8", chips), chips); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what(), HasSubstr("\"z1/1x2x8/2x8=16\""));
  const auto none = error_of([&] { AotMachine::open(AotTarget::parse("trn2:2x16")); });
  ASSERT_TRUE(none);
  EXPECT_EQ(none->code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace tenon
