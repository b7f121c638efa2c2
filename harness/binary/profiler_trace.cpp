// SPDX-License-Identifier: Apache-2.0
#include "harness/binary/profiler_trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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

/// The fields read from an event or a deviceProperties entry.
struct Event {
  std::string category, name, details;
  double duration_us = 0;
  std::optional<double> registers, smem, static_smem, id, device, cc_major, cc_minor, sm_count, warp_size;
  double block = 1, grid = 1;
  bool has_block = false, has_grid = false;
};

/// A number (or product of several) from XLA's "regs:40 static_shared:0 dynamic_shared:16384 grid:4096,1,1
/// block:256,1,1 occ_pct:75"; nullopt if it is missing.
std::optional<double> detail(std::string_view details, std::string_view key) {
  for (std::size_t at = 0; (at = details.find(key, at)) != std::string_view::npos; at += key.size()) {
    const bool is_word = at == 0 || details[at - 1] == ' ' || details[at - 1] == '\n';
    std::string_view rest = details.substr(at + key.size());
    if (!is_word || !rest.starts_with(':')) continue;
    double product = 1;
    do {
      rest.remove_prefix(1);
      std::uint64_t number = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
      if (error != std::errc()) return std::nullopt;
      product *= static_cast<double>(number);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    } while (rest.starts_with(','));
    return product;
  }
  return std::nullopt;
}

/// Reads one to three numbers, as in "(8, 8, 1)" or "8x8x1". Returns whether the text has this form.
bool set_product(const std::string& shape, double& product) {
  if (shape.find_first_not_of("0123456789 ,x()[]") != std::string::npos) return false;
  product = 1;
  int count = 0;
  const char* const end = shape.data() + shape.size();
  for (const char* at = shape.data(); at != end;) {
    std::uint64_t number = 0;
    const auto [after, error] = std::from_chars(at, end, number);
    if (error == std::errc::result_out_of_range) return false;
    if (error == std::errc()) product *= static_cast<double>(number), ++count;
    at = error == std::errc() ? after : at + 1;
  }
  return count >= 1 && count <= 3;
}

/// Collects the entries of "traceEvents" and "deviceProperties", or of a root array.
class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string&) override { return number(value); }
  bool binary(nlohmann::json::binary_t&) override { return true; }
  bool string(std::string& value) override {
    if (event_level_ != 0 && levels_.size() == event_level_ + 1 && levels_[event_level_ - 1] == "args")
      text_argument(value);
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
    if (levels_.size() == 1 && name == "rocprofiler-sdk-tool") refuse_amd();
    if (levels_.size() == 2 && name == "Reg/Trd")
      throw std::invalid_argument("is nsys's table as JSON; calc reads its --format csv");
    is_proton_tree_ |= levels_.size() == 2 && levels_[0].empty() && name == "frame";
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
    // Proton writes an object per stream, one after the other.
    if (levels_.empty() && launches_.empty() && without_registers_ > 0) return false;
    const std::string_view what = error.what();
    const std::size_t begin = what.find("] ");
    throw std::invalid_argument(
        "is not JSON: " + excerpt(std::string(what.substr(begin == std::string_view::npos ? 0 : begin + 2))));
  }

  KernelUses kernels() {
    if (is_proton_tree_)
      throw std::invalid_argument("is a tree of Triton's Proton, which holds no registers; " + proton_hint +
                                  make_a_trace);
    KernelUses found{.source = is_xla_ ? "an XLA trace (JAX, TensorFlow)" : "a PyTorch profiler trace",
                     .has_run = true,
                     .kernels = {}};
    for (auto& [device, launches] : launches_)
      for (KernelUse& kernel : launches.take()) {
        const Device& known = devices_[device];
        kernel.cc = known.cc;
        kernel.device_name = known.name;
        kernel.sm_count = known.sm_count;
        found.kernels.push_back(std::move(kernel));
      }
    if (found.kernels.empty())
      throw std::invalid_argument((without_registers_ == 0
                                       ? "is a trace without a kernel; "
                                       : "is a trace of kernels without registers, as Triton's Proton writes "
                                         "it; " +
                                             proton_hint) +
                                  make_a_trace);
    if (without_registers_ > 0)
      found.left_out.push_back(std::to_string(without_registers_) +
                               " kernels without registers or block size");
    return found;
  }

 private:
  static constexpr std::size_t longest_name = 1 << 14, longest_key = 64, deepest = 256;
  inline static const std::string proton_hint = "`occbench inspect ~/.triton/cache` reads Triton's kernels; ";
  inline static const std::string make_a_trace =
      "torch.profiler with ProfilerActivity.CUDA, jax.profiler and nsys record them";

  struct Device {
    std::string name, cc;
    std::optional<int> sm_count;
  };

  [[noreturn]] static void refuse_amd() {
    throw std::invalid_argument("is a profile of an AMD GPU (ROCm); calc knows NVIDIA's alone");
  }

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
      if (key == "numSms") event_.sm_count = value;
      if (key == "warpSize") event_.warp_size = value;
    } else if (is_argument) {
      if (levels_.back() == "registers per thread") event_.registers = value;
      if (levels_.back() == "shared memory") event_.smem = value;
      if (levels_.back() == "device") event_.device = value;
    } else if (levels_.size() == event_level_ + 2 && key == "args") {
      if (levels_[event_level_] == "block") event_.block *= value, event_.has_block = true;
      if (levels_[event_level_] == "grid") event_.grid *= value, event_.has_grid = true;
    }
    return true;
  }

  /// XLA's details, and numbers written as text: "32", "[512, 1, 1]", "16x16x1".
  void text_argument(const std::string& value) {
    const std::string& key = levels_.back();
    if (key == "kernel_details") event_.details = value.substr(0, longest_name);
    if (key == "block") event_.has_block = set_product(value, event_.block);
    if (key == "grid") event_.has_grid = set_product(value, event_.grid);
    double one = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), one);
    if (error == std::errc() && end == value.data() + value.size()) number(one);
  }

  void finish() {
    event_level_ = 0;
    if (levels_.size() == 3 && levels_[0] == "deviceProperties") return finish_device();
    if (!event_.details.empty()) {  // XLA has no category, and all numbers in one text
      is_xla_ = true;
      event_.registers = detail(event_.details, "regs");
      event_.static_smem = detail(event_.details, "static_shared");
      event_.smem = detail(event_.details, "dynamic_shared");
      if (!event_.smem) event_.smem = detail(event_.details, "shm");
      const auto block = detail(event_.details, "block"), grid = detail(event_.details, "grid");
      event_.block = block.value_or(0), event_.has_block = block.has_value();
      event_.grid = grid.value_or(0), event_.has_grid = grid.has_value();
    } else if (event_.category != "kernel" && event_.category != "Kernel") {
      return;
    }
    const auto is_within = [](double value, double least, double most) {
      return value >= least && value <= most;
    };
    if (!event_.registers || !is_within(*event_.registers, 0, 1e6) || !event_.has_block ||
        !is_within(event_.block, 0, 1e6) || !is_within(event_.smem.value_or(0), 0, 1e12) ||
        !is_within(event_.static_smem.value_or(0), 0, 1e12)) {
      ++without_registers_;
      return;
    }
    KernelUse use{.name = event_.name,
                  .registers_per_thread = static_cast<int>(*event_.registers),
                  .block_size = static_cast<int>(event_.block),
                  .static_smem_bytes = static_cast<std::size_t>(event_.static_smem.value_or(0)),
                  .dynamic_smem_bytes = static_cast<std::size_t>(event_.smem.value_or(0)),
                  .launches = 1,
                  .time_us = std::max(event_.duration_us, 0.0)};
    if (event_.has_grid && is_within(event_.grid, 1, 4e18))
      use.grids = {{static_cast<std::int64_t>(event_.grid), {1, use.time_us}}};
    launches_[index(event_.device.value_or(0))].add(std::move(use));
  }

  void finish_device() {
    constexpr double warp = 32;
    if (event_.warp_size.value_or(warp) != warp || event_.name.starts_with("AMD")) refuse_amd();
    const auto is_within = [](const std::optional<double>& value, double most) {
      return value && *value >= 0 && *value <= most;
    };
    if (!event_.id) return;
    Device& device = devices_[index(*event_.id)];
    device.name = event_.name;
    if (is_within(event_.cc_major, 99) && is_within(event_.cc_minor, 9))
      device.cc =
          std::to_string(std::lround(*event_.cc_major)) + "." + std::to_string(std::lround(*event_.cc_minor));
    if (is_within(event_.sm_count, 1e5) && *event_.sm_count >= 1)
      device.sm_count = static_cast<int>(*event_.sm_count);
  }

  static int index(double device) { return static_cast<int>(std::clamp(device, 0.0, 1e6)); }

  std::vector<std::string> levels_;  ///< last key of each open object or array
  std::size_t event_level_ = 0;
  Event event_;
  std::map<int, Device> devices_;
  std::map<int, Launches> launches_;  ///< by device
  std::size_t without_registers_ = 0;
  bool is_xla_ = false, is_proton_tree_ = false;
};

/// Input iterator for nlohmann's parser.
class TraceBytes {
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

    /// The parser holds each string as a whole.
    void check_tokens() {
      constexpr std::size_t longest = std::size_t{16} << 20;
      refuse_zero_bytes(std::string_view(buffer.data(), size));
      for (const char c : std::string_view(buffer.data(), size)) {
        const bool ends = in_string ? c == '"' && !is_escaped : std::strchr("\",:[]{} \t\r\n", c) != nullptr;
        token = ends ? 0 : token + 1;
        if (ends && c == '"') in_string = !in_string;
        is_escaped = in_string && c == '\\' && !is_escaped;
        if (token > longest) throw std::invalid_argument("has a string of more than 16 MiB");
      }
    }
  };

  explicit TraceBytes(Source* source) : source_(source) {}
  reference operator*() const {
    source_->fill();
    return source_->buffer[source_->at];
  }
  TraceBytes& operator++() {
    ++source_->at;
    return *this;
  }
  bool operator==(const TraceBytes& end) const {  // the end has no source
    Source* const source = source_ != nullptr ? source_ : end.source_;
    return source == nullptr || !source->fill();
  }
  bool operator!=(const TraceBytes& end) const { return !(*this == end); }

 private:
  Source* source_;
};

}  // namespace

KernelUses read_trace(const std::function<std::size_t(char*, std::size_t)>& read) {
  const auto source = std::make_unique<TraceBytes::Source>(read);
  Handler handler;
  try {
    nlohmann::json::sax_parse(TraceBytes(source.get()), TraceBytes(nullptr), &handler);
  } catch (const std::invalid_argument&) {
    if (source->size > 0) throw;
    throw std::invalid_argument("is cut off: its JSON has no end");
  }
  return handler.kernels();
}

}  // namespace occbench::binary
