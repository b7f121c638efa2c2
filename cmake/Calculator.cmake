# SPDX-License-Identifier: Apache-2.0
# The calculator's WebAssembly, by zig of PyPI's ziglang (tools/locks/calculator.txt). Target `calculator`
# writes benchmarks/calculator/calculator.wasm.gz. That is committed: who builds occbench needs no zig. Target
# `calculator_wasm` builds it alone, and the test calculator_build compares the two.
find_path(OCCBENCH_ZIG ziglang/zig NO_DEFAULT_PATH PATHS ${PROJECT_SOURCE_DIR}/build/venv/lib
  PATH_SUFFIXES python3.11/site-packages python3.12/site-packages python3.13/site-packages)
if(NOT OCCBENCH_ZIG)
  return()
endif()
find_program(OCCBENCH_PYTHON python3 REQUIRED)
set(zig_root ${OCCBENCH_ZIG}/ziglang)
set(folder ${PROJECT_BINARY_DIR}/calculator)
file(MAKE_DIRECTORY ${folder}/include)

# zig has headers of its own for the target, so this machine's folder of headers must not come before them.
get_target_property(json_folders nlohmann_json::nlohmann_json INTERFACE_INCLUDE_DIRECTORIES)
find_path(json_folder nlohmann/json.hpp PATHS ${json_folders} /usr/include NO_CACHE)
file(COPY ${json_folder}/nlohmann DESTINATION ${folder}/include)
file(COPY ${zig_root}/lib/libc/musl/include/elf.h ${zig_root}/lib/libc/musl/include/ar.h
  DESTINATION ${folder}/include)

set(root ${PROJECT_SOURCE_DIR})
file(GLOB theory RELATIVE ${root} CONFIGURE_DEPENDS
  ${root}/harness/theory/*.cpp ${root}/harness/theory/*/*.cpp)
get_target_property(readers occbench_binary SOURCES)  # of text and tables
get_target_property(code_readers occbench_machine_code SOURCES)
list(APPEND readers ${code_readers})
list(FILTER readers EXCLUDE REGEX "binary_folder|inflate")  # a page has neither folders nor $TMPDIR
list(TRANSFORM readers PREPEND harness/)
set(sources ${theory}
  harness/statistics/statistics.cpp
  ${readers}
  harness/io/csv.cpp harness/io/demangle.cpp harness/io/demangled_size.cpp harness/io/lines.cpp
  harness/io/printable.cpp
  harness/device/parameters.cpp
  benchmarks/report/columns.cpp benchmarks/report/format.cpp benchmarks/report/table.cpp
  benchmarks/commands/calc/batch.cpp benchmarks/commands/calc/columns.cpp
  benchmarks/commands/calc/formulas.cpp benchmarks/commands/calc/kernels.cpp
  benchmarks/commands/calc/left_out.cpp
  benchmarks/commands/calc/predict.cpp benchmarks/commands/calc/print.cpp
  benchmarks/commands/calc/query.cpp benchmarks/commands/calc/rank.cpp
  benchmarks/commands/inspect/columns.cpp benchmarks/commands/inspect/print.cpp
  benchmarks/commands/inspect/query.cpp
  benchmarks/calculator/calculator.cpp benchmarks/calculator/host.cpp)
# No path of this machine comes into the module; without the second flag of exceptions clang stops.
set(zig_flags -target wasm32-wasi -O2 -DNDEBUG -fwasm-exceptions -mexception-handling
  -ffile-prefix-map=${root}/= -ffile-prefix-map=${folder}/= -ffile-prefix-map=${zig_root}/=)
set(zig ${CMAKE_COMMAND} -E env ZIG_GLOBAL_CACHE_DIR=${folder}/cache ZIG_LOCAL_CACHE_DIR=${folder}/cache
  ${zig_root}/zig)

set(objects "")
function(occbench_zig language source)  # the object of one file; more flags after it
  string(MAKE_C_IDENTIFIER ${source} name)
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${root})
  add_custom_command(OUTPUT ${folder}/${name}.o
    COMMAND ${zig} ${language} ${zig_flags} ${ARGN} -MD -MF ${folder}/${name}.d
      -c ${source} -o ${folder}/${name}.o
    DEPENDS ${source} DEPFILE ${folder}/${name}.d
    COMMENT "Building ${name} for WebAssembly" VERBATIM)
  set(objects ${objects} ${folder}/${name}.o PARENT_SCOPE)
endfunction()

# zig's own library of C++ comes without exceptions for this target. Linked before it, these give them.
set(abi -std=c++20 -fdeclspec -w -D_LIBCXXABI_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI
  -D_LIBCXXABI_HAS_NO_THREADS -D_LIBCPP_ENABLE_CXX17_REMOVED_UNEXPECTED_FUNCTIONS
  -I${zig_root}/lib/libcxxabi/include -I${zig_root}/lib/libcxxabi/src -I${zig_root}/lib/libcxx/src
  -I${zig_root}/lib/libcxx/include -I${zig_root}/lib/libunwind/include)
occbench_zig(c++ ${zig_root}/lib/libcxxabi/src/cxa_exception.cpp ${abi})
occbench_zig(c++ ${zig_root}/lib/libcxxabi/src/cxa_personality.cpp ${abi})
occbench_zig(c++ ${zig_root}/lib/libcxx/src/filesystem/path.cpp ${abi} -std=c++23)  # left out as well
occbench_zig(cc ${zig_root}/lib/libunwind/src/Unwind-wasm.c -w -fdeclspec -I${zig_root}/lib/libunwind/include)
add_custom_command(OUTPUT ${folder}/exceptions.o  # an assembler writes no list of what it includes
  COMMAND ${zig} cc ${zig_flags} -w -c ${root}/benchmarks/calculator/exceptions.s -o ${folder}/exceptions.o
  DEPENDS ${root}/benchmarks/calculator/exceptions.s VERBATIM)
list(APPEND objects ${folder}/exceptions.o)
foreach(source IN LISTS sources)
  occbench_zig(c++ ${source} -std=c++20 -I${root}/benchmarks/calculator/compat -I${root} -I${root}/include
    -I${PROJECT_BINARY_DIR}/harness/generated -isystem ${folder}/include
    -isystem ${CUDAToolkit_INCLUDE_DIRS})
endforeach()

# Safe: a damaged file stops the module, which writes nowhere else before.
add_custom_command(OUTPUT ${folder}/zstd.o
  COMMAND ${zig} build-obj ${root}/benchmarks/calculator/zstd.zig -target wasm32-wasi -O ReleaseSafe
    -fstrip -lc -femit-bin=${folder}/zstd.o
  DEPENDS ${root}/benchmarks/calculator/zstd.zig COMMENT "Building zstd.zig for WebAssembly" VERBATIM)
list(APPEND objects ${folder}/zstd.o)

set(packed ${root}/benchmarks/calculator/calculator.wasm.gz)
add_custom_command(OUTPUT ${folder}/calculator.wasm
  COMMAND ${zig} c++ ${zig_flags} -mexec-model=reactor -s -o ${folder}/calculator.wasm ${objects}
  DEPENDS ${objects} VERBATIM)
add_custom_target(calculator_wasm DEPENDS ${folder}/calculator.wasm)
add_custom_target(calculator
  COMMAND ${OCCBENCH_PYTHON} -c
    "import gzip, pathlib, sys$<SEMICOLON> wasm, packed = map(pathlib.Path, sys.argv[1:])$<SEMICOLON> \
packed.write_bytes(gzip.compress(wasm.read_bytes(), 9, mtime=0))"
    ${folder}/calculator.wasm ${packed}
  DEPENDS ${folder}/calculator.wasm VERBATIM)
