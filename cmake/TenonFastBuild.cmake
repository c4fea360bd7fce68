# tenon_builds_fast(<target> <closure> [TESTS])
#
# What most files include comes from a header that is compiled once, and a few files of a target are compiled as one, which
# makes what their templates make once. There is one such header for each of a few
# levels of layers; `closure`, the layers that a target may use (its own comes first), tells which. With a compiler launcher
# each file is compiled alone: ccache serves no file that uses a precompiled header, and who edits one compiles one. That
# every file includes what it needs, scripts/check_includes sees.
set(tenon_precompiles ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(tenon_precompiles OFF)
endif()
set(tenon_files_compiled_as_one 5)
# For targets that use this layer and no higher one of these; each has what is below it too.
set(tenon_precompiled_levels base ir nn)
set(tenon_precompiled_base <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
    <string> <string_view> <typeindex> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
set(tenon_precompiled_ir tenon/base/text.h tenon/ir/ops.h tenon/ir/ops/support.h)
set(tenon_precompiled_nn tenon/config/define.h tenon/nn/initializers.h tenon/nn/module.h)
# With sanitizers, whose code takes longest to compile, what other layers do is too little for the optimizer to pay.
set(tenon_optimized_with_sanitizers base config ir passes autodiff)
if(TENON_SANITIZE STREQUAL "thread")  # tests of threads compute nearly nothing
  set(tenon_optimized_with_sanitizers "")
endif()

function(tenon_builds_fast target closure)
  set(options "")
  set(kind "")
  list(GET closure 0 layer)
  if("TESTS" IN_LIST ARGN)
    # Much of the time that compiling a test takes is the optimizer's, for code that runs once. What templates make here and
    # in a layer, the layer's objects give: they come first when a test is linked.
    list(APPEND options -O0)
    set(kind _tests)
  elseif(TENON_SANITIZE AND NOT TENON_FUZZ AND NOT layer IN_LIST tenon_optimized_with_sanitizers)
    list(APPEND options -O0)
    set(kind _unoptimized)
  endif()
  if(tenon_precompiles AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 then takes moved strings for out of bounds; other builds have the warning.
    list(APPEND options -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  if(NOT tenon_precompiles)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${tenon_files_compiled_as_one})
  set(headers "")
  foreach(level ${tenon_precompiled_levels})
    if(level STREQUAL "base" OR level IN_LIST closure)
      set(owner tenon_precompiled_${level})
      list(APPEND headers ${tenon_precompiled_${level}})
    endif()
  endforeach()
  list(TRANSFORM headers PREPEND ${CMAKE_SOURCE_DIR}/src/ REGEX "^tenon/")
  string(APPEND owner "${kind}")
  if("TESTS" IN_LIST ARGN)
    list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  if(NOT TARGET ${owner})
    set(source ${CMAKE_BINARY_DIR}/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Carries a precompiled header.\n")
    if("TESTS" IN_LIST ARGN)  # of the programs' kind: position-independent as they are
      add_executable(${owner} EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${owner} PRIVATE GTest::gmock GTest::gtest_main)
    else()
      add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
    endif()
    target_link_libraries(${owner} PRIVATE tenon_options fmt::fmt)
    target_compile_options(${owner} PRIVATE ${options})
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
