// SPDX-License-Identifier: Apache-2.0
// The columns of `occbench inspect`.
#pragma once

#include <span>
#include <string>

#include "benchmarks/commands/inspect/query.hpp"
#include "benchmarks/report/columns.hpp"

namespace occbench::commands {

enum class Type { text, number };

struct InspectColumn : Column<InspectedKernel> {
  Type type;
};

[[nodiscard]] std::span<const InspectColumn> inspect_columns();

/// The column of CSV with this name, or the only one whose name begins so: "registers". Throws
/// UserError(Exit::usage) where there is none.
[[nodiscard]] const InspectColumn& inspect_column(const std::string& name);

}  // namespace occbench::commands
