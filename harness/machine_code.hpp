// SPDX-License-Identifier: Apache-2.0
// What the model knows of a variant's machine code, GPU or none: descriptions that `occbench audit --describe` read from a
// build and that kernels/machine_code holds, a file per compute capability.
#pragma once

#include <optional>
#include <vector>

#include "harness/kernel_code.hpp"
#include "harness/launch.hpp"
#include "harness/theory/program.hpp"

namespace occbench {

/// Compute capabilities that are described, ascending.
std::vector<int> described_ccs();

/// Of the compute capability whose description stands for `cc`: its own, else that of the next older one, else the
/// oldest; 0 when there is none at all.
int described_cc(int cc);

/// The variant's description for `cc`, as described_cc() says; nullptr when it has none. Throws std::invalid_argument
/// when the text cannot be read.
const theory::Program* machine_code(const Variant& variant, int cc);

/// What cudaFuncGetAttributes would say of this variant on compute capability cc; nullopt where it is not described.
std::optional<EntryAttributes> described_attributes(const Variant& variant, int cc);

}  // namespace occbench
