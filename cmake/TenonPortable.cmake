# tenon_portable: the `tenon` command as one file that needs no library but libc's, to carry to another machine. It links
# the layers' objects themselves; what Debian has as shared libraries alone is compiled from Debian's sources, which
# `scripts/setup --target sources` brings. It loads no plug-ins: they link libtenon.
set(sources_dir ${TENON_DEPS_DIR}/sources)
if(NOT EXISTS ${sources_dir} OR TENON_SANITIZE)
  return()
endif()
find_library(TENON_ZLIB_ARCHIVE libz.a REQUIRED)

file(GLOB fmt_dir ${sources_dir}/fmtlib-*)
file(GLOB hwy_dir ${sources_dir}/highway-*)
file(GLOB sentencepiece_dir ${sources_dir}/sentencepiece-*)
file(GLOB sentencepiece_sources ${sentencepiece_dir}/src/*.cc ${sentencepiece_dir}/src/builtin_pb/*.cc
  ${sentencepiece_dir}/third_party/protobuf-lite/*.cc)
list(FILTER sentencepiece_sources EXCLUDE REGEX "_main\\.cc$|_test\\.cc$|testharness\\.cc$")
set(flags_source ${sentencepiece_dir}/third_party/absl/flags/flag.cc)
list(APPEND sentencepiece_sources ${flags_source})
set_source_files_properties(${flags_source} PROPERTIES COMPILE_DEFINITIONS PACKAGE_STRING="sentencepiece")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/portable/config.h CONTENT "#define VERSION \"\"\n#define PACKAGE \"sentencepiece\"\n")

add_library(tenon_portable_libraries STATIC ${fmt_dir}/src/format.cc ${hwy_dir}/hwy/targets.cc ${sentencepiece_sources})
target_include_directories(tenon_portable_libraries SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/portable ${fmt_dir}/include
  ${hwy_dir} ${sentencepiece_dir} ${sentencepiece_dir}/src ${sentencepiece_dir}/src/builtin_pb
  ${sentencepiece_dir}/third_party ${sentencepiece_dir}/third_party/protobuf-lite)
target_compile_definitions(tenon_portable_libraries PRIVATE _USE_INTERNAL_STRING_VIEW HAVE_PTHREAD=1 HWY_STATIC_DEFINE)
target_compile_options(tenon_portable_libraries PRIVATE -w)

get_property(layers GLOBAL PROPERTY tenon_layers)
set(objects "")
foreach(layer ${layers})
  list(APPEND objects $<TARGET_OBJECTS:tenon_${layer}>)
endforeach()
add_executable(tenon_portable src/tenon/cli/main.cc cmake/portable/arc4random.cc ${objects})
target_link_libraries(tenon_portable PRIVATE tenon_options tenon_portable_libraries ${TENON_ZLIB_ARCHIVE} Threads::Threads
  ${CMAKE_DL_LIBS})
target_link_options(tenon_portable PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections -s)
set_target_properties(tenon_portable PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/portable)
