# SPDX-License-Identifier: Apache-2.0
# CUDA targets: this machine's own GPU where there is one, otherwise one machine code per generation
# (and PTX of the last, so that a newer GPU can still compile it at start).
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE gpus ERROR_QUIET RESULT_VARIABLE no_gpu)
  if(no_gpu EQUAL 0 AND gpus MATCHES "GPU 0")
    set(CMAKE_CUDA_ARCHITECTURES native)
  else()
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90-real 100-real 120)
  endif()
endif()
