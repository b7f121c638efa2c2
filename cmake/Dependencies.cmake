# SPDX-License-Identifier: Apache-2.0
# Found on the system first; otherwise fetched at a pinned version.
include(FetchContent)
set(FETCHCONTENT_QUIET ON)
option(OCCBENCH_WHEEL "Build what pip installs: libraries inside, where there are archives of them" OFF)
if(OCCBENCH_WHEEL)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
endif()

if(CMAKE_VERSION VERSION_LESS 3.26)  # which asks for a target that CUDA 13 no longer has
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit 12.4 REQUIRED)  # __maxnreg__ appeared in 12.4
# Nothing is linked to the toolkit's shared libraries, so no program has to look for them there.
set_target_properties(CUDA::toolkit PROPERTIES INTERFACE_LINK_DIRECTORIES "")

# FIND_PACKAGE_ARGS makes MakeAvailable try the system before the network.
FetchContent_Declare(benchmark
  GIT_REPOSITORY https://github.com/google/benchmark.git
  GIT_TAG c58e6d0710581e3a08d65c349664128a8d9a2461  # v1.9.1
  FIND_PACKAGE_ARGS 1.7)
FetchContent_Declare(CLI11
  GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
  GIT_TAG 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9  # v2.4.2
  FIND_PACKAGE_ARGS 2.1)
FetchContent_Declare(nlohmann_json
  GIT_REPOSITORY https://github.com/nlohmann/json.git
  GIT_TAG 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03  # v3.11.3
  FIND_PACKAGE_ARGS 3.9)
FetchContent_Declare(re2
  GIT_REPOSITORY https://github.com/google/re2.git
  GIT_TAG 3a8436ac436124a57a4e22d5c8713a2d42b381d7  # 2023-03-01, the last that needs no Abseil
  FIND_PACKAGE_ARGS)
FetchContent_Declare(ZLIB
  GIT_REPOSITORY https://github.com/madler/zlib.git
  GIT_TAG 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf  # v1.3.1
  FIND_PACKAGE_ARGS 1.2)
FetchContent_Declare(googletest
  GIT_REPOSITORY https://github.com/google/googletest.git
  GIT_TAG f8d7d77c06936315286eb55f8de22cd23c188571  # v1.14.0
  FIND_PACKAGE_ARGS NAMES GTest)

set(BENCHMARK_ENABLE_TESTING OFF CACHE BOOL "" FORCE)
set(BENCHMARK_ENABLE_INSTALL OFF CACHE BOOL "" FORCE)
set(BENCHMARK_INSTALL_DOCS OFF CACHE BOOL "" FORCE)
set(CLI11_INSTALL OFF CACHE BOOL "" FORCE)
set(JSON_Install OFF CACHE BOOL "" FORCE)
set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
set(RE2_BUILD_TESTING OFF CACHE BOOL "" FORCE)
# Debian's package tells no CMake, and pkg-config takes 40 s of CPU time over the modules of Abseil, which
# newer ones need. Their archive lacks it, so a wheel takes the shared library, which names what it needs.
find_package(re2 CONFIG QUIET)
find_path(OCCBENCH_RE2_INCLUDE re2/re2.h)
if(NOT TARGET re2::re2 AND OCCBENCH_RE2_INCLUDE)
  file(STRINGS ${OCCBENCH_RE2_INCLUDE}/re2/re2.h needs_abseil REGEX "#include \"absl/" LIMIT_COUNT 1)
  if(needs_abseil)
    find_library(OCCBENCH_RE2_LIBRARY libre2.so)
  endif()
  find_library(OCCBENCH_RE2_LIBRARY re2)
endif()
if(NOT TARGET re2::re2 AND OCCBENCH_RE2_LIBRARY)
  add_library(re2::re2 UNKNOWN IMPORTED)
  set_target_properties(re2::re2 PROPERTIES
    IMPORTED_LOCATION ${OCCBENCH_RE2_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${OCCBENCH_RE2_INCLUDE})
elseif(NOT TARGET re2::re2)
  FetchContent_MakeAvailable(re2)
endif()
FetchContent_MakeAvailable(benchmark CLI11 nlohmann_json ZLIB)
if(NOT TARGET ZLIB::ZLIB)  # fetched: its own names
  add_library(ZLIB::ZLIB ALIAS zlibstatic)
  target_include_directories(zlibstatic PUBLIC ${zlib_SOURCE_DIR} ${zlib_BINARY_DIR})
endif()
if(PROJECT_IS_TOP_LEVEL AND BUILD_TESTING)
  FetchContent_MakeAvailable(googletest)
endif()

# occbench_found_or_fetched(NAME REPOSITORY COMMIT TARGET): lz4 and zstd, for `occbench inspect`. Debian's
# packages of these tell no CMake.
function(occbench_found_or_fetched name repository commit target)
  find_path(OCCBENCH_${name}_INCLUDE ${name}.h)
  find_library(OCCBENCH_${name}_LIBRARY ${name})
  add_library(occbench_${name} INTERFACE)
  if(OCCBENCH_${name}_INCLUDE AND OCCBENCH_${name}_LIBRARY)
    target_include_directories(occbench_${name} SYSTEM INTERFACE ${OCCBENCH_${name}_INCLUDE})
    target_link_libraries(occbench_${name} INTERFACE ${OCCBENCH_${name}_LIBRARY})
  else()
    FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${commit} SOURCE_SUBDIR build/cmake)
    FetchContent_MakeAvailable(${name})
    target_include_directories(occbench_${name} SYSTEM INTERFACE ${${name}_SOURCE_DIR}/lib)
    target_link_libraries(occbench_${name} INTERFACE ${target})
  endif()
endfunction()
set(LZ4_BUILD_CLI OFF CACHE BOOL "" FORCE)
set(ZSTD_BUILD_PROGRAMS OFF CACHE BOOL "" FORCE)
set(ZSTD_BUILD_SHARED OFF CACHE BOOL "" FORCE)
occbench_found_or_fetched(lz4 https://github.com/lz4/lz4.git
  ebb370ca83af193212df4dcbadcc5d87bc0de2f0 lz4_static)  # v1.10.0
occbench_found_or_fetched(zstd https://github.com/facebook/zstd.git
  794ea1b0afca0f020f4e57b6732332231fb23c70 libzstd_static)  # v1.5.6
