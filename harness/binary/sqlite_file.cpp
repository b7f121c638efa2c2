// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/sqlite_file.hpp"

#include <algorithm>
#include <bit>
#include <cctype>

namespace occbench::binary {
namespace {

constexpr std::uint64_t longest_payload = std::uint64_t{16} << 20;
constexpr int leaf = 13, interior = 5;

/// Reads big-endian integers and varints from a range of bytes. Throws Damaged at its end.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}

  std::uint64_t integer(std::size_t size) {
    std::uint64_t value = 0;
    for (const char c : take(size)) value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) {
      const std::uint64_t byte = integer(1);
      value = value << 7 | (byte & 0x7f);
      if (byte < 0x80) return value;
    }
    return value << 8 | integer(1);
  }
  std::string_view take(std::uint64_t size) {
    if (at_ > bytes_.size() || size > bytes_.size() - at_) throw Damaged("has a record that is cut off");
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_;
};

SqlValue value_of(std::uint64_t type, Cursor& body) {
  constexpr std::size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8};
  if (type == 0) return {};
  if (type == 8 || type == 9) return static_cast<std::int64_t>(type - 8);
  if (type == 7) return std::bit_cast<double>(body.integer(8));
  if (type < 7) {
    const std::size_t size = sizes[type];
    const unsigned unused = 64 - 8 * static_cast<unsigned>(size);
    return static_cast<std::int64_t>(body.integer(size) << unused) >> unused;
  }
  if (type < 12) throw Damaged("has a value of an unknown type");
  const std::string_view bytes = body.take((type - 12) / 2);
  return type % 2 == 1 ? SqlValue(std::string(bytes)) : SqlValue();
}

/// The first `most` values, or fewer: a record omits columns that were added later.
std::vector<SqlValue> values_of(std::string_view record, std::size_t most) {
  Cursor head(record);
  const std::uint64_t head_size = head.varint();
  if (head_size > record.size()) throw Damaged("has a record that is cut off");
  Cursor body(record, head_size);
  std::vector<SqlValue> values;
  while (head.at() < head_size && values.size() < most) values.push_back(value_of(head.varint(), body));
  return values;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

SqliteFile::SqliteFile(const ByteSource& source) : source_(source) {
  constexpr std::size_t header_size = 100;
  Buffer buffer;
  const std::string_view header = text_of(source_.read(0, header_size, buffer));
  if (!header.starts_with(magic)) throw Damaged("is not an SQLite database");
  page_size_ = static_cast<std::uint32_t>(Cursor(header, 16).integer(2));
  if (page_size_ == 1) page_size_ = 1 << 16;
  const auto reserved = static_cast<std::uint32_t>(Cursor(header, 20).integer(1));
  constexpr std::uint32_t min_page = 512, min_usable = 480;
  if (page_size_ < min_page || !std::has_single_bit(page_size_) || page_size_ - reserved < min_usable)
    throw Damaged("has an invalid page size");
  if (Cursor(header, 56).integer(4) > 1) throw Damaged("is not in UTF-8");
  usable_ = page_size_ - reserved;
  page_count_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(source_.size() / page_size_, 0xfffffffe));
  constexpr std::size_t schema_columns = 5;  // type, name, tbl_name, rootpage, sql
  walk(1, schema_columns, [&](std::int64_t, const std::vector<SqlValue>& row) {
    if (row.size() < schema_columns) return;
    const auto* const type = std::get_if<std::string>(&row[0]);
    const auto* const name = std::get_if<std::string>(&row[1]);
    const auto* const root = std::get_if<std::int64_t>(&row[3]);
    const auto* const sql = std::get_if<std::string>(&row[4]);
    if (type == nullptr || *type != "table" || name == nullptr || root == nullptr || sql == nullptr) return;
    Table table = table_of(*sql);
    table.root = static_cast<std::uint32_t>(*root);
    tables_.insert_or_assign(*name, std::move(table));
  });
}

/// The columns of "CREATE TABLE name (id INTEGER PRIMARY KEY, value TEXT)".
SqliteFile::Table SqliteFile::table_of(const std::string& sql) {
  Table table;
  std::string definition;
  int depth = 0;
  const auto finish = [&] {
    const std::size_t begin = definition.find_first_not_of(" \t\r\n");
    if (begin == std::string::npos) return;
    const std::string text = lower(std::string_view(definition).substr(begin));
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    std::string name = text.substr(0, end);
    std::erase_if(name, [](char c) { return c == '"' || c == '`' || c == '[' || c == ']'; });
    for (const char* const constraint : {"primary", "unique", "check", "foreign", "constraint"})
      if (name == constraint) return;
    if (text.find("primary key") != std::string::npos && text.substr(end).starts_with(" integer"))
      table.rowid_column = table.columns.size();
    table.columns.push_back(std::move(name));
  };
  for (const char c : sql) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if ((c == '(' && depth == 1) || (c == ',' && depth == 1) || (c == ')' && depth == 0)) {
      if (c != '(') finish();
      definition.clear();
    } else {
      definition += c;
    }
  }
  return table;
}

std::uint64_t SqliteFile::page_at(std::uint32_t page) const {
  if (page < 1 || page > page_count_) throw Damaged("is cut off: a page is missing");
  return std::uint64_t{page - 1} * page_size_;
}

/// A record; its end may be on overflow pages.
std::string SqliteFile::payload(std::string_view page, std::size_t at, std::uint64_t size) const {
  const std::uint64_t most = usable_ - 35;
  if (size <= most) return std::string(Cursor(page, at).take(size));
  const std::uint64_t least = (usable_ - 12) * 32 / 255 - 23;
  const std::uint64_t wanted = least + (size - least) % (usable_ - 4);
  Cursor cursor(page, at);
  std::string bytes(cursor.take(wanted <= most ? wanted : least));
  auto next = static_cast<std::uint32_t>(cursor.integer(4));
  Buffer buffer;
  while (bytes.size() < size) {
    Cursor overflow(text_of(source_.read(page_at(next), usable_, buffer)));
    next = static_cast<std::uint32_t>(overflow.integer(4));
    bytes += overflow.take(std::min<std::uint64_t>(size - bytes.size(), usable_ - 4));
  }
  return bytes;
}

/// Visits the rows of a table's tree in order. Each page is read once, even if the tree has a cycle. All rows
/// have at most as many bytes as the file, which may claim that they overlap.
void SqliteFile::walk(std::uint32_t root, std::size_t column_count, const Visit& visit) const {
  std::vector<std::uint32_t> open = {root};
  Buffer buffer;
  std::uint64_t left = source_.size();
  for (std::uint64_t pages = 0; !open.empty(); ++pages) {
    if (pages > page_count_) throw Damaged("has a page that is its own ancestor");
    const std::uint32_t number = open.back();
    open.pop_back();
    const std::string page(text_of(source_.read(page_at(number), usable_, buffer)));
    const std::size_t begin = number == 1 ? 100 : 0;
    Cursor head(page, begin);
    const auto type = static_cast<int>(head.integer(1));
    if (type != leaf && type != interior) throw Damaged("has a page that is not of a table");
    const std::uint64_t cells = Cursor(page, begin + 3).integer(2);
    Cursor pointers(page, begin + (type == leaf ? 8 : 12));
    std::vector<std::uint32_t> children;
    for (std::uint64_t i = 0; i < cells; ++i) {
      Cursor cell(page, pointers.integer(2));
      if (type == interior) {
        children.push_back(static_cast<std::uint32_t>(cell.integer(4)));
        continue;
      }
      const std::uint64_t size = cell.varint();
      const auto rowid = static_cast<std::int64_t>(cell.varint());
      if (size > longest_payload) throw Damaged("has a row of more than 16 MiB");
      constexpr std::uint64_t min_cell = 4;  // a pointer, the size and the row id
      if (size + min_cell > left) throw Damaged("has rows that overlap");
      left -= size + min_cell;
      visit(rowid, values_of(payload(page, cell.at(), size), column_count));
    }
    if (type == interior) {
      children.push_back(static_cast<std::uint32_t>(Cursor(page, begin + 8).integer(4)));
      if (open.size() + children.size() > page_count_) throw Damaged("has a page that is its own ancestor");
      open.insert(open.end(), children.rbegin(), children.rend());
    }
  }
}

void SqliteFile::each_row(const std::string& table, const std::vector<std::string>& columns,
                          const std::function<void(const std::vector<SqlValue>&)>& visit) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return;
  const Table& known = found->second;
  std::vector<std::size_t> places;
  for (const std::string& column : columns)
    places.push_back(
        static_cast<std::size_t>(std::ranges::find(known.columns, lower(column)) - known.columns.begin()));
  std::size_t needed = 0;  // a row may claim millions of values
  for (const std::size_t place : places)
    if (place < known.columns.size()) needed = std::max(needed, place + 1);
  std::vector<SqlValue> wanted(columns.size());
  walk(known.root, needed, [&](std::int64_t rowid, const std::vector<SqlValue>& row) {
    for (std::size_t i = 0; i < places.size(); ++i)
      wanted[i] = places[i] == known.rowid_column ? SqlValue(rowid)
                  : places[i] < row.size()        ? row[places[i]]
                                                  : SqlValue();
    visit(wanted);
  });
}

}  // namespace occbench::binary
