# SPDX-License-Identifier: Apache-2.0
# occbench::library: everything but kernels and experiments in one archive, for benchmarks outside this tree.
# What was found on the system is found again by who uses it; what was fetched is part of the archive.
configure_file(cmake/version.hpp.in include/occbench/version.hpp @ONLY)

set(objects "")
foreach(part theory statistics harness binary sweep commands)
  list(APPEND objects $<TARGET_OBJECTS:occbench_${part}>)
endforeach()
set(OCCBENCH_FOUND "")
set(in_tree "")
foreach(dependency benchmark::benchmark re2::re2 ZLIB::ZLIB)
  get_target_property(target ${dependency} ALIASED_TARGET)
  if(NOT target)
    set(target ${dependency})
  endif()
  get_target_property(is_found ${target} IMPORTED)
  if(is_found)
    list(APPEND OCCBENCH_FOUND ${dependency})
    list(APPEND in_tree $<BUILD_INTERFACE:${dependency}>)
  else()
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endif()
endforeach()
find_package(Threads REQUIRED)

add_library(occbench_library STATIC ${objects})
add_library(occbench::library ALIAS occbench_library)
set_target_properties(occbench_library PROPERTIES
  EXPORT_NAME library OUTPUT_NAME occbench LINKER_LANGUAGE CXX)
target_include_directories(occbench_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include/facade>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<INSTALL_INTERFACE:include>
  $<INSTALL_INTERFACE:include/occbench/internal>)
# g++ compiles experiments, whose headers name CUDA's types.
target_include_directories(occbench_library SYSTEM INTERFACE
  $<BUILD_INTERFACE:${CUDAToolkit_INCLUDE_DIRS}>)
if(OCCBENCH_SANITIZE)
  target_link_options(occbench_library INTERFACE $<BUILD_INTERFACE:-fsanitize=${OCCBENCH_SANITIZE}>)
endif()
target_link_libraries(occbench_library INTERFACE
  ${in_tree} Threads::Threads ${CMAKE_DL_LIBS} rt)
