// SPDX-License-Identifier: Apache-2.0
// Writes the files of one process (protocol.hpp). Each call hands its data to the kernel, so the data survive
// any end of the process.
#pragma once

#include <sys/types.h>

#include <string>

#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {

class RecordWriter {
 public:
  static constexpr std::size_t max_text_bytes = std::size_t{48} << 20;

  /// Creates the files in `folder`; if that fails, nothing is written.
  RecordWriter(const std::string& folder, std::size_t limit_bytes);
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  /// Adds the line of a record (records.hpp).
  template <class Record>
  void write(const Record& record) {
    constexpr std::size_t max_field_bytes = std::size_t{16} << 10;  // names of templates can be long
    write_line(line_of(record, max_field_bytes));
  }
  /// Adds a sentence that the command shows.
  void note(const std::string& text) { write(NoteRecord{.text = text}); }
  /// The counts of signature `n`, below max_signatures; null if nothing is written.
  [[nodiscard]] Count* count(std::size_t n) { return counts_ == nullptr ? nullptr : &counts_->of[n]; }
  void add(const Launch& launch);
  void add_launching_ns(std::uint64_t ns) {
    if (counts_ != nullptr) counts_->launching_ns += ns;
  }
  /// Writes an additional file that the command reads while the process runs; never overwrites one.
  void write_file(const std::string& name, const std::string& text) const;
  /// Whether no further launch can be added.
  [[nodiscard]] bool is_full() const { return counts_ == nullptr || counts_->full != Full::none; }
  /// Whether more lines may be written.
  [[nodiscard]] bool has_room() const { return text_bytes_ < max_text_bytes && !is_full(); }

 private:
  /// The program may close the descriptor and reuse its number for another file.
  struct File {
    int descriptor = -1;
    dev_t device = 0;
    ino_t inode = 0;
    [[nodiscard]] bool is_open() const;
  };
  static File make(const std::string& path);
  void write_line(const std::string& line);
  void end(Full why);

  std::string folder_;
  File text_, launches_;
  std::size_t text_bytes_ = 0;
  Counts* counts_ = nullptr;
  Launch* window_ = nullptr;  ///< the mapped part of the file
  std::size_t used_ = 0;      ///< within the window
  std::size_t windows_ = 0, max_windows_;
};

}  // namespace occbench::attach
