# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, and the packages that CPack makes of it: `cmake --build BUILD --target
# package`.
include(GNUInstallDirs)

# Three components: the program with its documents; in a wheel, what Python loads of this build; and the
# library for benchmarks outside this tree.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
install(TARGETS occbench)
install(TARGETS occbench_attach_library DESTINATION lib/occbench)  # where `occbench attach` looks for it
install(FILES ${OCCBENCH_COMPLETIONS}/occbench
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${OCCBENCH_COMPLETIONS}/_occbench DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${OCCBENCH_COMPLETIONS}/occbench.fish
  DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES docs/data/occbench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES README.md CHANGELOG.md LICENSE cmake/licenses/THIRD-PARTY.txt
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES results/schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/occbench)

include(Sbom)

if(OCCBENCH_WHEEL)
  get_target_property(benchmark_type benchmark::benchmark TYPE)
  if(benchmark_type STREQUAL "SHARED_LIBRARY")  # Debian's: it goes along
    install(FILES $<TARGET_FILE:benchmark::benchmark> DESTINATION lib/occbench
      RENAME $<TARGET_SONAME_FILE_NAME:benchmark::benchmark>)
    set_target_properties(occbench PROPERTIES INSTALL_RPATH $ORIGIN/../lib/occbench)
  endif()
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME python)
  install(TARGETS occbench_c DESTINATION ${SKBUILD_PLATLIB_DIR}/occbench)
  return()  # what a wheel brings is the program
endif()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
# The package: find_package(occbench). Below internal/ lies what the public headers are made of.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/occbench)
set(internal ${CMAKE_INSTALL_INCLUDEDIR}/occbench/internal)
install(TARGETS occbench_library EXPORT occbench-targets)
install(EXPORT occbench-targets NAMESPACE occbench:: DESTINATION ${package})
configure_package_config_file(cmake/occbenchConfig.cmake.in occbenchConfig.cmake
  INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(occbenchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/occbenchConfig.cmake ${PROJECT_BINARY_DIR}/occbenchConfigVersion.cmake
  cmake/AddBenchmark.cmake cmake/Architectures.cmake cmake/BuildInfo.cmake cmake/benchmark_main.cpp
  cmake/Check.cmake cmake/build_info.cpp.in cmake/machine_code.cpp.in
  DESTINATION ${package})
install(DIRECTORY include/occbench include/facade/occbench ${PROJECT_BINARY_DIR}/include/occbench
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(header
    benchmarks/framework/sweep.hpp kernels/family.cuh
    harness/device/arena.hpp harness/device/census.cuh harness/device/device.hpp
    harness/device/first_where.hpp harness/device/instruments.hpp harness/device/kernel.hpp
    harness/device/kernel_code.hpp
    harness/device/launch.hpp harness/device/nvml.hpp harness/device/random.cuh
    harness/device/resource.hpp harness/device/sm_share.hpp
    harness/io/check.hpp harness/measure/plan.hpp harness/record/build.hpp
    harness/theory/parameters.hpp
    harness/theory/occupancy/catalogue.hpp harness/theory/occupancy/occupancy.hpp
    harness/theory/prediction/bands.hpp harness/theory/prediction/model.hpp
    harness/theory/simulator/flow.hpp harness/theory/simulator/program.hpp)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${internal}/${folder})
endforeach()

set(CPACK_GENERATOR TGZ)
find_program(OCCBENCH_DPKG_DEB dpkg-deb)
if(OCCBENCH_DPKG_DEB)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
string(TOLOWER "${PROJECT_NAME}-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}"
  CPACK_PACKAGE_FILE_NAME)
set(CPACK_PACKAGE_VENDOR "the occbench maintainers")
set(CPACK_PACKAGE_CONTACT "The occbench maintainers <maintainers@occbench.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures what occupancy does to a GPU kernel")
set(CPACK_PACKAGE_DESCRIPTION "\
occbench measures what occupancy does to the speed of CUDA kernels, on a GPU
or on a model of one. It computes exact occupancy for any kernel, counts the
blocks that were really resident, and says how precise each figure is.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)  # occbench_0.2.0_amd64.deb
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "bash-completion, pipx, cmake, libbenchmark-dev, libre2-dev, zlib1g-dev")
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/Debian.cmake)
find_program(OCCBENCH_DPKG_SHLIBDEPS dpkg-shlibdeps)
if(OCCBENCH_DPKG_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
elseif(OCCBENCH_DPKG_DEB)
  message(STATUS "No dpkg-shlibdeps (Debian's package dpkg-dev): a .deb made here names no dependencies")
endif()
include(CPack)
