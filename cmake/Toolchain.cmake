# SPDX-License-Identifier: Apache-2.0
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "A benchmark is built Release unless asked otherwise" FORCE)
endif()

option(OCCBENCH_WERROR "Warnings are errors" OFF)
set(OCCBENCH_SANITIZE "" CACHE STRING "Host sanitizers, as -fsanitize= takes them (address,undefined)")
# nvcc's -O is for host code alone: kernels are optimised whatever it says. The host code of a .cu registers
# variants and checks their results, so -O1 serves it.
string(REPLACE "-O3" "-O1" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
# The build type that goes with it: assertions are on, and nothing is timed on a GPU. Kernels are compiled as
# in Release, so that one compiler cache serves both.
# -O1 takes four times as long to compile, and -O0 leaves three times the data, which each start registers and
# each end searches for leaks.
set(CMAKE_CXX_FLAGS_SANITIZE "-Og -g1 -fno-omit-frame-pointer")
set(CMAKE_CUDA_FLAGS_SANITIZE "${CMAKE_CUDA_FLAGS_RELEASE}")
# Sanitizers leave a million addresses in the data of a program, and every start would relocate them.
set(CMAKE_EXE_LINKER_FLAGS_SANITIZE -no-pie)

find_program(CCACHE ccache)
if(CCACHE)
  foreach(language CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER "${CCACHE}")
    endif()
  endforeach()
endif()

set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
# What is built looks for libraries where what is installed does. Otherwise CMake pads the one list to the
# length of the other, and an empty entry is the folder that the user stands in.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # of libraries that CMake found elsewhere than the system has them
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# What every target of this project is compiled with. CMake 3.25 knows no CUDA_STANDARD 20, and hands
# CXX_STANDARD on to CUDA, so the standard stands here as a flag.
add_library(occbench_options INTERFACE)
# Designated initialisers leave out what has a default; and GCC 12 sees ghosts in std::string once it inlines
# (its bugs 105651 and 105562).
set(quiet -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND quiet -Wno-restrict -Wno-maybe-uninitialized)
endif()
list(JOIN quiet "," quiet_for_nvcc)
set(shadow -Wshadow)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(shadow -Wshadow=local)  # in a unity build a file's locals meet the globals of others
endif()
set(conversions -Wconversion -Wno-sign-conversion)
target_compile_options(occbench_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-std=c++20;-Wall;-Wextra;-Wpedantic;${shadow};${conversions};${quiet}>"
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -lineinfo -Xcompiler=-Wall,-Wextra,-Wshadow,${quiet_for_nvcc}>)
if(OCCBENCH_WERROR)
  target_compile_options(occbench_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
if(OCCBENCH_SANITIZE)
  target_compile_options(occbench_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${OCCBENCH_SANITIZE} -fno-sanitize-recover=all>)
  target_link_options(occbench_options INTERFACE -fsanitize=${OCCBENCH_SANITIZE})
endif()
target_include_directories(occbench_options INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
