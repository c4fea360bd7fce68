#include "tenon/pjrt/plugin.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tenon/base/file.h"
#include "tenon/base/hash.h"
#include "tenon/pjrt/fake_api.h"
#include "tenon/pjrt/fingerprint.h"
#include "tenon/pjrt/installed_jax.h"

namespace tenon::pjrt {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A new folder for one test, and an environment variable that is put back.
class PluginFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("tenon_plugin_" + random_suffix());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    for (const auto& [name, old] : saved_) {
      old ? setenv(name.c_str(), old->c_str(), 1) : unsetenv(name.c_str());
    }
  }
  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    saved_.emplace(name, old == nullptr ? std::nullopt : std::optional<std::string>(old));
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::string write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path.string();
  }
  std::filesystem::path folder_;

 private:
  std::map<std::string, std::optional<std::string>> saved_;
};

TEST(PluginVersion, OldOnesAreRefusedWithWhatToDo) {
  FakeApi fake;
  fake.table().pjrt_api_version.minor_version = 40;
  const Result<std::shared_ptr<const Plugin>> old = Plugin::from_api(fake.api(), "old plugin");
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code(), ErrorCode::plugin);
  EXPECT_THAT(old.error().what(),
              AllOf(HasSubstr("old plugin"), HasSubstr("0.40"), HasSubstr("0.81"), HasSubstr("scripts/setup")));
  fake.table().pjrt_api_version.minor_version = 200;
  EXPECT_TRUE(Plugin::from_api(fake.api(), "new").ok());
  EXPECT_EQ(Plugin::from_api(fake.api(), "new").value()->api_version(), (ApiVersion{0, 200}));
  fake.table().pjrt_api_version.major_version = 1;
  EXPECT_FALSE(Plugin::from_api(fake.api(), "other").ok());
  fake.table().struct_size = 16;
  EXPECT_FALSE(Plugin::from_api(fake.api(), "short").ok());
  EXPECT_FALSE(Plugin::from_api(nullptr, "none").ok());
}

TEST(PluginStart, ItsRefusalIsHonoured) {
  FakeApi fake;
  fake.fail_call(1, PJRT_Error_Code_UNAVAILABLE);
  const Result<std::shared_ptr<const Plugin>> refused = Plugin::from_api(fake.api(), "busy");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what(), AllOf(HasSubstr("busy"), HasSubstr("UNAVAILABLE")));
  EXPECT_EQ(fake.total_alive(), 0);
}

TEST(PluginExtensions, AreFoundByType) {
  FakeApi fake;
  PJRT_Extension_Base second{sizeof(PJRT_Extension_Base), PJRT_Extension_Type_FFI, nullptr};
  PJRT_Extension_Base first{sizeof(PJRT_Extension_Base), PJRT_Extension_Type_Layouts, &second};
  fake.table().extension_start = &first;
  const auto plugin = Plugin::from_api(fake.api(), "fake").value();
  EXPECT_EQ(plugin->extension(PJRT_Extension_Type_FFI), &second);
  EXPECT_EQ(plugin->extension(PJRT_Extension_Type_Profiler), nullptr);
}

// As libtpu and XLA's for CUDA show themselves before they are initialized.
TEST(PluginPlatform, AnothersIsRefusedBeforeItIsInitialized) {
  FakeApi fake;
  PJRT_Extension_Base topology{sizeof(PJRT_Extension_Base), static_cast<PJRT_Extension_Type>(16), nullptr};
  fake.table().extension_start = &topology;
  fake.fail_call(0);
  const Result<std::shared_ptr<const Plugin>> tpu = Plugin::from_api(fake.api(), "libtpu.so", "cuda");
  ASSERT_FALSE(tpu.ok());
  EXPECT_EQ(tpu.error().code(), ErrorCode::plugin);
  EXPECT_THAT(tpu.error().what(),
              HasSubstr("at libtpu.so: the plugin is for another platform (got tpu, expected cuda)"));
  EXPECT_EQ(fake.calls(), 0);
  EXPECT_TRUE(Plugin::from_api(fake.api(), "libtpu.so", "tpu").ok());
  EXPECT_TRUE(Plugin::from_api(fake.api(), "libtpu.so", "zeta").ok()) << "a description may call it what it likes";

  PJRT_Extension_Base gpu{sizeof(PJRT_Extension_Base), PJRT_Extension_Type_Gpu_Custom_Call, nullptr};
  fake.table().extension_start = &gpu;
  static size_t num_attributes;
  num_attributes = 0;
  fake.table().PJRT_Plugin_Attributes = [](PJRT_Plugin_Attributes_Args* args) -> PJRT_Error* {
    static const PJRT_NamedValue version = [] {
      PJRT_NamedValue value{};
      value.name = "cuda_version";
      value.name_size = std::strlen(value.name);
      return value;
    }();
    args->attributes = &version;
    args->num_attributes = num_attributes;
    return nullptr;
  };
  EXPECT_TRUE(Plugin::from_api(fake.api(), "gpu.so", "rocm").ok()) << "it says nothing of CUDA";
  EXPECT_THAT(Plugin::from_api(fake.api(), "gpu.so", "cuda").error().what(), HasSubstr("got rocm, expected cuda"));
  num_attributes = 1;
  EXPECT_THAT(Plugin::from_api(fake.api(), "gpu.so", "rocm").error().what(), HasSubstr("got cuda, expected rocm"));
  EXPECT_TRUE(Plugin::from_api(fake.api(), "gpu.so", "cuda").ok());
}

TEST_F(PluginFiles, MissingPluginsSayHowToInstallThem) {
  set("TENON_PLUGIN_PATH", folder_.string());
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "HOME"}) set(name, folder_.string());
  const Result<std::string> none = find_any_plugin("zeta");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), ErrorCode::plugin);
  EXPECT_THAT(none.error().what(), AllOf(HasSubstr("TENON_PLUGIN_PATH"), HasSubstr(folder_.string())));
  EXPECT_EQ(find_plugin("cudaa").error().code(), ErrorCode::unknown_name);
}

TEST_F(PluginFiles, TheUsersPathComesFirst) {
  set("TENON_PLUGIN_PATH", folder_.string());
  write("tpu/sdk.so", "");
  const std::string tpu = write("tpu/libtpu.so", "");
  EXPECT_EQ(find_plugin("tpu").value(), tpu);
  const std::string cuda = write("cuda/xla_cuda_plugin.so", "");
  EXPECT_EQ(find_plugin("cuda").value(), cuda);
  set("TENON_PLUGIN_PATH", cuda);
  EXPECT_EQ(find_plugin("cpu").value(), cuda);
  set("TENON_PLUGIN_PATH", cuda + ".missing");
  EXPECT_EQ(find_plugin("cpu").error().code(), ErrorCode::plugin);
}

// As `pip install` lays them out; HOME and PATH name nothing else.
TEST_F(PluginFiles, ThoseThatJaxBroughtAreFound) {
  set("VIRTUAL_ENV", "");
  set("CONDA_PREFIX", "");
  set("PATH", (folder_ / "venv/bin").string() + ":/nowhere");
  set("HOME", folder_.string());
  const std::string none = plugin_of_jax("cuda");
  const std::string of_user = write(".local/lib/python3.9/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "");
  EXPECT_EQ(plugin_of_jax("cuda"), of_user) << "before it, " << none;
  write("venv/bin/python3", "");
  write("venv/lib/python3.9/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so", "");
  const std::string old = write("venv/lib/python3.11/site-packages/jax_plugins/xla_cuda12/xla_cuda_plugin.so", "");
  EXPECT_EQ(plugin_of_jax("cuda"), old) << "the newest Python's";
  const std::string cuda = write("venv/lib/python3.11/site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so", "");
  EXPECT_EQ(plugin_of_jax("cuda"), cuda);
  const std::string tpu = write("conda/lib/python3.12/site-packages/libtpu/libtpu.so", "");
  set("CONDA_PREFIX", (folder_ / "conda").string());
  EXPECT_EQ(plugin_of_jax("tpu"), tpu);
  const std::string rocm = write("venv/lib/python3.9/site-packages/jax_plugins/xla_rocm7/xla_rocm_plugin.so", "");
  EXPECT_EQ(plugin_of_jax("rocm"), rocm);
  EXPECT_EQ(plugin_of_jax("cpu"), "");
  EXPECT_EQ(python_package_folders()[0], (folder_ / "conda/lib/python3.12/site-packages").string());
}

TEST_F(PluginFiles, NvidiasLibrariesAreBesideThePluginOrAmongItsPackages) {
  const std::string plugin = write("site-packages/jax_plugins/xla_cuda13/xla_cuda_plugin.so", "");
  EXPECT_EQ(nvidia_folder(plugin), "");
  write("site-packages/nvidia/cu13/lib/libcudart.so.13", "");
  EXPECT_EQ(nvidia_folder(plugin), (folder_ / "site-packages/nvidia").string());
  EXPECT_EQ(nvidia_folder(write("site-packages/other/xla_cuda13/xla_cuda_plugin.so", "")), "");
  write("site-packages/jax_plugins/xla_cuda13/nvidia/lib/libcudart.so.13", "");
  EXPECT_EQ(nvidia_folder(plugin), (folder_ / "site-packages/jax_plugins/xla_cuda13/nvidia").string());
}

TEST_F(PluginFiles, WhatIsNoPluginIsRefused) {
  const Result<std::shared_ptr<const Plugin>> text = Plugin::load(write("text.so", "not a library"));
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code(), ErrorCode::plugin);
  EXPECT_THAT(text.error().what(), HasSubstr("text.so"));
  EXPECT_FALSE(Plugin::load((folder_ / "none.so").string()).ok());
  const Result<std::shared_ptr<const Plugin>> library = Plugin::load("libdl.so.2");
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().what(), HasSubstr("GetPjrtApi"));
}

TEST_F(PluginFiles, FingerprintsFollowTheBytes) {
  set("TENON_CACHE_DIR", (folder_ / "cache").string());
  const std::string path = write("plugin.so", "first");
  EXPECT_EQ(file_fingerprint(path).value(), sha256_hex("first"));
  // The note is believed while path, size and time stay.
  const std::filesystem::path notes = folder_ / "cache" / "plugin";
  const std::filesystem::path note = std::filesystem::directory_iterator(notes)->path();
  const std::string other = sha256_hex("another");
  ASSERT_TRUE(write_file_atomic(note.string(), other).ok());
  EXPECT_EQ(file_fingerprint(path).value(), other);
  // A damaged note is not.
  ASSERT_TRUE(write_file_atomic(note.string(), "rubbish").ok());
  EXPECT_EQ(file_fingerprint(path).value(), sha256_hex("first"));
  write("plugin.so", "second");
  EXPECT_EQ(file_fingerprint(path).value(), sha256_hex("second"));
  EXPECT_EQ(file_fingerprint(path + "x").error().code(), ErrorCode::not_found);
}

}  // namespace
}  // namespace tenon::pjrt
