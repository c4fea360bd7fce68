// A plug-in built against another Tenon. It must not be called.
#include <cstdlib>

extern "C" const char* tenon_plugin_abi() { return "tenon-0.0.1"; }
extern "C" void tenon_plugin(void*) { std::abort(); }
