# SPDX-License-Identifier: Apache-2.0
# occbench.cdx.json: what the program that is built here contains of others, each in the version that was
# found or fetched (CycloneDX 1.5). tests/install_test.py holds its list against licenses/THIRD-PARTY.txt.
set(components "")

# component(NAME LICENSE SOURCE VERSION): a fetched one's version is its commit.
function(component name license source version)
  string(TOLOWER "${name}" folder)
  if(${folder}_SOURCE_DIR)
    execute_process(COMMAND git -C "${${folder}_SOURCE_DIR}" rev-parse HEAD
      OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(written "{\"type\": \"library\", \"name\": \"${name}\"")
  if(version)  # Debian's re2 does not say
    string(APPEND written ", \"version\": \"${version}\"")
  endif()
  string(APPEND written ", \"licenses\": [{\"license\": {${license}}}]")
  string(APPEND written ", \"externalReferences\": [{\"type\": \"website\", \"url\": \"${source}\"}]}")
  set(components ${components} "${written}" PARENT_SCOPE)
endfunction()

# version_of(VARIABLE HEADER NAME): 'A.B.C' from the three macros of a header.
function(version_of variable header prefix)
  set(version "")
  if(EXISTS "${header}")
    foreach(part IN ITEMS MAJOR MINOR RELEASE)
      file(STRINGS "${header}" line REGEX "#define +${prefix}_VERSION_${part} +[0-9]+" LIMIT_COUNT 1)
      string(REGEX MATCH " ([0-9]+)" number "${line}")
      list(APPEND version ${CMAKE_MATCH_1})
    endforeach()
    list(JOIN version . version)
  endif()
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()
version_of(lz4_version "${OCCBENCH_lz4_INCLUDE}/lz4.h" LZ4)
version_of(zstd_version "${OCCBENCH_zstd_INCLUDE}/zstd.h" ZSTD)

set(cuda_eula "\"name\": \"CUDA Toolkit End User License Agreement\"")
component(benchmark "\"id\": \"Apache-2.0\"" https://github.com/google/benchmark "${benchmark_VERSION}")
component(CLI11 "\"id\": \"BSD-3-Clause\"" https://github.com/CLIUtils/CLI11 "${CLI11_VERSION}")
component(nlohmann_json "\"id\": \"MIT\"" https://github.com/nlohmann/json "${nlohmann_json_VERSION}")
component(re2 "\"id\": \"BSD-3-Clause\"" https://github.com/google/re2 "${re2_VERSION}")
component(zlib "\"id\": \"Zlib\"" https://zlib.net "${ZLIB_VERSION_STRING}")
component(lz4 "\"id\": \"BSD-2-Clause\"" https://github.com/lz4/lz4 "${lz4_version}")
component(zstd "\"id\": \"BSD-3-Clause\"" https://github.com/facebook/zstd "${zstd_version}")
component(NVTX "\"id\": \"Apache-2.0\"" https://github.com/NVIDIA/NVTX "${CUDAToolkit_VERSION}")
component(cudart_static "${cuda_eula}" https://docs.nvidia.com/cuda "${CUDAToolkit_VERSION}")
if(OCCBENCH_WHEEL)
  file(READ "${PROJECT_SOURCE_DIR}/tools/occbench_tools/vendor/uplot/uPlot.iife.min.js" banner LIMIT 100)
  string(REGEX MATCH "uPlot \\(v([0-9.]+)" banner "${banner}")
  component(uPlot "\"id\": \"MIT\"" https://github.com/leeoniya/uPlot "${CMAKE_MATCH_1}")
endif()
list(JOIN components ",\n    " components)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/occbench.cdx.json" @ONLY CONTENT [[
{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {"component": {"type": "application", "name": "occbench", "version": "@PROJECT_VERSION@"}},
  "components": [
    @components@
  ]
}
]])
install(FILES "${PROJECT_BINARY_DIR}/occbench.cdx.json" DESTINATION ${CMAKE_INSTALL_DOCDIR})
