// SPDX-License-Identifier: Apache-2.0
// `occbench calc`: occupancy by arithmetic, for one footprint or a file of them. Needs no GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "harness/theory/catalogue.hpp"

namespace occbench::commands {

/// Turns the user's word for a device (index, UUID, name, ccX.Y; empty for the default) into its limits.
/// Throws UserError or std::invalid_argument with one line when there is none.
using DeviceResolver = std::function<theory::CatalogueEntry(const std::string&)>;

/// The catalogue alone: an empty word is refused.
[[nodiscard]] theory::CatalogueEntry resolve_offline(const std::string& word);

/// Adds the subcommand. Its callback writes to std::cout; it throws UserError with Exit::usage for words it
/// cannot read and Exit::file for a file it cannot read or an output it cannot write. A footprint that cannot
/// launch is an answer, not an error.
void add_calc(CLI::App& app, DeviceResolver resolve = resolve_offline);

}  // namespace occbench::commands
