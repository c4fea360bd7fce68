# tenon_builds_fast(<target> <closure> [TESTS])
#
# What most files include comes from a header that is compiled once: all of `tenon` then takes a third less time. There is one
# for each of a few levels of layers; `closure`, the layers that a target may use, tells which. Only g++ without a compiler
# launcher does so: ccache serves no file that uses one. That every file includes what it needs, CI's build by clang shows.
set(tenon_precompiles OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(tenon_precompiles ON)
endif()
# For targets that use this layer and no higher one of these; each has what is below it too.
set(tenon_precompiled_levels base ir nn)
set(tenon_precompiled_base <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set> <span>
    <string> <string_view> <typeindex> <unordered_map> <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>
    tenon/base/text.h)
set(tenon_precompiled_ir tenon/ir/ops.h tenon/ir/ops/support.h)
set(tenon_precompiled_nn tenon/config/define.h tenon/nn/initializers.h tenon/nn/module.h)

function(tenon_builds_fast target closure)
  if(NOT tenon_precompiles)
    return()
  endif()
  # g++ 12 then takes moved strings for out of bounds; other builds have the warning.
  set(options -Wno-array-bounds -Wno-stringop-overflow -Wno-restrict)
  target_compile_options(${target} PRIVATE ${options})
  set(headers "")
  foreach(level ${tenon_precompiled_levels})
    if(level STREQUAL "base" OR level IN_LIST closure)
      set(owner tenon_precompiled_${level})
      list(APPEND headers ${tenon_precompiled_${level}})
    endif()
  endforeach()
  list(TRANSFORM headers PREPEND ${CMAKE_SOURCE_DIR}/src/ REGEX "^tenon/")
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
