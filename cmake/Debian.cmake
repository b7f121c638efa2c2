# SPDX-License-Identifier: Apache-2.0
# Run by CPack on what a package will hold: what Debian keeps elsewhere, or packed.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(share "${CPACK_TEMPORARY_DIRECTORY}/usr/share")
set(doc "${share}/doc/occbench")
file(RENAME "${share}/zsh/site-functions" "${share}/zsh/vendor-completions")
file(RENAME "${doc}/CHANGELOG.md" "${doc}/changelog")
file(GLOB to_pack "${doc}/changelog" "${share}/man/man1/*")
foreach(file IN LISTS to_pack)
  execute_process(COMMAND gzip -9 --no-name "${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(REMOVE "${doc}/LICENSE")
file(WRITE "${doc}/copyright" "\
Copyright 2026 The occbench maintainers

Licensed under the Apache License, Version 2.0. On Debian systems its text is
in /usr/share/common-licenses/Apache-2.0.
")
file(CHMOD "${doc}/copyright" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
