# Registers the cases of a GoogleTest program. Those whose name, or suite's name, begins with "Slow" get the label `slow`, the
# others `fast`; the fast ones start first.
function(tenon_discover_tests target prefix)
  set(slow "Slow*:*.Slow*:*/Slow*")
  gtest_discover_tests(${target} TEST_PREFIX "${prefix}" TEST_FILTER "-${slow}"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 PROPERTIES LABELS fast COST 1000 TIMEOUT 300)
  gtest_discover_tests(${target} TEST_PREFIX "${prefix}" TEST_FILTER "${slow}"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 PROPERTIES LABELS slow TIMEOUT 1800)
endfunction()

# tenon_embed(<layer> <file> <variable>)
#
# Compiles a text file of a layer into it, as the `std::string_view` that <file>'s header (chips.toml: chips_toml.h) declares.
function(tenon_embed layer file variable)
  set(source ${CMAKE_SOURCE_DIR}/src/tenon/${layer}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REPLACE "." "_" stem ${file})
  set(code "#include \"tenon/${layer}/${stem}.h\"
namespace tenon {
const std::string_view ${variable} = R\"embedded(${text})embedded\";
}
")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/embedded/${layer}_${stem}.cc CONTENT "${code}" @ONLY)
  target_sources(tenon_${layer} PRIVATE ${CMAKE_BINARY_DIR}/embedded/${layer}_${stem}.cc)
endfunction()

# tenon_test_objects(<variable> <layer>...): what tests of layers link with: their objects, and what tests share.
function(tenon_test_objects variable)
  set(objects "")
  foreach(layer ${ARGN})
    foreach(library tenon_${layer} tenon_${layer}_testing)
      if(TARGET ${library})
        list(APPEND objects $<TARGET_OBJECTS:${library}>)
      endif()
    endforeach()
  endforeach()
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# tenon_layer(<folder> [DEPS <layer>...] [LIBS <library>...])
#
# One folder of src/tenon as an object library `tenon_<folder>` (every *.cc but *_test.cc, main.cc and those below), and its
# unit tests as `tenon_<folder>_test`, linked with the objects of this layer and of the layers it may depend on, and no
# others: a dependency that isn't declared doesn't link. What its `testing` has is for tests alone: `tenon_<folder>_testing`.
function(tenon_layer name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/tenon/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(shared_by_tests ${sources})
  list(FILTER shared_by_tests INCLUDE REGEX "/testing/")
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$|/testing/")

  set(closure "")
  if(sources)
    set(closure ${name})
  endif()
  foreach(dep ${ARG_DEPS})
    get_property(inner GLOBAL PROPERTY tenon_closure_${dep})
    list(APPEND closure ${inner})
    get_property(libs GLOBAL PROPERTY tenon_libs_${dep})
    list(APPEND ARG_LIBS ${libs})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  list(REMOVE_DUPLICATES ARG_LIBS)
  set_property(GLOBAL PROPERTY tenon_closure_${name} ${closure})
  set_property(GLOBAL PROPERTY tenon_libs_${name} ${ARG_LIBS})
  if(NOT sources)  # an empty layer still passes on what it depends on
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY tenon_layers ${name})

  add_library(tenon_${name} OBJECT ${sources})
  target_link_libraries(tenon_${name} PUBLIC tenon_options PRIVATE ${ARG_LIBS})
  tenon_builds_fast(tenon_${name} "${closure}")
  if(TENON_TESTS AND shared_by_tests)
    add_library(tenon_${name}_testing OBJECT ${shared_by_tests})
    target_link_libraries(tenon_${name}_testing PUBLIC tenon_options PRIVATE ${ARG_LIBS})
    tenon_builds_fast(tenon_${name}_testing "${closure}")
  endif()
  if(TENON_TESTS AND tests)
    tenon_test_objects(objects ${closure})
    add_executable(tenon_${name}_test ${tests} ${objects})
    target_link_libraries(tenon_${name}_test PRIVATE tenon_options ${ARG_LIBS} GTest::gmock GTest::gtest_main)
    target_compile_definitions(tenon_${name}_test PRIVATE TENON_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    tenon_builds_fast(tenon_${name}_test "${closure}" TESTS)
    tenon_discover_tests(tenon_${name}_test "${name}.")
  endif()
endfunction()
