# SPDX-License-Identifier: Apache-2.0
# A CUDA toolkit of PyPI's packages lies otherwise than NVIDIA's installer lays it: lib instead of lib64,
# where nvcc looks, and libcudart.so.13 without libcudart.so, which FindCUDAToolkit wants to see. Before the
# language CUDA is enabled.
find_program(occbench_nvcc nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin NO_CACHE)
if(CMAKE_CUDA_COMPILER)
  set(occbench_nvcc ${CMAKE_CUDA_COMPILER})
elseif(DEFINED ENV{CUDACXX})
  set(occbench_nvcc $ENV{CUDACXX})
endif()
get_filename_component(occbench_toolkit "${occbench_nvcc}" REALPATH)
get_filename_component(occbench_toolkit "${occbench_toolkit}/../.." ABSOLUTE)
file(GLOB occbench_cudart ${occbench_toolkit}/lib/libcudart.so.*)
if(occbench_cudart AND NOT EXISTS ${occbench_toolkit}/lib64)
  set(OCCBENCH_TOOLKIT_FLAGS " -L\"${occbench_toolkit}/lib\"")
  string(APPEND CMAKE_CUDA_FLAGS_INIT "${OCCBENCH_TOOLKIT_FLAGS}")
  add_link_options("-L${occbench_toolkit}/lib")  # static libraries: no program looks there when it runs
  if(NOT EXISTS ${occbench_toolkit}/lib/libcudart.so)
    set(CUDA_CUDART ${occbench_cudart} CACHE FILEPATH "CUDA's runtime")
  endif()
endif()
