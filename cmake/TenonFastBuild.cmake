# tenon_builds_fast(<target> <closure> [TESTS])
#
# What most files include comes from a header that is compiled once: all of `tenon` then takes a third less time. Where
# `closure`, the layers that a target may use, has modules, so has the header. Only g++ without a compiler launcher does so:
# ccache serves no file that uses one, and CI, which has ccache and clang, shows that every file includes what it needs.
#
# A release has -O1 for tests and for what makes modules and programs, which runs once.
set(tenon_precompiles OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(tenon_precompiles ON)
endif()
set(tenon_precompiled_headers <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set>
    <span> <string> <string_view> <typeindex> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
set(tenon_precompiled_modules tenon/base/text.h tenon/config/define.h tenon/ir/ops.h tenon/nn/initializers.h
    tenon/nn/module.h)
list(TRANSFORM tenon_precompiled_modules PREPEND ${CMAKE_SOURCE_DIR}/src/)

function(tenon_builds_fast target closure)
  set(options "")  # a header and what uses it must be optimized alike
  if(nn IN_LIST closure OR "TESTS" IN_LIST ARGN)
    set(options $<$<CONFIG:Release>:-O1>)
  endif()
  if(tenon_precompiles)  # g++ 12 then takes moved strings for out of bounds; other builds have the warning
    list(APPEND options -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  if(NOT tenon_precompiles)
    return()
  endif()
  set(owner tenon_precompiled)
  set(headers ${tenon_precompiled_headers})
  if(nn IN_LIST closure)
    string(APPEND owner _modules)
    list(APPEND headers ${tenon_precompiled_modules})
  endif()
  if("TESTS" IN_LIST ARGN)
    string(APPEND owner _tests)
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
