// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/columns.hpp"

#include "benchmarks/framework/numbers.hpp"

namespace occbench::commands {

std::string cell(const Value& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "1" : "0";
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return shortest(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return csv::no_formula(*text);
  return {};
}

std::optional<double> number_of(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

Json to_json(const Value& value) {
  return std::visit(
      []<class T>(const T& held) -> Json {
        if constexpr (std::is_same_v<T, std::monostate>)
          return nullptr;
        else
          return held;
      },
      value);
}

}  // namespace occbench::commands
