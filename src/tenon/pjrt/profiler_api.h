// Private to this folder: the C structs of PJRT's profiler extension (version 1), which pjrt_c_api.h only gives a
// number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pjrt_c_api.h"

namespace tenon::pjrt::profiler {

struct Handle;       // PLUGIN_Profiler
struct PluginError;  // PLUGIN_Profiler_Error

struct ErrorDestroyArgs {
  size_t struct_size;
  void* priv;
  PluginError* error;
};
struct ErrorMessageArgs {
  size_t struct_size;
  void* priv;
  const PluginError* error;
  const char* message;  // out
  size_t message_size;  // out
};
struct CreateArgs {
  size_t struct_size;
  const char* options;
  size_t options_size;
  Handle* profiler;  // out
};
// Of destroy, start and stop.
struct HandleArgs {
  size_t struct_size;
  Handle* profiler;
};
// Called twice: without a buffer for the size, then with one. A plugin may give a buffer of its own the first time.
struct CollectArgs {
  size_t struct_size;
  Handle* profiler;
  uint8_t* buffer;
  size_t buffer_size;
};

struct Api {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(ErrorDestroyArgs*);
  void (*error_message)(ErrorMessageArgs*);
  PluginError* (*error_get_code)(void*);
  PluginError* (*create)(CreateArgs*);
  PluginError* (*destroy)(HandleArgs*);
  PluginError* (*start)(HandleArgs*);
  PluginError* (*stop)(HandleArgs*);
  PluginError* (*collect_data)(CollectArgs*);
};

struct Extension {
  PJRT_Extension_Base base;
  const Api* api;
  int64_t context;
};

}  // namespace tenon::pjrt::profiler
