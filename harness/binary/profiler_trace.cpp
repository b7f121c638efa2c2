// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/profiler_trace.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/io/json.hpp"

namespace occbench::binary {
namespace {

/// The fields that are read of an event, or of an entry of deviceProperties.
struct Event {
  std::string category, name;
  double duration_us = 0;
  std::optional<double> registers, smem, id, device, cc_major, cc_minor;
  double block = 1;
  bool has_block = false;
};

/// Collects the entries of "traceEvents" and "deviceProperties", or of an array that is the root.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool string(std::string& value) override {
    if (levels_.size() != event_level_) return true;
    if (levels_.back() == "cat") event_.category = value;
    if (levels_.back() == "name") event_.name = value.substr(0, longest_name);
    return true;
  }
  bool start_object(std::size_t) override {
    const bool at_root = levels_.size() == 1 && levels_[0].empty();
    const bool in_list =
        levels_.size() == 2 && (levels_[0] == "traceEvents" || levels_[0] == "deviceProperties");
    if (at_root || in_list) {
      event_ = {};
      event_level_ = levels_.size() + 1;
    }
    return deeper();
  }
  bool key(std::string& name) override {
    levels_.back() = name.substr(0, longest_key);
    return true;
  }
  bool end_object() override {
    if (levels_.size() == event_level_) finish();
    levels_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override {
    levels_.pop_back();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string_view what = error.what();
    const std::size_t begin = what.find("] ");
    throw std::invalid_argument(
        "is not JSON: " + excerpt(std::string(what.substr(begin == std::string_view::npos ? 0 : begin + 2))));
  }

  std::vector<KernelUse> kernels() {
    std::vector<KernelUse> found;
    for (auto& [device, launches] : launches_)
      for (KernelUse& kernel : launches.take()) {
        kernel.cc = devices_[device];
        found.push_back(std::move(kernel));
      }
    return found;
  }

 private:
  static constexpr std::size_t longest_name = 1 << 14, longest_key = 64, deepest = 256;

  bool deeper() {
    if (levels_.size() >= deepest) throw std::invalid_argument("is nested deeper than 256 levels");
    levels_.emplace_back();
    return true;
  }

  bool number(double value) {
    if (event_level_ == 0 || levels_.size() < event_level_) return true;
    const std::string& key = levels_[event_level_ - 1];
    const bool is_argument = levels_.size() == event_level_ + 1 && key == "args";
    if (levels_.size() == event_level_) {
      if (key == "dur") event_.duration_us = value;
      if (key == "id") event_.id = value;
      if (key == "computeMajor") event_.cc_major = value;
      if (key == "computeMinor") event_.cc_minor = value;
    } else if (is_argument) {
      if (levels_.back() == "registers per thread") event_.registers = value;
      if (levels_.back() == "shared memory") event_.smem = value;
      if (levels_.back() == "device") event_.device = value;
    } else if (levels_.size() == event_level_ + 2 && key == "args" && levels_[event_level_] == "block") {
      event_.block *= value;
      event_.has_block = true;
    }
    return true;
  }

  void finish() {
    event_level_ = 0;
    const auto whole = [](double value, double max) { return value >= 0 && value <= max; };
    if (levels_.size() == 3 && levels_[0] == "deviceProperties") {
      if (event_.id && event_.cc_major && event_.cc_minor && whole(*event_.cc_major, 99) &&
          whole(*event_.cc_minor, 9))
        devices_[index(*event_.id)] = std::to_string(std::lround(*event_.cc_major)) + "." +
                                      std::to_string(std::lround(*event_.cc_minor));
      return;
    }
    if (event_.category != "kernel" && event_.category != "Kernel") return;
    if (!event_.registers || !whole(*event_.registers, 1e6) || !event_.has_block ||
        !whole(event_.block, 1e6) || !whole(event_.smem.value_or(0), 1e12))
      return;
    launches_[index(event_.device.value_or(0))].add(
        {.name = event_.name,
         .registers_per_thread = static_cast<int>(*event_.registers),
         .block_size = static_cast<int>(event_.block),
         .dynamic_smem_bytes = static_cast<std::size_t>(event_.smem.value_or(0)),
         .launches = 1,
         .time_us = std::max(event_.duration_us, 0.0)});
  }

  static int index(double device) { return static_cast<int>(std::clamp(device, 0.0, 1e6)); }

  std::vector<std::string> levels_;  ///< last key of each open object or array
  std::size_t event_level_ = 0;
  Event event_;
  std::map<int, std::string> devices_;  ///< compute capability by device
  std::map<int, Launches> launches_;    ///< by device
};

/// Input iterator for nlohmann's parser.
class Bytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  struct Source {
    const std::function<std::size_t(char*, std::size_t)>& read;
    std::array<char, 1 << 16> buffer{};
    std::size_t at = 0, size = 0;

    bool in_string = false, is_escaped = false;
    std::size_t token = 0;  ///< bytes of the current string or number

    bool fill() {
      if (at < size) return true;
      at = 0;
      size = read(buffer.data(), buffer.size());
      check_tokens();
      return size > 0;
    }

    /// The parser stores each string as a whole.
    void check_tokens() {
      constexpr std::size_t longest = std::size_t{16} << 20;
      for (const char c : std::string_view(buffer.data(), size)) {
        const bool ends = in_string ? c == '"' && !is_escaped : std::strchr("\",:[]{} \t\r\n", c) != nullptr;
        token = ends ? 0 : token + 1;
        if (ends && c == '"') in_string = !in_string;
        is_escaped = in_string && c == '\\' && !is_escaped;
        if (token > longest) throw std::invalid_argument("has a string of more than 16 MiB");
      }
    }
  };

  explicit Bytes(Source* source) : source_(source) {}
  reference operator*() const {
    source_->fill();
    return source_->buffer[source_->at];
  }
  Bytes& operator++() {
    ++source_->at;
    return *this;
  }
  bool operator==(const Bytes& end) const {  // the end has no source
    Source* const source = source_ != nullptr ? source_ : end.source_;
    return source == nullptr || !source->fill();
  }
  bool operator!=(const Bytes& end) const { return !(*this == end); }

 private:
  Source* source_;
};

}  // namespace

std::vector<KernelUse> read_trace(const std::function<std::size_t(char*, std::size_t)>& read) {
  const auto source = std::make_unique<Bytes::Source>(read);
  Handler handler;
  try {
    nlohmann::json::sax_parse(Bytes(source.get()), Bytes(nullptr), &handler);
  } catch (const std::invalid_argument&) {
    if (source->size > 0) throw;
    throw std::invalid_argument("is cut off: its JSON has no end");
  }
  return handler.kernels();
}

}  // namespace occbench::binary
