// SPDX-License-Identifier: Apache-2.0
// Names of C++ as people write them.
#pragma once

#include <string>

namespace occbench {

/// A mangled name ("_Z...") demangled. What is not mangled, or would become far longer than it is, stays as
/// it is: a mangled name refers to its own parts, so that each 10 characters can double its length.
[[nodiscard]] std::string demangled(const std::string& name);

}  // namespace occbench
