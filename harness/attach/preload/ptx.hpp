// SPDX-License-Identifier: Apache-2.0
// Parses the text of a PTX module as far as a register cap needs it. PTX ISA, 'Directives'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace occbench::attach {

/// Whether it begins like a PTX module: the driver takes binary images by the same call.
[[nodiscard]] bool is_ptx(std::string_view text);

/// Names behind `.entry`, those in comments included.
[[nodiscard]] std::vector<std::string> kernels_of(std::string_view ptx);

/// Kernels that may run from another copy of the module: neither they nor what they call use variables of the
/// module (.global, .const, textures), of which each copy has its own, or functions from elsewhere.
[[nodiscard]] std::vector<std::string> kernels_without_variables(std::string_view ptx);

/// The module with `.maxnreg cap` on these kernels, in place of what they had.
[[nodiscard]] std::string with_register_cap(std::string_view ptx, int cap);

/// Kernels that read %dynamic_smem_size or %total_smem_size, themselves or by functions that they call.
[[nodiscard]] std::vector<std::string> kernels_that_ask_for_smem(std::string_view ptx);

/// 90 of ".target sm_90a"; 0 where it has none.
[[nodiscard]] int target_of(std::string_view ptx);

}  // namespace occbench::attach
