// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/collect.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <sstream>
#include <tuple>
#include <utility>

#include "harness/attach/protocol/attachable.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t text_limit = std::size_t{64} << 20;

using Fields = std::vector<std::string>;

/// Throws std::invalid_argument.
std::int64_t number(const Fields& fields, std::size_t at) {
  if (at >= fields.size()) throw std::invalid_argument("a line is too short");
  const std::string& text = fields[at];
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < -1)
    throw std::invalid_argument("'" + text.substr(0, 40) + "' is no number");
  return value;
}
int whole(const Fields& fields, std::size_t at) { return static_cast<int>(number(fields, at)); }
unsigned natural(const Fields& fields, std::size_t at) { return static_cast<unsigned>(number(fields, at)); }

struct Function {
  std::size_t device = 0;
  int registers = 0, static_smem = 0, local = 0, largest_block = 0;
  std::string name;
};

using Key = std::tuple<std::string, std::size_t, std::string, std::string, int, int, std::string>;

/// All processes, kernel by kernel.
class Reader {
 public:
  void read(const std::filesystem::path& base) {
    ++process_;
    numbers_.clear();
    functions_.clear();
    devices_.clear();
    all_.processes.push_back({.id = base.filename().string()});
    read_text(base.string() + ".txt");
    read_counts(base.string() + ".counts");
    read_launches(base.string() + ".launches");
  }

  Collected take() {
    std::vector<std::uint32_t> place(all_.kernels.size());
    std::iota(place.begin(), place.end(), 0U);
    std::vector<std::uint32_t> order = merged(place);
    give_to_graphs();
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::uint32_t k) { return all_.kernels[k].total_us(); });
    std::vector<Kernel> sorted;
    std::vector<std::uint32_t> row(place.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      sorted.push_back(std::move(all_.kernels[order[i]]));
      row[order[i]] = static_cast<std::uint32_t>(i);
    }
    all_.kernels = std::move(sorted);
    for (TimedLaunch& launch : all_.launches) launch.kernel = row[place[launch.kernel]];
    for (Kernel& k : all_.kernels)
      if (k.whole) k.whole = row[place[*k.whole]];
    return std::move(all_);
  }

  void complain(const std::string& line) { all_.complaints.push_back(line); }

 private:
  /// Where a kernel's arguments were too many to tell apart, its first few join the rest. Returns the kernels
  /// that stay; `place` says where each went.
  std::vector<std::uint32_t> merged(std::vector<std::uint32_t>& place) {
    std::map<Key, std::uint32_t> rest;
    const std::string none(16, '0');
    const auto without = [](Key key) {
      std::get<3>(key).clear();
      return key;
    };
    for (const auto& [key, i] : places_)
      if (std::get<3>(key) == none) rest[without(key)] = static_cast<std::uint32_t>(i);
    std::vector<std::uint32_t> stay;
    for (const auto& [key, i] : places_) {
      const auto found = rest.find(without(key));
      const auto own = static_cast<std::uint32_t>(i);
      if (found == rest.end() || found->second == own) {
        stay.push_back(own);
        continue;
      }
      place[own] = found->second;
      join(all_.kernels[found->second], all_.kernels[own]);
    }
    std::ranges::sort(stay);
    return stay;
  }

  /// The untouched times of a kernel in a graph are the graph's, and its launches.
  void give_to_graphs() {
    std::map<std::tuple<std::string, std::size_t, std::string>, std::size_t> graphs;
    for (std::size_t i = 0; i < all_.kernels.size(); ++i)
      if (const Kernel& k = all_.kernels[i]; k.is_graph()) graphs[{k.graph, k.device, k.range}] = i;
    for (Kernel& k : all_.kernels) {
      const auto found = k.is_in_graph() ? graphs.find({k.graph, k.device, k.range}) : graphs.end();
      if (found == graphs.end()) continue;
      Kernel& whole = all_.kernels[*(k.whole = found->second)];
      whole.untouched_us += std::exchange(k.untouched_us, 0);
      whole.untouched_timed += std::exchange(k.untouched_timed, 0);
      k.launches = whole.launches;
    }
  }

  static void join(Kernel& to, const Kernel& from) {
    to.launches += from.launches;
    to.captured += from.captured;
    to.changed += from.changed;
    to.timed += from.timed;
    to.by_record += from.by_record;
    to.overlapping += from.overlapping;
    to.untouched_us += from.untouched_us;
    to.untouched_timed += from.untouched_timed;
    to.as_it_is_us.insert(to.as_it_is_us.end(), from.as_it_is_us.begin(), from.as_it_is_us.end());
    for (const auto& [number, version] : from.versions) {
      CappedVersion& all = to.versions[number];
      const std::vector<double> before = std::move(all.times_us);
      all = version;
      all.times_us.insert(all.times_us.begin(), before.begin(), before.end());
    }
    for (const auto& [number, arm] : from.arms) {
      Arm& all = to.arms[number];
      all.blocks_per_sm = arm.blocks_per_sm;
      all.added_smem_bytes = arm.added_smem_bytes;
      all.times_us.insert(all.times_us.end(), arm.times_us.begin(), arm.times_us.end());
    }
  }

  void read_text(const std::filesystem::path& path) {
    const std::string content = read_file(path, text_limit);
    for (std::size_t at = 0, end = 0; (end = content.find('\n', at)) != std::string::npos; at = end + 1) {
      Fields fields{""};
      for (const char c : content.substr(at, end - at))
        if (c == '\t')
          fields.emplace_back();
        else
          fields.back() += c;
      try {
        take_line(fields);
      } catch (const std::exception& error) {
        complain(path.filename().string() + ": " + error.what());
        return;
      }
    }
  }

  void take_line(const Fields& f) {
    if (f[0] == "process") {
      if (number(f, 1) != protocol_version) throw std::invalid_argument("is of another version of occbench");
      if (f.size() > 5) all_.processes.back().command = f[5];
    } else if (f[0] == "timing") {
      all_.processes.back().timing = f.at(1);
      all_.processes.back().why_events = f.at(2);
    } else if (f[0] == "device") {
      take_device(f);
    } else if (f[0] == "function") {
      if (f.size() < 9) throw std::invalid_argument("a line is too short");
      const auto device = devices_.find(whole(f, 2));
      functions_[whole(f, 1)] = {.device = device == devices_.end() ? 0 : device->second,
                                 .registers = whole(f, 3),
                                 .static_smem = whole(f, 4),
                                 .local = whole(f, 5),
                                 .largest_block = whole(f, 6),
                                 .name = f[8]};
    } else if (f[0] == "signature") {
      take_signature(f);
    } else if (f[0] == "level") {
      const int arm = whole(f, 2);
      if (arm < first_level || arm >= most_arms) throw std::invalid_argument("an arm is not known");
      Arm& level = kernel(number(f, 1)).arms[arm];
      level.added_smem_bytes = natural(f, 3);
      level.blocks_per_sm = whole(f, 4);
    } else if (f[0] == "version") {
      const int arm = whole(f, 2);
      if (arm < first_level || arm >= most_arms) throw std::invalid_argument("an arm is not known");
      CappedVersion& v = kernel(number(f, 1)).versions[arm];
      v.cap = whole(f, 3);
      v.registers = whole(f, 4);
      v.local_bytes = whole(f, 5);
      v.blocks_per_sm = whole(f, 6);
    } else if (f[0] == "note") {
      complain(all_.processes.back().id + ": " + f.at(1));
    }
  }

  void take_device(const Fields& f) {
    if (f.size() < 17) throw std::invalid_argument("a line is too short");
    AttachedDevice d{.name = f[2], .uuid = f[3]};
    d.sm = {.cc_major = whole(f, 4),
            .cc_minor = whole(f, 5),
            .sm_count = whole(f, 6),
            .warp_size = whole(f, 7),
            .max_threads_per_block = whole(f, 8),
            .max_threads_per_sm = whole(f, 9),
            .max_blocks_per_sm = whole(f, 10),
            .registers_per_block = whole(f, 11),
            .registers_per_sm = whole(f, 12),
            .smem_per_block_bytes = natural(f, 13),
            .smem_per_block_optin_bytes = natural(f, 14),
            .smem_per_sm_bytes = natural(f, 15),
            .smem_reserved_per_block_bytes = natural(f, 16)};
    const auto known = std::ranges::find(all_.devices, d.uuid, &AttachedDevice::uuid);
    devices_[whole(f, 1)] = static_cast<std::size_t>(known - all_.devices.begin());
    if (known == all_.devices.end()) all_.devices.push_back(std::move(d));
  }

  void take_signature(const Fields& f) {
    if (f.size() < 19) throw std::invalid_argument("a line is too short");
    Kernel k{.name = "(more kernels than can be told apart)"};
    if (const auto function = functions_.find(whole(f, 2)); function != functions_.end()) {
      k.name = function->second.name;
      k.device = function->second.device;
      k.local_bytes = function->second.local;
      k.footprint.registers_per_thread = function->second.registers;
      k.footprint.static_smem_bytes = static_cast<std::size_t>(function->second.static_smem);
      if (function->second.largest_block > 0) k.footprint.max_block_size = function->second.largest_block;
    }
    for (std::size_t i = 0; i < 3; ++i) {
      k.grid[i] = natural(f, 3 + i);
      k.block[i] = natural(f, 6 + i);
    }
    k.footprint.block_size = static_cast<int>(k.block[0] * k.block[1] * k.block[2]);
    k.footprint.dynamic_smem_bytes = natural(f, 9);
    k.blocks_per_sm = whole(f, 10);
    k.arguments = f[11];
    k.range = f[13];
    k.graph_kernels = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number(f, 14)));
    k.graph = f[15];
    if (const auto before = functions_.find(whole(f, 17)); before != functions_.end() && !f[16].empty())
      k.after = before->second.name;
    k.sms = whole(f, 18);
    const int reason = whole(f, 12);
    if (reason < 0 || reason >= static_cast<int>(SkipReason::end))
      throw std::invalid_argument("a reason is not known");
    k.skip_reason = static_cast<SkipReason>(reason);
    std::ostringstream shape;
    for (const std::size_t at : {3, 4, 5, 6, 7, 8, 9, 15, 16, 18}) shape << f[at] << ',';
    const Key key{k.name, k.device, shape.str(), k.arguments, k.footprint.registers_per_thread,
                  reason, k.range};
    const auto [place, is_new] = places_.try_emplace(key, all_.kernels.size());
    if (is_new) all_.kernels.push_back(std::move(k));
    numbers_[static_cast<std::size_t>(number(f, 1))] = place->second;
  }

  Kernel& kernel(std::int64_t signature) {
    const auto found = numbers_.find(static_cast<std::size_t>(signature));
    if (found == numbers_.end()) throw std::invalid_argument("a signature is not known");
    return all_.kernels[found->second];
  }

  void read_counts(const std::filesystem::path& path) {
    const std::string content = read_file(path, sizeof(Counts));
    full_ = Full::disk;
    if (content.size() == sizeof(Counts))
      std::memcpy(&full_, content.data() + offsetof(Counts, full), sizeof full_);
    if (full_ != Full::no)
      complain(all_.processes.back().id +
               (full_ == Full::limit    ? ": times of later launches are missing: the limit was reached"
                : full_ == Full::closed ? ": later launches are missing: the program closed all files"
                                        : ": later launches are missing: the disk is full, or a quota"));
    if (content.size() != sizeof(Counts)) return;
    for (const auto& [number, place] : numbers_) {
      Count count;
      std::memcpy(&count, content.data() + offsetof(Counts, of) + number * sizeof count, sizeof count);
      all_.kernels[place].launches += count.launches;
      all_.kernels[place].captured += std::min(count.captured, count.launches);
      all_.kernels[place].changed += std::min(count.changed, count.launches);
    }
  }

  void read_launches(const std::filesystem::path& path) {
    const std::string content = read_file(path, samples_limit);
    for (std::size_t at = 0; at + sizeof(Launch) <= content.size(); at += sizeof(Launch)) {
      Launch launch;
      std::memcpy(&launch, content.data() + at, sizeof launch);
      if (launch.signature == 0) break;
      const auto found = numbers_.find(launch.signature - 1);
      if (found == numbers_.end() && full_ != Full::no) continue;  // its line was not written
      if (found == numbers_.end() || launch.arm >= most_arms || !std::isfinite(launch.time_us) ||
          launch.time_us < 0) {
        complain(path.filename().string() + ": is damaged; later launches are left out");
        return;
      }
      Kernel& k = all_.kernels[found->second];
      const bool counts = (launch.flags & (drawn | overlapped)) == drawn;
      if (!k.versions.empty() && launch.arm != untouched) {
        if (counts) k.versions[launch.arm].times_us.push_back(static_cast<double>(launch.time_us));
        continue;
      }
      ++k.timed;
      if ((launch.flags & by_record) != 0) ++k.by_record;
      if ((launch.flags & overlapped) != 0) ++k.overlapping;
      if (launch.arm == untouched && ((launch.flags & warm_up) == 0)) {
        k.untouched_us += static_cast<double>(launch.time_us);
        ++k.untouched_timed;
      }
      if (counts && !k.versions.empty()) {
        k.as_it_is_us.push_back(static_cast<double>(launch.time_us));
      } else if (counts) {
        Arm& arm = k.arms[launch.arm];
        if (launch.arm < first_level) arm.blocks_per_sm = k.blocks_per_sm;
        arm.times_us.push_back(static_cast<double>(launch.time_us));
      }
      all_.launches.push_back(
          {.process = process_ - 1, .kernel = static_cast<std::uint32_t>(found->second), .launch = launch});
    }
    for (Kernel& k : all_.kernels)  // of a few launches alone
      if (k.untouched_timed == 0 && k.timed > 0 && !k.is_in_graph())
        for (const TimedLaunch& l : all_.launches)
          if (&all_.kernels[l.kernel] == &k && l.launch.arm == untouched) {
            k.untouched_us += static_cast<double>(l.launch.time_us);
            ++k.untouched_timed;
          }
  }

  Collected all_;
  std::uint32_t process_ = 0;
  Full full_ = Full::no;
  std::map<Key, std::size_t> places_;
  std::map<std::size_t, std::size_t> numbers_;  // of the process's signatures: places in all_.kernels
  std::map<int, Function> functions_;
  std::map<int, std::size_t> devices_;
};

/// Events read microseconds more than CUPTI's records. Where a kernel has both, only those count of which
/// it has more.
void keep_one_timing(Collected& all) {
  std::vector<bool> is_mixed;
  for (Kernel& k : all.kernels) {
    is_mixed.push_back(k.by_record > 0 && k.by_record < k.timed && k.versions.empty());
    if (!is_mixed.back()) continue;
    k.untouched_us = 0;
    k.untouched_timed = 0;
    for (auto& [number, arm] : k.arms) arm.times_us.clear();
  }
  for (TimedLaunch& l : all.launches) {
    Kernel& k = all.kernels[l.kernel];
    if (!is_mixed[l.kernel]) continue;
    const bool is_kept = ((l.launch.flags & by_record) != 0) == (2 * k.by_record >= k.timed);
    if (!is_kept) l.launch.flags &= static_cast<std::uint8_t>(~drawn);
    const auto time_us = static_cast<double>(l.launch.time_us);
    if (is_kept && l.launch.arm == untouched && (l.launch.flags & warm_up) == 0) {
      k.untouched_us += time_us;
      ++k.untouched_timed;
    }
    if ((l.launch.flags & (drawn | overlapped)) == drawn) k.arms[l.launch.arm].times_us.push_back(time_us);
  }
}

/// What could not be attached to, counted, and named as far as a line goes; empty: nothing.
std::string not_attached(const std::filesystem::path& path) {
  constexpr std::size_t limit = 2 * most_not_attached_bytes, most_named = 4;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "";
  const std::string text = read_file(path, limit);
  std::istringstream lines(text);
  std::map<std::string, std::size_t> programs;
  std::size_t processes = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;  // cut off
    ++programs[line.substr(tab + 1) + " (" + line.substr(0, tab) + ")"];
    ++processes;
  }
  if (processes == 0) return "";
  std::string named;
  std::size_t count = 0;
  for (const auto& [program, times] : programs) {
    if (++count > most_named) break;
    named += (named.empty() ? "" : ", ") + program + (times > 1 ? " x " + std::to_string(times) : "");
  }
  if (programs.size() > most_named) named += ", " + std::to_string(programs.size() - most_named) + " more";
  const std::string at_least = text.size() < most_not_attached_bytes ? "" : "at least ";
  return at_least + std::to_string(processes) + (processes == 1 ? " process was" : " processes were") +
         " not attached to: " + named;
}

}  // namespace

double Collected::total_us() const {
  double sum = 0;
  for (const Kernel& k : kernels) sum += k.total_us();
  return sum;
}

bool Collected::has_ranges() const {
  return std::ranges::any_of(kernels, [](const Kernel& k) { return !k.range.empty(); });
}

Collected collect(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") texts.push_back(entry.path());
  std::ranges::sort(texts);
  Reader reader;
  for (std::filesystem::path& text : texts) try {
      reader.read(text.replace_extension());
    } catch (const UserError& error) {
      reader.complain(error.what());
    }
  try {
    if (const std::string line = not_attached(folder / not_attached_file); !line.empty())
      reader.complain(line);
  } catch (const UserError& error) {
    reader.complain(error.what());
  }
  Collected all = reader.take();
  keep_one_timing(all);
  return all;
}

}  // namespace occbench::attach
