// Own kernels on the real CPU plugin.
#include "tenon/pjrt/ffi.h"

#include <gmock/gmock.h>

#include "tenon/base/literal.h"
#include "tenon/pjrt/client.h"
#include "tenon/pjrt/fake_api.h"
#include "xla/ffi/api/ffi.h"

namespace tenon::pjrt {
namespace {

using ::testing::HasSubstr;
namespace ffi = xla::ffi;

ffi::Error scale(float factor, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  if (factor < 0) return ffi::Error(ffi::ErrorCode::kInvalidArgument, "factor below zero");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(
    kScale, scale, ffi::Ffi::Bind().Attr<float>("factor").Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());

std::string program(const std::string& factor) {
  return R"(module @m { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @tenon_test_scale(%x) {api_version = 4 : i32, backend_config = {factor = )" +
         factor + R"( : f32}} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32> } })";
}

class FfiOnCpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_plugin("cpu")) GTEST_SKIP() << "no CPU plugin is installed";
    plugin_ = Plugin::open("cpu").value();
    ASSERT_TRUE(register_ffi_handler(*plugin_, "tenon_test_scale", "Host", reinterpret_cast<void*>(kScale)).ok());
    client_ = Client::create(plugin_, CpuClientOptions{}).value();
  }
  Result<Event> run(const std::string& factor, Literal& out) const {
    const Literal x = Literal::from(DType::f32, {4}, std::vector<double>{1, 2, 3, 4});
    const Executable executable = client_->compile(program(factor), {}).value();
    const Buffer input = client_->copy_from_host(x.type(), x.bytes(), client_->devices()[0]).value();
    const std::vector<const Buffer*> arguments[] = {{&input}};
    Result<std::vector<std::vector<Buffer>>> outputs = executable.execute(arguments);
    if (!outputs) return outputs.error();
    return (*outputs)[0][0].copy_to_host(out.bytes());
  }
  std::shared_ptr<const Plugin> plugin_;
  std::shared_ptr<const Client> client_;
};

TEST_F(FfiOnCpu, OwnKernelsRun) {
  Literal out(TensorType{DType::f32, {4}});
  ASSERT_TRUE(run("2.5", out).value().wait().ok());
  EXPECT_EQ(out, Literal::from(DType::f32, {4}, std::vector<double>{2.5, 5, 7.5, 10}));
}

TEST_F(FfiOnCpu, TheirErrorsArrive) {
  Literal out(TensorType{DType::f32, {4}});
  const Result<Event> event = run("-1.0", out);
  const Status status = event ? (*event).wait() : event.error();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().what(), HasSubstr("factor below zero"));
}

TEST_F(FfiOnCpu, UnknownKernelsAreErrors) {
  EXPECT_FALSE(client_
                   ->compile(R"(module @m { func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @tenon_no_such_kernel(%x) {api_version = 4 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32> } })",
                             {})
                   .ok());
}

TEST_F(FfiOnCpu, ThePluginDescribesItself) {
  const Options attributes = plugin_->attributes().value();
  EXPECT_TRUE(std::holds_alternative<std::vector<int64_t>>(attributes.at("stablehlo_current_version")));
  EXPECT_EQ(plugin_->platform(), "cpu");
  EXPECT_EQ(Plugin::open("cpu").value(), plugin_);
}

TEST(Ffi, PluginsWithoutItSaySo) {
  FakeApi fake;
  const auto plugin = Plugin::from_api(fake.api(), "fake").value();
  EXPECT_EQ(register_ffi_handler(*plugin, "k", "Host", nullptr).error().code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace tenon::pjrt
