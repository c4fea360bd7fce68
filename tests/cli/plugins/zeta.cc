// The PJRT plugin of an accelerator that doesn't exist: the CPU's plugin under other names. Its client takes one
// option, `lanes`, the number of devices. $ZETA_FAULT makes it fail, as "crash stablehlo.sine": FAULT WORD, of programs
// that hold the word, with `refuse`, `crash`, `hang`, `break` (a crash after which no client can be made: the file
// $ZETA_BROKEN stands for that) or `wrong` (sines become cosines), or of all: `old` (of an API long gone).
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "pjrt_c_api.h"

namespace {

constexpr std::string_view kPlatform = "zeta", kKind = "Zeta Z1";

struct ZetaError {
  PJRT_Error_Code code;
  std::string message;
};

const PJRT_Api* cpu = nullptr;  // what all calls end in
PJRT_Api table;
std::mutex mutex;
std::set<const void*> own_errors;

PJRT_Error* make_error(PJRT_Error_Code code, std::string message) {
  const std::lock_guard lock(mutex);
  auto* error = new ZetaError{code, std::move(message)};
  own_errors.insert(error);
  return reinterpret_cast<PJRT_Error*>(error);
}

const ZetaError* own(const PJRT_Error* error) {
  const std::lock_guard lock(mutex);
  return own_errors.contains(error) ? reinterpret_cast<const ZetaError*>(error) : nullptr;
}

void destroy_error(PJRT_Error_Destroy_Args* args) {
  const ZetaError* error = own(args->error);
  if (error == nullptr) return cpu->PJRT_Error_Destroy(args);
  const std::lock_guard lock(mutex);
  own_errors.erase(error);
  delete error;
}

void message_of_error(PJRT_Error_Message_Args* args) {
  const ZetaError* error = own(args->error);
  if (error == nullptr) return cpu->PJRT_Error_Message(args);
  args->message = error->message.data();
  args->message_size = error->message.size();
}

PJRT_Error* code_of_error(PJRT_Error_GetCode_Args* args) {
  const ZetaError* error = own(args->error);
  if (error == nullptr) return cpu->PJRT_Error_GetCode(args);
  args->code = error->code;
  return nullptr;
}

// The CPU's `cpu_device_count`, from `lanes`.
PJRT_Error* create_client(PJRT_Client_Create_Args* args) {
  if (const char* mark = std::getenv("ZETA_BROKEN"); mark != nullptr && access(mark, F_OK) == 0) {
    return make_error(PJRT_Error_Code_UNAVAILABLE, "zeta is broken");
  }
  if (args->num_options != 1 ||
      std::string_view(args->create_options->name, args->create_options->name_size) != "lanes") {
    return make_error(PJRT_Error_Code_INVALID_ARGUMENT, "a client of zeta takes one option: lanes");
  }
  PJRT_NamedValue option = *args->create_options;
  constexpr std::string_view kName = "cpu_device_count";
  option.name = kName.data();
  option.name_size = kName.size();
  PJRT_Client_Create_Args with_option = *args;
  with_option.create_options = &option;
  PJRT_Error* error = cpu->PJRT_Client_Create(&with_option);
  args->client = with_option.client;
  return error;
}

PJRT_Error* name_platform(PJRT_Client_PlatformName_Args* args) {
  args->platform_name = kPlatform.data();
  args->platform_name_size = kPlatform.size();
  return nullptr;
}

PJRT_Error* name_kind(PJRT_DeviceDescription_Kind_Args* args) {
  args->device_kind = kKind.data();
  args->device_kind_size = kKind.size();
  return nullptr;
}

std::string fault_of(std::string_view program) {
  const char* set = std::getenv("ZETA_FAULT");
  const std::string_view fault = set == nullptr ? "" : set;
  const size_t space = fault.find(' ');
  if (space == std::string_view::npos || program.find(fault.substr(space + 1)) == std::string_view::npos) return "";
  return std::string(fault.substr(0, space));
}

PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  std::string text(args->program->code, args->program->code_size);
  const std::string fault = fault_of(text);
  if (fault == "refuse") return make_error(PJRT_Error_Code_UNIMPLEMENTED, "zeta has no such op");
  if (fault == "break") close(creat(std::getenv("ZETA_BROKEN"), 0600));
  if (fault == "crash" || fault == "break") {
    static const char words[] = "zeta: unit 7 is on fire\n";
    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    std::abort();
  }
  if (fault == "hang") pause();
  if (fault == "wrong") {
    constexpr std::string_view kSine = "stablehlo.sine";
    for (size_t at = text.find(kSine); at != std::string::npos; at = text.find(kSine, at + 1)) {
      text.replace(at, kSine.size(), "stablehlo.cosine");
    }
  }
  PJRT_Program program = *args->program;
  program.code = text.data();
  program.code_size = text.size();
  PJRT_Client_Compile_Args with_program = *args;
  with_program.program = &program;
  PJRT_Error* error = cpu->PJRT_Client_Compile(&with_program);
  args->executable = with_program.executable;
  return error;
}

void load() {
  void* library = dlopen(ZETA_CPU_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  const auto get = library == nullptr ? nullptr : reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get == nullptr) return;
  cpu = get();
  std::memcpy(&table, cpu, sizeof(table));
  table.struct_size = PJRT_Api_STRUCT_SIZE;
  const char* fault = std::getenv("ZETA_FAULT");
  const bool old = fault != nullptr && std::string_view(fault) == "old";
  table.pjrt_api_version.minor_version = old ? 3 : PJRT_API_MINOR;
  table.PJRT_Error_Destroy = destroy_error;
  table.PJRT_Error_Message = message_of_error;
  table.PJRT_Error_GetCode = code_of_error;
  table.PJRT_Client_Create = create_client;
  table.PJRT_Client_PlatformName = name_platform;
  table.PJRT_DeviceDescription_Kind = name_kind;
  table.PJRT_Client_Compile = compile;
}

}  // namespace

extern "C" const PJRT_Api* GetPjrtApi() {
  static const bool loaded = (load(), cpu != nullptr);
  return loaded ? &table : nullptr;
}
