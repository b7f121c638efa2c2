// SPDX-License-Identifier: Apache-2.0
// A file of parameters: refused as a file in a line that fits a screen, or whole and the same by way of
// env.json.
#include "harness/device/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "harness/io/check.hpp"
#include "harness/io/json.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;

namespace {

int levels(const nlohmann::json& json) {
  int deepest = 0;
  if (json.is_structured())
    for (const auto& item : json) deepest = std::max(deepest, levels(item));
  return json.is_structured() ? deepest + 1 : 0;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ParameterFile file = parse_parameters(fuzz::text_of(data, size), "FILE.json");
    fuzz::expect(file.content["format"] == 1, "format 1 is what is read");
    fuzz::expect(levels(file.content) <= 64, "JSON is at most 64 levels deep");
    const nlohmann::json environment = parse_json(nlohmann::json{{"parameters", file.to_json()}}.dump());
    const ParameterFile again = ParameterFile::from_json(environment["parameters"], "env.json");
    fuzz::expect(again.content == file.content && again.name == file.name, "env.json gives the file back");
    for (const theory::ParameterField& field : theory::parameter_fields()) {
      const double value = file.values.*field.value;
      fuzz::expect(std::isfinite(value) && value >= 0, "a value is a quantity");
      fuzz::expect(again.values.*field.value == value, "env.json gives each value back");
    }
    static_cast<void>(file.content.value("origin", "of unknown origin"));  // as calc does
  } catch (const UserError& refused) {
    const std::string line = refused.what();
    fuzz::expect(refused.code() == Exit::file, "a file is refused as a file");
    fuzz::expect(line.starts_with("FILE.json: "), "a refusal names its file");
    fuzz::expect(line.size() <= 2000, "a refusal fits a screen");
  }
  return 0;
}
