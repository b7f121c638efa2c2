// SPDX-License-Identifier: Apache-2.0
// The launches of a finished run that count.
#pragma once

#include <filesystem>

#include "benchmarks/report/findings/cliffs.hpp"

namespace occbench::findings {

/// Of samples.csv or samples.csv.gz, the launches of the first repetition that were not discarded; none
/// where a folder has no such file. Throws UserError(Exit::file) where it cannot be read, lacks a column or a
/// cell is not as results/schema.json says. A last row without its line feed is left out.
Times times_of(const std::filesystem::path& folder);

}  // namespace occbench::findings
