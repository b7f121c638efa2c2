# SPDX-License-Identifier: Apache-2.0
# CUDA targets: this machine's own GPU where there is one, otherwise one machine code per generation
# (and PTX of the last, so that a newer GPU can still compile it at start). CUDAARCHS in the environment,
# which CMake reads, comes before both.

# Those of the GPUs that are here, as 90-real; empty without one.
function(_occbench_own_architectures result)
  set(own "")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE no_gpu)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" found "${found}")
  if(no_gpu EQUAL 0 AND found)  # not 'native', which leaves out what sm_90a adds to sm_90
    list(REMOVE_DUPLICATES found)
    string(REPLACE "." "" own "${found}")
    list(TRANSFORM own APPEND "-real")
  endif()
  set(${result} ${own} PARENT_SCOPE)
endfunction()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  _occbench_own_architectures(CMAKE_CUDA_ARCHITECTURES)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
  endif()
endif()
