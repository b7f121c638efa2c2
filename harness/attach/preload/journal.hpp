// SPDX-License-Identifier: Apache-2.0
// Writes the files of one process (protocol.hpp). Each call hands its data to the kernel, so that they
// survive however the process ends.
#pragma once

#include <sys/types.h>

#include <string>

#include "harness/attach/protocol/records.hpp"

namespace occbench::attach {

class Journal {
 public:
  static constexpr std::size_t most_text_bytes = std::size_t{48} << 20;

  /// Creates the files in `folder`; where that fails nothing is written.
  Journal(const std::string& folder, std::size_t limit_bytes);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Adds the line of a record (records.hpp).
  template <class Record>
  void write(const Record& record) {
    constexpr std::size_t most_field_bytes = std::size_t{16} << 10;  // names of templates can be long
    write_line(line_of(record, most_field_bytes));
  }
  /// Adds a sentence that the command shows.
  void note(const std::string& text) { write(NoteRecord{.text = text}); }
  /// Counts of signature `n`, below most_signatures; null where nothing is written.
  [[nodiscard]] Count* count(std::size_t n) { return counts_ == nullptr ? nullptr : &counts_->of[n]; }
  void add(const Launch& launch);
  void add_launching_ns(std::uint64_t ns) {
    if (counts_ != nullptr) counts_->launching_ns += ns;
  }
  /// Writes a file beside the others, which the command reads while the process runs. One that exists stays.
  void write_file(const std::string& name, const std::string& text) const;
  /// Whether no launch can be added any more.
  [[nodiscard]] bool is_full() const { return counts_ == nullptr || counts_->full != Full::no; }
  /// Whether more lines may be written.
  [[nodiscard]] bool has_room() const { return text_bytes_ < most_text_bytes && !is_full(); }

 private:
  /// A descriptor may be closed by the program, which then opens another file by its number.
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
  Launch* window_ = nullptr;  ///< the part of the file that is mapped
  std::size_t used_ = 0;      ///< of the window
  std::size_t windows_ = 0, most_windows_;
};

}  // namespace occbench::attach
