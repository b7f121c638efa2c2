// SPDX-License-Identifier: Apache-2.0
#include "harness/io/lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/io/check.hpp"

namespace occbench {

bool LineReader::fill() {
  before_waiting_();
  buffer_.resize(longest);
  read_ = 0;
  ssize_t n = 0;
  do n = read(file_.get(), buffer_.data(), buffer_.size());
  while (n < 0 && errno == EINTR);
  if (n < 0) throw UserError(Exit::file, "cannot read " + name_ + ": " + std::strerror(errno));
  buffer_.resize(static_cast<std::size_t>(n));
  return n > 0;
}

bool LineReader::next(std::string& line) {
  line.clear();
  is_cut_ = is_terminated_ = false;
  for (std::size_t size = 0;;) {
    if (read_ == buffer_.size() && !fill()) return size > 0;
    const std::size_t end = std::min(buffer_.find('\n', read_), buffer_.size());
    const std::size_t space = longest - line.size();
    is_cut_ = is_cut_ || end - read_ > space;
    line.append(buffer_, read_, std::min(space, end - read_));
    size += end - read_;
    if (size > endless)
      throw UserError(Exit::file, name_ + ": a line of more than " + std::to_string(endless >> 20) + " MiB");
    read_ = end;
    if (end == buffer_.size()) continue;
    ++read_;
    is_terminated_ = true;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  }
}

}  // namespace occbench
