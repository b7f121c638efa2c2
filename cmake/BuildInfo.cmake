# SPDX-License-Identifier: Apache-2.0
# Run at every build (cmake -P): what is being built, from which commit. Touches the file only when it
# changes.
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY "${SOURCE_DIR}"
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_git)
set(dirty false)
if(NOT no_git EQUAL 0)
  set(commit unknown)
else()
  # results/ holds what a build wrote, not what it is made of
  execute_process(COMMAND git status --porcelain -- . ":!results" WORKING_DIRECTORY "${SOURCE_DIR}"
                  OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(changes)
    set(dirty true)
  endif()
endif()
string(REGEX REPLACE "([\\\"])" "\\\\\\1" COMPILER_FLAGS "${COMPILER_FLAGS}")  # a string of C++
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in" "${OUTPUT}" @ONLY)
