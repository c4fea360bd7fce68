#include "tenon/pjrt/device_profiler.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tenon/pjrt/fake_api.h"
#include "tenon/pjrt/profiler_api.h"

namespace tenon::pjrt {
namespace {

using testing::HasSubstr;

// A profiler that notes what is called, and fails where it is told to.
struct Calls {
  std::string log, fail_at;
  bool own_buffer = false;
  int errors = 0;
} calls;

profiler::PluginError* note(const std::string& name) {
  calls.log += name + ";";
  if (name != calls.fail_at) return nullptr;
  ++calls.errors;
  return reinterpret_cast<profiler::PluginError*>(&calls);
}
profiler::Handle* const kHandle = reinterpret_cast<profiler::Handle*>(&calls.log);
// Two fields of an XSpace, and the byte that plugins leave behind their own buffer.
uint8_t recorded[] = {0x0a, 3, 'a', 0, 0, 0x12, 2, 'b', 0, 0};
const std::string kMessage("\x0a\x03\x61\x00\x00\x12\x02\x62\x00", 9);

void error_destroy(profiler::ErrorDestroyArgs*) { --calls.errors; }
void error_message(profiler::ErrorMessageArgs* a) {
  a->message = "no counters left";
  a->message_size = 16;
}
profiler::PluginError* create(profiler::CreateArgs* a) {
  a->profiler = kHandle;
  return note("create");
}
template <char Letter>
profiler::PluginError* with_handle(profiler::HandleArgs* a) {
  EXPECT_EQ(a->profiler, kHandle);
  return note(Letter == 's' ? "start" : Letter == 'e' ? "stop" : "destroy");
}
profiler::PluginError* collect(profiler::CollectArgs* a) {
  if (calls.own_buffer) a->buffer = recorded;
  a->buffer_size = calls.own_buffer ? sizeof(recorded) : kMessage.size();
  if (a->buffer != nullptr && !calls.own_buffer) std::copy(kMessage.begin(), kMessage.end(), a->buffer);
  return note("collect");
}

class DeviceProfilerTest : public testing::Test {
 protected:
  DeviceProfilerTest() {
    calls = {};
    extension_.base.struct_size = sizeof(extension_);
    extension_.base.type = PJRT_Extension_Type_Profiler;
    extension_.api = &api_;
  }
  Result<std::unique_ptr<DeviceProfiler>> start() {
    fake_.table().extension_start = &extension_.base;
    return DeviceProfiler::start(Plugin::from_api(fake_.api(), "fake").value());
  }
  profiler::Api api_{sizeof(profiler::Api), nullptr,          error_destroy,    error_message, nullptr, create,
                     with_handle<'d'>,      with_handle<'s'>, with_handle<'e'>, collect};
  profiler::Extension extension_{};
  FakeApi fake_;
};

TEST_F(DeviceProfilerTest, RecordsOnce) {
  for (const bool own_buffer : {false, true}) {
    calls = {};
    calls.own_buffer = own_buffer;
    {
      const auto recording = start().value();
      EXPECT_EQ(recording->stop().value(), kMessage);
    }
    EXPECT_EQ(calls.log,
              own_buffer ? "create;start;stop;collect;destroy;" : "create;start;stop;collect;collect;destroy;");
  }
}

TEST_F(DeviceProfilerTest, FailuresAreErrorsAndLeaveNothing) {
  for (const char* name : {"create", "start", "stop", "collect"}) {
    calls = {};
    calls.fail_at = name;
    auto recording = start();
    const Error e = recording ? (*recording)->stop().error() : recording.error();
    EXPECT_EQ(e.code(), ErrorCode::plugin);
    EXPECT_THAT(e.what(), HasSubstr("no counters left")) << name;
    EXPECT_EQ(calls.errors, 0) << name;
  }
}

TEST_F(DeviceProfilerTest, PluginsWithoutOne) {
  const auto plugin = Plugin::from_api(fake_.api(), "fake").value();
  EXPECT_EQ(DeviceProfiler::start(plugin).error().code(), ErrorCode::unsupported);
  api_.struct_size = sizeof(profiler::Api) - sizeof(void*);
  EXPECT_EQ(start().error().code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace tenon::pjrt
