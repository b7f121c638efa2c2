// SPDX-License-Identifier: Apache-2.0
// Reads tables of an SQLite 3 database front to back, by https://www.sqlite.org/fileformat2.html, without
// indexes and queries. A profiler's export needs no more, and without a library it runs anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/binary/byte_source.hpp"

namespace occbench::binary {

/// NULL and BLOBs are empty.
using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;

class SqliteFile {
 public:
  static constexpr std::string_view magic{"SQLite format 3\0", 16};

  /// Throws Damaged if this reader does not understand the file.
  explicit SqliteFile(const ByteSource& source);

  [[nodiscard]] bool has_table(const std::string& name) const { return tables_.contains(name); }
  /// Calls visit(values) for each row, with the values of `columns`; missing columns are NULL. Throws
  /// Damaged.
  void each_row(const std::string& table, const std::vector<std::string>& columns,
                const std::function<void(const std::vector<SqlValue>&)>& visit) const;

 private:
  struct Table {
    std::uint32_t root = 0;
    std::vector<std::string> columns;
    std::optional<std::size_t> rowid_column;  ///< INTEGER PRIMARY KEY, which records store as NULL
  };
  using Visit = std::function<void(std::int64_t rowid, const std::vector<SqlValue>&)>;

  [[nodiscard]] std::uint64_t page_at(std::uint32_t page) const;
  void walk(std::uint32_t root, std::size_t column_count, const Visit& visit) const;
  [[nodiscard]] std::string payload(std::string_view page, std::size_t at, std::uint64_t size) const;
  [[nodiscard]] static Table table_of(const std::string& sql);

  ByteSource source_;
  std::uint32_t page_size_ = 0, usable_ = 0, page_count_ = 0;
  std::map<std::string, Table> tables_;
};

}  // namespace occbench::binary
