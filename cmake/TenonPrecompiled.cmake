# tenon_precompiled(<target> <layers|tests>)
#
# What most files include comes from a header that is compiled once: all of `tenon` then takes a quarter less time. Only
# g++ without a compiler launcher does so: ccache serves no file that uses one, and CI, which has ccache and clang, shows
# that every file includes what it needs.
set(tenon_precompiles OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(tenon_precompiles ON)
endif()
set(tenon_precompiled_headers <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <optional> <set>
    <span> <string> <string_view> <typeindex> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)

function(tenon_precompiled target kind)
  if(NOT tenon_precompiles)
    return()
  endif()
  set(owner tenon_precompiled_${kind})
  if(NOT TARGET ${owner})
    set(source ${CMAKE_BINARY_DIR}/${owner}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "// Carries a precompiled header.\n")
    if(kind STREQUAL "tests")  # of the programs' kind: position-independent as they are
      add_executable(${owner} EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${owner} PRIVATE tenon_options fmt::fmt GTest::gmock GTest::gtest_main)
      target_precompile_headers(${owner} PRIVATE ${tenon_precompiled_headers} <gmock/gmock.h> <gtest/gtest.h>)
    else()
      add_library(${owner} OBJECT EXCLUDE_FROM_ALL ${source})
      target_link_libraries(${owner} PRIVATE tenon_options fmt::fmt)
      target_precompile_headers(${owner} PRIVATE ${tenon_precompiled_headers})
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
