// SPDX-License-Identifier: Apache-2.0
// Descriptions of the variants' machine code for the model, which needs no GPU: `occbench audit --describe`
// reads them from a build; kernels/machine_code has a file per compute capability and family.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/kernel_code.hpp"
#include "harness/device/launch.hpp"
#include "harness/theory/simulator/program.hpp"

namespace occbench {

/// Whether compute capability `cc` has the variant's instructions.
bool runs_on(const Variant& variant, int cc);

/// The compute capability whose description of the variant serves for `cc`: its own, else the next older one
/// that has it, else the oldest; 0 when there is none at all. Throws as machine_code().
int described_cc(const Variant& variant, int cc);

/// These, over all variants that run on `cc`, ascending. Throws as machine_code().
std::vector<int> described_ccs(int cc);

/// "sm_90" of 90.
std::string architecture(int cc);

/// "machine code of sm_80 stands in for sm_70's"; empty where all of them are described for `cc` itself.
std::string stand_in(int cc);

/// The variant's description for `cc`, as described_cc() says; nullptr when it has none. Throws
/// std::invalid_argument when the text cannot be read.
const theory::Program* machine_code(const Variant& variant, int cc);

/// What cudaFuncGetAttributes would return for this variant on compute capability cc; nullopt where it is not
/// described.
std::optional<EntryAttributes> described_attributes(const Variant& variant, int cc);

}  // namespace occbench
