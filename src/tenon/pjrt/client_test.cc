// Clients, buffers, programs and topologies against a fake plugin.
#include "tenon/pjrt/client.h"

#include <gmock/gmock.h>

#include "tenon/base/literal.h"
#include "tenon/pjrt/fake_api.h"
#include "tenon/pjrt/topology.h"

namespace tenon::pjrt {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const Literal kValues = Literal::from(DType::f32, {2, 2}, std::vector<double>{1, 2, 3, 4});

// Everything once; the first error, or none.
Status use_everything(const FakeApi& fake) {
  Result<std::shared_ptr<const Plugin>> plugin = Plugin::from_api(fake.api(), "fake");
  if (!plugin) return plugin.error();
  Result<std::shared_ptr<const Client>> client = Client::create(*plugin);
  if (!client) return client.error();
  const CompileOptions two{.num_partitions = 2, .device_ids = {7, 8}, .flags = {}};
  Result<Executable> program = (*client)->compile("module {}", two);
  if (!program) return program.error();
  if (Result<MemoryStats> stats = program->program().memory_stats(); !stats) return stats.error();
  Result<std::string> bytes = program->program().serialize();
  if (!bytes) return bytes.error();
  if (Result<Executable> again = (*client)->deserialize(*bytes, two); !again) return again.error();
  std::vector<Buffer> inputs;
  std::vector<std::vector<const Buffer*>> arguments;
  for (const Device& device : (*client)->devices()) {
    Result<Buffer> buffer = (*client)->copy_from_host(kValues.type(), kValues.bytes(), device);
    if (!buffer) return buffer.error();
    inputs.push_back(std::move(buffer).value());
    if (Result<DeviceMemory> memory = (*client)->memory(device); !memory) return memory.error();
  }
  for (const Buffer& b : inputs) arguments.push_back({&b});
  Result<std::vector<std::vector<Buffer>>> outputs = program->execute(arguments);
  if (!outputs) return outputs.error();
  Literal back(kValues.type());
  Result<Event> copied = (*outputs)[1][0].copy_to_host(back.bytes());
  if (!copied) return copied.error();
  if (Status s = copied->wait(); !s) return s;
  if (Result<Event> ready = (*outputs)[0][0].ready(); !ready) return ready.error();
  EXPECT_EQ(back, kValues);
  Result<Topology> machine = Topology::create(*plugin, "machine");
  if (!machine) return machine.error();
  Result<CompiledProgram> compiled =
      machine->compile("module {}", {.num_partitions = 2, .device_ids = {}, .flags = {}});
  return compiled ? Status() : compiled.error();
}

TEST(FakePlugin, NothingLeaks) {
  FakeApi fake;
  const Status status = use_everything(fake);
  EXPECT_TRUE(status.ok()) << status.error().what();
  EXPECT_EQ(fake.total_alive(), 0);
  EXPECT_EQ(fake.misuse(), "");
  EXPECT_EQ(fake.last_program(), "module {}");
}

TEST(FakePlugin, WhicheverCallFailsItIsSaidAndNothingLeaks) {
  FakeApi fake;
  fake.fail_call(0);
  ASSERT_TRUE(use_everything(fake).ok());
  const int calls = fake.calls();
  ASSERT_GT(calls, 30);
  for (int n = 1; n <= calls; ++n) {
    fake.fail_call(n);
    const Status status = use_everything(fake);
    ASSERT_FALSE(status.ok()) << n;
    EXPECT_THAT(status.error().what(), AllOf(HasSubstr("INTERNAL"), HasSubstr("was told to fail")));
    EXPECT_EQ(fake.total_alive(), 0) << n << ": " << status.error().what();
    EXPECT_EQ(fake.misuse(), "") << n;
  }
}

TEST(FakePlugin, ErrorsOfWorkComeWithTheWait) {
  FakeApi fake;
  {
    const auto client = Client::create(Plugin::from_api(fake.api(), "fake").value()).value();
    const Buffer buffer = client->copy_from_host(kValues.type(), kValues.bytes(), client->devices()[0]).value();
    fake.fail_work(true);
    const Event ready = buffer.ready().value();
    for (int i = 0; i < 2; ++i) {
      const Status s = ready.wait();
      ASSERT_FALSE(s.ok());
      EXPECT_THAT(s.error().what(), AllOf(HasSubstr("ABORTED"), HasSubstr("the work failed")));
    }
    EXPECT_FALSE(client->copy_from_host(kValues.type(), kValues.bytes(), client->devices()[0]).ok());
  }
  EXPECT_EQ(fake.total_alive(), 0);
}

TEST(FakePlugin, KindsOfErrors) {
  FakeApi fake;
  const auto plugin = Plugin::from_api(fake.api(), "fake").value();
  const auto client = Client::create(plugin).value();
  fake.fail_call(1, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  const Result<Buffer> full = client->copy_from_host(kValues.type(), kValues.bytes(), client->devices()[0]);
  EXPECT_EQ(full.error().code(), ErrorCode::out_of_memory);
  EXPECT_THAT(full.error().hint(), HasSubstr("too little memory"));
  fake.fail_call(1, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(client->compile("", {}).error().code(), ErrorCode::compile);
  fake.fail_call(1, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_EQ(Topology::create(plugin, "m").error().code(), ErrorCode::unsupported);
}

TEST(FakePlugin, WhatItsCompilerThrowsIsAnError) {
  FakeApi fake;
  const auto plugin = Plugin::from_api(fake.api(), "fake").value();
  fake.table().PJRT_Client_Compile = [](PJRT_Client_Compile_Args*) -> PJRT_Error* {
    throw std::runtime_error("Invalid dimension size -294967296");
  };
  fake.table().PJRT_Compile = [](PJRT_Compile_Args*) -> PJRT_Error* { throw std::runtime_error("no such size"); };
  const Result<Executable> here = Client::create(plugin).value()->compile("module {}", {});
  EXPECT_EQ(here.error().code(), ErrorCode::compile);
  EXPECT_THAT(here.error().what(), AllOf(HasSubstr("compile the program: Invalid dimension size -294967296"),
                                         HasSubstr("take smaller ones")));
  const Result<CompiledProgram> ahead = Topology::create(plugin, "m").value().compile("module {}", {});
  EXPECT_EQ(ahead.error().code(), ErrorCode::compile);
  EXPECT_THAT(ahead.error().what(), HasSubstr("no such size"));
}

TEST(FakePlugin, BuffersOutliveTheLastHandleOfTheirClient) {
  FakeApi fake;
  Buffer kept;
  {
    const auto client = Client::create(Plugin::from_api(fake.api(), "fake").value()).value();
    Buffer first = client->copy_from_host(kValues.type(), kValues.bytes(), client->devices()[0]).value();
    kept = client->copy_from_host(kValues.type(), kValues.bytes(), client->devices()[1]).value();
    kept = std::move(first);
    EXPECT_EQ(fake.alive().at("buffer"), 1);
  }
  EXPECT_EQ(fake.alive().at("client"), 1);
  EXPECT_EQ(kept.type().value(), kValues.type());
  kept = Buffer();
  EXPECT_EQ(fake.total_alive(), 0);
  EXPECT_EQ(fake.misuse(), "");
}

TEST(FakePlugin, ClientTellsOfItsDevices) {
  FakeApi fake;
  const auto client = Client::create(Plugin::from_api(fake.api(), "fake").value()).value();
  EXPECT_EQ(client->platform_name(), "fake");
  EXPECT_EQ(client->platform_version(), "1.0");
  ASSERT_EQ(client->devices().size(), 2U);
  EXPECT_EQ(client->devices()[1].id, 8);
  EXPECT_EQ(client->devices()[1].kind, "fake device");
}

TEST(FakePlugin, ClientTellsOfItsDevicesMemory) {
  FakeApi fake;
  const auto client = Client::create(Plugin::from_api(fake.api(), "fake").value()).value();
  const Device& device = client->devices()[0];
  const DeviceMemory memory = client->memory(device).value();
  EXPECT_EQ(memory.in_use, 100);
  EXPECT_EQ(memory.peak, 257);
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(client->peak_memory(), 258) << "of the device that had most";
  fake.set_peak({});
  EXPECT_EQ(client->memory(device).value().peak, std::nullopt);
  EXPECT_EQ(client->peak_memory(), std::nullopt);
  fake.fail_call(1, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_EQ(client->memory(device).error().code(), ErrorCode::unsupported);
  fake.set_peak(250);
  fake.fail_call(2);
  EXPECT_EQ(client->peak_memory(), std::nullopt) << "one device alone doesn't say what all took";
}

TEST(FakePlugin, OptionsKeepTheirTypes) {
  FakeApi fake;
  const auto plugin = Plugin::from_api(fake.api(), "fake").value();
  (void)Client::create(plugin, CpuClientOptions{.device_count = 4, .asynchronous = false}).value();
  EXPECT_THAT(fake.last_options(), UnorderedElementsAre(Pair("cpu_device_count", "i4"), Pair("asynchronous", "false")));
  GpuClientOptions gpu;
  gpu.allocator = "bfc";
  gpu.memory_fraction = 0.5F;
  gpu.preallocate = true;
  gpu.visible_devices = {0, 2};
  (void)Client::create(plugin, to_options(gpu)).value();
  EXPECT_THAT(fake.last_options(), UnorderedElementsAre(Pair("allocator", "bfc"), Pair("memory_fraction", "f0.500000"),
                                                        Pair("preallocate", "true"), Pair("visible_devices", "0,2,")));
}

TEST(FakePlugin, SizesOfHostMemoryAreChecked) {
  FakeApi fake;
  const auto client = Client::create(Plugin::from_api(fake.api(), "fake").value()).value();
  const std::span<const std::byte> bytes = kValues.bytes();
  EXPECT_EQ(client->copy_from_host(kValues.type(), bytes.first(15), client->devices()[0]).error().code(),
            ErrorCode::shape_mismatch);
  const Buffer buffer = client->copy_from_host(kValues.type(), bytes, client->devices()[0]).value();
  std::vector<std::byte> out(17);
  EXPECT_EQ(buffer.copy_to_host(out).error().code(), ErrorCode::shape_mismatch);
}

TEST(FakePlugin, TopologyGivesItsDevicesToThePrograms) {
  FakeApi fake;
  const Topology machine = Topology::create(Plugin::from_api(fake.api(), "fake").value(), "m").value();
  EXPECT_THAT(machine.device_ids(), ElementsAre(7, 8));
  EXPECT_EQ(machine.device_kind(), "fake device");
  ASSERT_TRUE(machine.compile("module {}", {.num_partitions = 2, .device_ids = {}, .flags = {}}).ok());
  EXPECT_EQ(fake.last_compile_options(), serialize({.num_partitions = 2, .device_ids = {7, 8}, .flags = {}}));
  EXPECT_EQ(machine.compile("", {.num_partitions = 3, .device_ids = {}, .flags = {}}).error().code(),
            ErrorCode::mesh_mismatch);
}

}  // namespace
}  // namespace tenon::pjrt
