# libtenon_config (configs and what they need), libtenon (every other layer), the `tenon` command, and how they are
# installed. Each layer is in one library only: there is one registry.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY tenon_layers)
set(config_layers base config)
set(objects "")
set(libraries "")
foreach(layer ${layers})
  if(layer IN_LIST config_layers)
    continue()
  endif()
  list(APPEND objects $<TARGET_OBJECTS:tenon_${layer}>)
  get_property(layer_libraries GLOBAL PROPERTY tenon_libs_${layer})
  list(APPEND libraries ${layer_libraries})
endforeach()
list(REMOVE_DUPLICATES libraries)
get_property(config_libraries GLOBAL PROPERTY tenon_libs_config)

add_library(tenon_config_lib SHARED $<TARGET_OBJECTS:tenon_base> $<TARGET_OBJECTS:tenon_config>)
add_library(tenon::config ALIAS tenon_config_lib)
set_target_properties(tenon_config_lib PROPERTIES OUTPUT_NAME tenon_config EXPORT_NAME config)
target_link_libraries(tenon_config_lib PRIVATE tenon_options ${config_libraries})
add_library(tenon_lib SHARED ${objects})
add_library(tenon::tenon ALIAS tenon_lib)
set_target_properties(tenon_lib PROPERTIES OUTPUT_NAME tenon EXPORT_NAME tenon INSTALL_RPATH "$ORIGIN")
target_link_libraries(tenon_lib PUBLIC tenon_config_lib PRIVATE tenon_options ${libraries})

foreach(library tenon_config_lib tenon_lib)
  set_target_properties(${library} PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_include_directories(${library} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(NOT TENON_SANITIZE)
    target_link_options(${library} PRIVATE -Wl,-z,defs)  # nothing undefined is left for who links it to find
  endif()
endforeach()

install(TARGETS tenon_config_lib tenon_lib EXPORT tenon LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/tenon DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
  PATTERN "*.h" REGEX "/(test|fake_|ops/support\\.h)[^/]*$|_test_util.h$|/kernels/cpu$" EXCLUDE)
install(DIRECTORY ${TENON_DEPS_DIR}/plugins ${TENON_DEPS_DIR}/licenses DESTINATION lib/tenon OPTIONAL
  PATTERN cuda-0.11 EXCLUDE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
install(EXPORT tenon NAMESPACE tenon:: FILE tenonTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/tenonConfig.cmake.in ${CMAKE_BINARY_DIR}/tenonConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tenonConfig.cmake ${CMAKE_BINARY_DIR}/tenonConfigVersion.cmake
  DESTINATION ${package_dir})

if(EXISTS ${CMAKE_SOURCE_DIR}/src/tenon/cli/main.cc)
  add_executable(tenon src/tenon/cli/main.cc)
  target_link_libraries(tenon PRIVATE tenon_options tenon_lib)
  set_target_properties(tenon PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS tenon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
