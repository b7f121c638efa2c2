# SPDX-License-Identifier: Apache-2.0
# Run after each link (cmake -P): the program writes its completions, and help2man its man page.
file(MAKE_DIRECTORY "${OUTPUT}")
foreach(shell bash zsh fish)
  set(file "${OUTPUT}/occbench.${shell}")
  if(shell STREQUAL zsh)
    set(file "${OUTPUT}/_occbench")  # as zsh looks for it
  endif()
  execute_process(COMMAND "${PROGRAM}" completion ${shell} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

if(HELP2MAN)
  file(READ "${SOURCE_DIR}/docs/data/exit-codes.csv" exit_codes)
  string(REGEX REPLACE "^code,meaning" "" exit_codes "${exit_codes}")
  string(REGEX REPLACE "\n([0-9]+),\"?([^\"\n]*)\"?" "\n.TP\n\\1\n\\2" exit_codes "${exit_codes}")
  configure_file("${SOURCE_DIR}/cmake/man.h2m.in" "${OUTPUT}/man.h2m" @ONLY)
  execute_process(
    COMMAND "${HELP2MAN}" --no-info --section=1 "--source=occbench ${VERSION}" "--version-string=${VERSION}"
      --help-option=--help-all "--include=${OUTPUT}/man.h2m" "--output=${OUTPUT}/occbench.1" "${PROGRAM}"
    COMMAND_ERROR_IS_FATAL ANY)
endif()
