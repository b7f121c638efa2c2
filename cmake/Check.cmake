# SPDX-License-Identifier: Apache-2.0
# A build that fails where a kernel needs too much: docs/review.md. Part of the installed package, and of this
# tree for who adds it as a subdirectory.

# occbench_check(TARGET FAIL_ON CONDITION [DIFF FILE])
#
# After TARGET is linked, `occbench inspect --fail-on CONDITION` reads its kernels; with DIFF it compares them
# with those in FILE, an earlier build. The build fails where the condition is true.
function(occbench_check target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FAIL_ON;DIFF" "")
  if(NOT TARGET ${target} OR NOT arg_FAIL_ON OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR
      "occbench_check(${target}): wants a target and FAIL_ON CONDITION, and takes DIFF FILE")
  endif()
  set(program $<TARGET_FILE:occbench>)
  if(NOT TARGET occbench)
    get_property(folder GLOBAL PROPERTY OCCBENCH_PROGRAM_FOLDER)
    find_program(OCCBENCH_PROGRAM occbench HINTS ${folder} REQUIRED)
    set(program ${OCCBENCH_PROGRAM})
  endif()
  if(arg_DIFF)
    get_filename_component(earlier ${arg_DIFF} ABSOLUTE)
    list(PREPEND earlier --diff)
  endif()
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${program} inspect ${earlier} $<TARGET_FILE:${target}> --fail-on ${arg_FAIL_ON}
    COMMENT "Kernels of ${target}: ${arg_FAIL_ON}" VERBATIM)
endfunction()
