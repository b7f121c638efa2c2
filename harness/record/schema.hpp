// SPDX-License-Identifier: Apache-2.0
// Checks a run's files against results/schema.json: somebody else may have written or damaged them.
#pragma once

#include <regex.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/csv.hpp"

namespace occbench {

enum class Origin { run, attach };

/// Entries of schema.json: the columns of a CSV file, or the fields of a JSON file. Throws std::logic_error
/// on a file that it does not know.
const nlohmann::json& schema_entries(std::string_view file, Origin origin = Origin::run);

/// The text of cases.csv or of a table of attach. Throws UserError(Exit::file) where it cannot be read, is
/// too large or holds zero bytes: a sparse file reads as zeros, however large.
std::string read_table(const std::filesystem::path& path);

/// The cells of one CSV file. Older versions' names and values are known; columns of no schema may hold
/// anything.
class RowCheck {
 public:
  /// Throws UserError(Exit::file) where a column is there twice.
  RowCheck(std::filesystem::path path, std::string_view file, const csv::Row& header,
           Origin origin = Origin::run);

  /// Throws UserError(Exit::file), which names file, row and column, at the first cell that is not as the
  /// schema says, and where the row has more or fewer cells than the header.
  void check(const csv::Row& row);
  /// The same for a row that may be cut off: false for a last row without its line feed, which the caller
  /// leaves out. A row that spans lines was not cut off: a quote is missing.
  [[nodiscard]] bool is_whole(const csv::Record& record);
  /// Throws likewise where the row's status and source require a cell that is empty, or forbid one that is
  /// filled. `header` must have been the schema's own.
  void check_filled(const csv::Row& row) const;
  /// Throws UserError(Exit::file) about the row last checked.
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  struct Column {
    std::string name;
    const nlohmann::json* entry = nullptr;  ///< null: of no schema
    std::shared_ptr<regex_t> pattern = {};
    std::vector<nlohmann::json> allowed = {};
    std::string last_good = {};  ///< a text that passed: names come again and again
  };
  [[nodiscard]] std::string complaint(Column& column, const std::string& cell) const;
  [[nodiscard]] std::string text_complaint(Column& column, const std::string& cell) const;

  std::filesystem::path path_;
  std::vector<Column> columns_;
  std::size_t line_ = 1;  ///< on which the row begins
  std::size_t next_ = 2;
};

enum class EnvironmentCheck {
  types,  ///< a field may lack, and have any value of its type
  all
};

/// What is wrong with the first field of an env.json that is not as `entries` say, "preset: 5 is not of type
/// string"; empty where none is. Other fields are allowed.
std::string environment_complaint(const nlohmann::json& environment, const nlohmann::json& entries,
                                  EnvironmentCheck check);

}  // namespace occbench
