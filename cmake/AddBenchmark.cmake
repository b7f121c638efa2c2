# SPDX-License-Identifier: Apache-2.0
# Programs of the suite's kind from kernels that lie anywhere: docs/library.md. Part of the installed
# package, and of this tree for who adds it as a subdirectory.
include(${CMAKE_CURRENT_LIST_DIR}/Architectures.cmake)

# occbench_add_benchmark(NAME SOURCE... [REGISTER_CAPS N... | NONE] [MACHINE_CODE FOLDER])
#
# Adds the program NAME, which has the words of `occbench` for the kernels and experiments of its sources.
# Each .cu file is compiled again under each register cap (32 40 48 64 96 128 unless it says otherwise), also
# for kernels with __launch_bounds__. FOLDER/sm_90/FAMILY.txt, which `occbench audit --describe` wrote, tells
# the model of a family.
function(occbench_add_benchmark name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MACHINE_CODE" "REGISTER_CAPS")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  set(kernels ${sources})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  if(NOT kernels)
    message(FATAL_ERROR "occbench_add_benchmark(${name}): name a .cu file")
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "occbench_add_benchmark(${name}): needs CUDA: project(... LANGUAGES CXX CUDA)")
  endif()
  if(NOT arg_REGISTER_CAPS)
    set(arg_REGISTER_CAPS 32 40 48 64 96 128)
  endif()
  list(REMOVE_ITEM arg_REGISTER_CAPS NONE)

  add_executable(${name} ${sources} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/benchmark_main.cpp)
  target_link_libraries(${name} PRIVATE occbench::library)
  _occbench_architectures_of_benchmarks(CMAKE_CUDA_ARCHITECTURES)  # of the targets below
  set_property(TARGET ${name} PROPERTY CUDA_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
  # As flags: CMake 3.25 knows no CUDA_STANDARD 20.
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-std=c++20>
    "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-lineinfo>")
  _occbench_build_info(${name} ${CMAKE_CURRENT_SOURCE_DIR})
  foreach(cap IN LISTS arg_REGISTER_CAPS)
    _occbench_compile_under_cap(${name} ${cap} ${kernels})
  endforeach()
  if(arg_MACHINE_CODE)
    get_filename_component(folder ${arg_MACHINE_CODE} ABSOLUTE)
    file(GLOB described CONFIGURE_DEPENDS ${folder}/sm_*/*.txt ${folder}/sm_*/*.txt.gz)
    list(TRANSFORM described REPLACE ".*/([^/]*)\\.txt(\\.gz)?$" "\\1")
    list(REMOVE_DUPLICATES described)
    foreach(family IN LISTS described)
      _occbench_machine_code(${name} ${family} ${folder})
    endforeach()
  endif()
endfunction()

# Machine code alone, as PTX that a driver compiles at start knows no cap: 90 is 90-real. Where nobody chose,
# CMake takes nvcc's default, its oldest; the GPU that is here is meant.
function(_occbench_architectures_of_benchmarks result)
  set(chosen ${CMAKE_CUDA_ARCHITECTURES})
  get_property(said CACHE CMAKE_CUDA_ARCHITECTURES PROPERTY HELPSTRING)
  if(said STREQUAL "CUDA architectures" AND NOT DEFINED ENV{CUDAARCHS})
    _occbench_own_architectures(own)
    if(own)
      set(chosen ${own})
    endif()
  endif()
  list(TRANSFORM chosen APPEND "-real" REGEX "^[0-9]+[a-z]?$")
  set(${result} ${chosen} PARENT_SCOPE)
endfunction()

# The kernels of a program once more, with all of their symbols to themselves: two instances of a function or
# of a template have one name, and a linker would take one of them for both.
function(_occbench_compile_under_cap name cap)
  set(target ${name}_max${cap})
  add_library(${target} OBJECT ${ARGN})
  foreach(property INCLUDE_DIRECTORIES COMPILE_DEFINITIONS COMPILE_OPTIONS)
    set_property(TARGET ${target} PROPERTY ${property} $<TARGET_PROPERTY:${name},${property}>)
  endforeach()
  target_compile_definitions(${target} PRIVATE OCCBENCH_MAXRREGCOUNT=${cap})
  target_compile_options(${target} PRIVATE -maxrregcount=${cap})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Xcompiler=-fno-gnu-unique)  # these stay whatever objcopy says
  endif()
  _occbench_ptxas_overrides(overrides)
  if(overrides)  # what __launch_bounds__ says
    target_compile_options(${target} PRIVATE "SHELL:-Xptxas --override-directive-values")
  endif()
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} $<TARGET_OBJECTS:${target}>
    COMMAND ${CMAKE_OBJCOPY} --wildcard "--localize-symbol=*" ${object}
    DEPENDS ${target} $<TARGET_OBJECTS:${target}>
    COMMENT "Kernels of ${name} with ${cap} registers at most" COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_sources(${name} PRIVATE ${object})
endfunction()

# Whether this toolkit's ptxas can cap a kernel with __launch_bounds__, which -maxrregcount leaves alone.
function(_occbench_ptxas_overrides result)
  if(NOT DEFINED OCCBENCH_PTXAS_OVERRIDES)
    get_filename_component(folder ${CMAKE_CUDA_COMPILER} REALPATH)
    get_filename_component(folder ${folder} DIRECTORY)
    execute_process(COMMAND ${folder}/ptxas --help OUTPUT_VARIABLE help ERROR_QUIET RESULT_VARIABLE failed)
    set(found OFF)
    if(help MATCHES "--override-directive-values")
      set(found ON)
    else()
      message(STATUS "This ptxas leaves kernels with __launch_bounds__ as they are under a register cap")
    endif()
    set(OCCBENCH_PTXAS_OVERRIDES ${found} CACHE INTERNAL "ptxas has --override-directive-values")
  endif()
  set(${result} ${OCCBENCH_PTXAS_OVERRIDES} PARENT_SCOPE)
endfunction()

# Adds to a target, at each build, what it is built from: the commit of `source_dir` among it.
function(_occbench_build_info target source_dir)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  get_property(version GLOBAL PROPERTY OCCBENCH_VERSION)
  set(flags "${CMAKE_CXX_FLAGS_${type}} ${CMAKE_CUDA_FLAGS}")
  if(OCCBENCH_TOOLKIT_FLAGS)  # where the toolkit lies is no flag of the code
    string(REPLACE "${OCCBENCH_TOOLKIT_FLAGS}" "" flags "${flags}")
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_build_info.cpp)
  add_custom_target(${target}_build_info
    COMMAND ${CMAKE_COMMAND}
      -D SOURCE_DIR=${source_dir}
      -D OUTPUT=${file}
      -D VERSION=${version}
      -D BUILD_TYPE=${CMAKE_BUILD_TYPE}
      -D "COMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
      -D "COMPILER_FLAGS=${flags}"
      -D CUDA_TOOLKIT=${CMAKE_CUDA_COMPILER_VERSION}
      -D "CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}"
      -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/BuildInfo.cmake
    BYPRODUCTS ${file}
    COMMENT "Noting the commit" VERBATIM)
  target_sources(${target} PRIVATE ${file})
  add_dependencies(${target} ${target}_build_info)
endfunction()

# Puts FOLDER/sm_*/FAMILY.txt.gz, or plain FAMILY.txt, into a target, for the model.
function(_occbench_machine_code target name folder)
  file(GLOB descriptions CONFIGURE_DEPENDS ${folder}/sm_*/${name}.txt ${folder}/sm_*/${name}.txt.gz)
  if(NOT descriptions)
    return()
  endif()
  set(embedded "")
  foreach(file IN LISTS descriptions)
    if(EXISTS ${file}.gz)
      message(FATAL_ERROR "${file} stands beside ${file}.gz: which of them is meant? Remove the older one")
    endif()
    string(REGEX REPLACE ".*/sm_([0-9]+)/[^/]*$" "\\1" cc ${file})
    string(APPEND embedded "OCCBENCH_EMBED(${cc}, \"${file}\")\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/machine_code/${name}.cpp)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/machine_code.cpp.in ${source} @ONLY)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${descriptions}")
  target_sources(${target} PRIVATE ${source})
endfunction()
