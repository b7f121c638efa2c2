// SPDX-License-Identifier: Apache-2.0
// What `occbench inspect` says of a kernel, by name: for tables of programs, to sort by, and for conditions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>

#include "benchmarks/commands/inspect/query.hpp"

namespace occbench::commands {

/// monostate is what is not known.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

struct InspectColumn {
  const char* name;
  bool is_number;
  Value (*of)(const Inspected& row);
};

[[nodiscard]] std::span<const InspectColumn> inspect_columns();
/// By its name, or by how its name alone begins: "registers". Throws UserError(Exit::usage) where there is
/// none.
[[nodiscard]] const InspectColumn& inspect_column(const std::string& name);

/// As CSV has it: empty where it is not known.
[[nodiscard]] std::string cell(const Value& value);
[[nodiscard]] nlohmann::ordered_json to_json(const Value& value);

}  // namespace occbench::commands
