// SPDX-License-Identifier: Apache-2.0
// Descriptions of the variants' machine code for the model, usable without a GPU. `occbench audit --describe`
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

/// The compute capability whose description of the variant is used for `cc`: its own, else the next older
/// one, else the oldest; 0 if there is none. Throws like machine_code().
int described_cc(const Variant& variant, int cc);

/// The above over all variants that run on `cc`, ascending. Throws like machine_code().
std::vector<int> described_ccs(int cc);

/// "sm_90" for 90.
std::string architecture(int cc);

/// "machine code of sm_80 stands in for sm_70's"; empty if all variants are described for `cc` itself.
std::string fallback_note(int cc);

/// The variant's description for `cc`, chosen by described_cc(); nullptr if there is none. Throws
/// std::invalid_argument if the text is malformed.
const theory::Program* machine_code(const Variant& variant, int cc);

/// What cudaFuncGetAttributes would return for this variant on compute capability cc; nullopt without a
/// description.
std::optional<EntryAttributes> described_attributes(const Variant& variant, int cc);

}  // namespace occbench
