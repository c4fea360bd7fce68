// A plug-in without its function.
#include "tenon/base/plugin_library.h"

TENON_PLUGIN_ABI
