// SPDX-License-Identifier: Apache-2.0
// Parses a PTX module as far as a register cap needs. PTX ISA, 'Directives'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace occbench::attach {

/// Whether the text begins like a PTX module: the driver also takes binary images by the same call.
[[nodiscard]] bool is_ptx(std::string_view text);

/// Names after `.entry`, including those in comments.
[[nodiscard]] std::vector<std::string> kernels_of(std::string_view ptx);

/// Kernels that may run from a second copy of the module: neither they nor their callees use functions from
/// elsewhere or module variables (.global, .const, textures), which each copy has separately.
[[nodiscard]] std::vector<std::string> kernels_without_variables(std::string_view ptx);

/// The module with `.maxnreg cap` on these kernels, replacing their own directives.
[[nodiscard]] std::string with_register_cap(std::string_view ptx, int cap);

/// Kernels that read %dynamic_smem_size or %total_smem_size, directly or in functions they call.
[[nodiscard]] std::vector<std::string> kernels_that_ask_for_smem(std::string_view ptx);

/// 90 for ".target sm_90a"; 0 if there is no target.
[[nodiscard]] int target_of(std::string_view ptx);

}  // namespace occbench::attach
