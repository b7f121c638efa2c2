// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/analysis/collect.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "harness/attach/analysis/kernel_table.hpp"
#include "harness/attach/protocol/attachable.hpp"
#include "harness/attach/protocol/records.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "harness/io/printable.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t text_limit = std::size_t{64} << 20;

/// A function of the current process, and the index of its device.
struct Function {
  std::size_t device = 0;
  FunctionRecord record;
};

/// Collects the kernels of all processes.
class Reader {
 public:
  void read(const std::filesystem::path& base) {
    ++process_;
    numbers_.clear();
    sms_of_arms_.clear();
    functions_.clear();
    devices_.clear();
    all_.processes.push_back({.id = base.filename().string()});
    read_text(base.string() + ".txt");
    read_counts(base.string() + ".counts");
    read_launches(base.string() + ".launches");
  }

  Collected finish() {
    const std::vector<std::uint32_t> rows = table_.finish();
    for (TimedLaunch& launch : all_.launches) launch.kernel = rows[launch.kernel];
    all_.kernels = std::move(table_.kernels());
    if (all_.devices.size() > launching_processes_ && launching_processes_ > 0)
      all_.time.launching_s *=
          static_cast<double>(all_.devices.size()) / static_cast<double>(launching_processes_);
    return std::move(all_);
  }

  void warn(const std::string& line) { all_.warnings.push_back(line); }

 private:
  void read_text(const std::filesystem::path& path) {
    const std::string content = read_file(path, text_limit);
    for (std::size_t at = 0, end = 0; (end = content.find('\n', at)) != std::string::npos; at = end + 1) try {
        Fields fields = fields_of(std::string_view(content).substr(at, end - at));
        for (std::string& field : fields)  // names may hold any bytes or be truncated
          if (!is_text(field)) field = printable(field);
        take_line(fields);
      } catch (const std::exception& error) {
        warn(path.filename().string() + ": " + error.what());
        return;
      }
  }

  /// Ignores unknown kinds.
  void take_line(const Fields& fields) {
    if (fields[0] == ProcessRecord::kind && fields.size() > 1 && integer_of(fields[1]) != protocol_version)
      throw std::invalid_argument("is of another version of occbench");
    take_any<ProcessRecord, TimingRecord, DeviceRecord, FunctionRecord, SignatureRecord, LevelRecord,
             ShareRecord, VersionRecord, NoteRecord, StepRecord, CountersRecord, WholeCountersRecord>(fields);
  }
  template <class... Record>
  void take_any(const Fields& fields) {
    static_cast<void>(((fields[0] == Record::kind && (take(record_of<Record>(fields)), true)) || ...));
  }

  void take(const ProcessRecord& r) { all_.processes.back().command = r.command; }

  void take(const NoteRecord& r) { warn(all_.processes.back().id + ": " + r.text); }

  void take(const CountersRecord& r) { kernel(r.signature).seen.add(counters_of(r)); }

  void take(const WholeCountersRecord& r) { kernel(r.signature).seen_whole.add(counters_of(r)); }

  template <class Record>
  static SampledCounters counters_of(const Record& r) {
    return {.samples = static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.samples)),
            .us = quantities_of(r.us),
            .share_us = quantities_of(r.share_us)};
  }

  static std::array<double, quantity_count> quantities_of(const std::string& text) {
    std::array<double, quantity_count> values{};
    std::istringstream fields(text);
    std::string field;
    for (double& value : values)
      if (!std::getline(fields, field, ',') || !((value = real_of(field)) >= 0 && std::isfinite(value)))
        throw std::invalid_argument("a counter is not known");
    return values;
  }

  void take(const StepRecord& r) {
    constexpr double ns = 1e-9;
    all_.steps.push_back({process_ - 1, r.range, ns * static_cast<double>(r.begin_ns),
                          ns * static_cast<double>(r.duration_ns)});
  }

  void take(const TimingRecord& r) {
    all_.processes.back().timing = r.source;
    all_.processes.back().why_events = r.why_events;
  }

  void take(const FunctionRecord& r) {
    const auto device = devices_.find(r.device);
    functions_[r.number] = {.device = device == devices_.end() ? 0 : device->second, .record = r};
  }

  void take(const LevelRecord& r) {
    Arm& level = kernel(r.signature).arms[known_arm(r.arm)];
    level.added_smem_bytes = r.added_smem_bytes;
    level.blocks_per_sm = r.blocks_per_sm;
  }

  void take(const ShareRecord& r) {
    Kernel& k = kernel(r.signature);
    if (r.sm_count < 1 || r.sm_count >= k.sms) throw std::invalid_argument("invalid number of SMs");
    sms_of_arms_[{static_cast<std::size_t>(r.signature), known_arm(r.arm)}] = r.sm_count;
    k.fewer_sms[r.sm_count].blocks_per_sm = k.blocks_per_sm;
  }

  void take(const VersionRecord& r) {
    CappedVersion& v = kernel(r.signature).versions[known_arm(r.arm)];
    v.cap = r.register_cap;
    v.registers = r.registers;
    v.local_bytes = r.local_bytes;
    v.blocks_per_sm = r.blocks_per_sm;
  }

  static int known_arm(int arm) {
    if (arm < first_level || arm >= max_arms) throw std::invalid_argument("unknown arm");
    return arm;
  }

  void take(const DeviceRecord& r) {
    AttachedDevice d{.name = r.name,
                     .uuid = r.uuid,
                     .sm = {.cc_major = r.cc_major,
                            .cc_minor = r.cc_minor,
                            .sm_count = r.sm_count,
                            .warp_size = r.warp_size,
                            .max_threads_per_block = r.max_threads_per_block,
                            .max_threads_per_sm = r.max_threads_per_sm,
                            .max_blocks_per_sm = r.max_blocks_per_sm,
                            .registers_per_block = r.registers_per_block,
                            .registers_per_sm = r.registers_per_sm,
                            .smem_per_block_bytes = r.smem_per_block_bytes,
                            .smem_per_block_optin_bytes = r.smem_per_block_optin_bytes,
                            .smem_per_sm_bytes = r.smem_per_sm_bytes,
                            .smem_reserved_per_block_bytes = r.smem_reserved_per_block_bytes}};
    const auto known = std::ranges::find(all_.devices, d.uuid, &AttachedDevice::uuid);
    devices_[r.number] = static_cast<std::size_t>(known - all_.devices.begin());
    if (known == all_.devices.end()) all_.devices.push_back(std::move(d));
  }

  void take(const SignatureRecord& r) {
    if (r.skip_reason < SkipReason::none || r.skip_reason >= SkipReason::end)
      throw std::invalid_argument("a reason is not known");
    numbers_[static_cast<std::size_t>(r.number)] = table_.find_or_add(kernel_of(r), r);
  }

  [[nodiscard]] Kernel kernel_of(const SignatureRecord& r) const {
    Kernel k{.name = "(other kernels, beyond the limit)",
             .grid = {r.grid_x, r.grid_y, r.grid_z},
             .block = {r.block_x, r.block_y, r.block_z},
             .arguments = r.arguments,
             .range = r.range,
             .skip_reason = r.skip_reason,
             .blocks_per_sm = r.blocks_per_sm,
             .sms = r.sm_count,
             .graph = r.graph,
             .graph_kernels = static_cast<std::uint64_t>(std::max<std::int64_t>(0, r.graph_kernels))};
    if (const auto found = functions_.find(r.function); found != functions_.end()) {
      const FunctionRecord& f = found->second.record;
      k.name = f.name;
      k.device = found->second.device;
      k.local_bytes = f.local_bytes;
      k.footprint.registers_per_thread = f.registers;
      k.footprint.static_smem_bytes = static_cast<std::size_t>(f.static_smem_bytes);
      if (f.max_block_size > 0) k.footprint.max_block_size = f.max_block_size;
    }
    k.footprint.block_size = static_cast<int>(r.block_x * r.block_y * r.block_z);
    k.footprint.dynamic_smem_bytes = r.dynamic_smem_bytes;
    if (const auto before = functions_.find(r.before_function);
        before != functions_.end() && !r.before.empty())
      k.after = before->second.record.name;
    return k;
  }

  Kernel& kernel(std::int64_t signature) {
    const auto found = numbers_.find(static_cast<std::size_t>(signature));
    if (found == numbers_.end()) throw std::invalid_argument("a signature is not known");
    return table_[found->second];
  }

  void read_counts(const std::filesystem::path& path) {
    const std::string content = read_file(path, sizeof(Counts));
    full_ = Full::disk;
    if (content.size() == sizeof(Counts))
      std::memcpy(&full_, content.data() + offsetof(Counts, full), sizeof full_);
    if (full_ != Full::none)
      warn(all_.processes.back().id +
           (full_ == Full::limit    ? ": times of later launches are missing: the limit was reached"
            : full_ == Full::closed ? ": later launches are missing: the program closed all files"
                                    : ": later launches are missing: the disk is full, or a quota"));
    if (content.size() != sizeof(Counts)) return;
    std::uint64_t launching_ns = 0;
    std::memcpy(&launching_ns, content.data() + offsetof(Counts, launching_ns), sizeof launching_ns);
    all_.time.launching_s += 1e-9 * static_cast<double>(launching_ns);
    if (!numbers_.empty()) ++launching_processes_;
    for (const auto& [number, place] : numbers_) {
      Count count;
      std::memcpy(&count, content.data() + offsetof(Counts, of) + number * sizeof count, sizeof count);
      table_[place].launches += count.launches;
      table_[place].captured += std::min(count.captured, count.launches);
      table_[place].changed += std::min(count.changed, count.launches);
    }
  }

  void read_launches(const std::filesystem::path& path) {
    const std::string content = read_file(path, samples_limit);
    for (std::size_t at = 0; at + sizeof(Launch) <= content.size(); at += sizeof(Launch)) {
      Launch launch;
      std::memcpy(&launch, content.data() + at, sizeof launch);
      if (launch.signature == 0) break;
      const auto found = numbers_.find(launch.signature - 1);
      if (found == numbers_.end() && full_ != Full::none) continue;  // its line was not written
      if (found == numbers_.end() || launch.arm >= max_arms || !std::isfinite(launch.time_us) ||
          launch.time_us < 0) {
        warn(path.filename().string() + ": is damaged; later launches are left out");
        return;
      }
      take(launch, found->second);
    }
    add_warm_up_times();
  }

  void take(const Launch& launch, std::size_t place) {
    Kernel& k = table_[place];
    const auto time_us = static_cast<double>(launch.time_us);
    const bool counts = (launch.flags & (drawn | overlapped)) == drawn;
    const auto confined = sms_of_arms_.find({launch.signature - 1, launch.arm});
    const int fewer_sms = confined == sms_of_arms_.end() ? 0 : confined->second;
    if (!k.versions.empty() && launch.arm != untouched) {
      if (counts) k.versions[launch.arm].times_us.push_back(time_us);
      return;
    }
    ++k.timed;
    if ((launch.flags & by_record) != 0) ++k.by_record;
    if ((launch.flags & overlapped) != 0) ++k.overlapping;
    if (launch.arm == untouched && ((launch.flags & warm_up) == 0)) {
      k.untouched_us += time_us;
      ++k.untouched_timed;
    }
    if (counts && fewer_sms > 0) {
      k.fewer_sms[fewer_sms].times_us.push_back(time_us);
    } else if (counts && !k.versions.empty()) {
      k.uncapped_us.push_back(time_us);
    } else if (counts) {
      Arm& arm = k.arms[launch.arm];
      if (launch.arm < first_level) arm.blocks_per_sm = k.blocks_per_sm;
      arm.times_us.push_back(time_us);
    }
    all_.launches.push_back({.process = process_ - 1,
                             .kernel = static_cast<std::uint32_t>(place),
                             .fewer_sms = fewer_sms,
                             .launch = launch});
  }

  /// A kernel with few launches has no other times.
  void add_warm_up_times() {
    for (Kernel& k : table_.kernels())
      if (k.untouched_timed == 0 && k.timed > 0 && !k.is_in_graph())
        for (const TimedLaunch& l : all_.launches)
          if (&table_[l.kernel] == &k && l.launch.arm == untouched) {
            k.untouched_us += static_cast<double>(l.launch.time_us);
            ++k.untouched_timed;
          }
  }

  Collected all_;
  std::uint32_t process_ = 0;
  std::size_t launching_processes_ = 0;
  Full full_ = Full::none;
  KernelTable table_;
  std::map<std::size_t, std::size_t> numbers_;  // index in table_ by signature number, this process
  std::map<std::pair<std::size_t, int>, int> sms_of_arms_;  // by signature and arm, this process
  std::map<int, Function> functions_;
  std::map<int, std::size_t> devices_;
};

/// Events read microseconds more than CUPTI's records. If a kernel has both, keeps the more frequent kind.
void keep_one_timing(Collected& all) {
  std::vector<bool> is_mixed;
  for (Kernel& k : all.kernels) {
    is_mixed.push_back(k.by_record > 0 && k.by_record < k.timed && k.versions.empty());
    if (!is_mixed.back()) continue;
    k.untouched_us = 0;
    k.untouched_timed = 0;
    for (auto* arms : {&k.arms, &k.fewer_sms})
      for (auto& [number, arm] : *arms) arm.times_us.clear();
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
    Arm& arm = l.fewer_sms > 0 ? k.fewer_sms[l.fewer_sms] : k.arms[l.launch.arm];
    if ((l.launch.flags & (drawn | overlapped)) == drawn) arm.times_us.push_back(time_us);
  }
}

/// The time of all kernels, corrected for what changed launches took.
double busy_s(const Collected& all) {
  double us = all.total_us();
  for (const TimedLaunch& l : all.launches) {
    const Kernel& k = all.kernels[l.kernel];
    const Kernel& timed = k.whole ? all.kernels[*k.whole] : k;
    if (l.launch.arm != untouched) us += static_cast<double>(l.launch.time_us) - timed.mean_us();
  }
  for (const Kernel& k : all.kernels)
    for (const auto& [arm, version] : k.versions)
      for (const double time_us : version.times_us) us += time_us - k.mean_us();
  return 1e-6 * std::max(0.0, us);
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
      reader.warn(error.what());
    }
  try {
    if (const std::string line = describe_not_attached(folder / not_attached_file); !line.empty())
      reader.warn(line);
  } catch (const UserError& error) {
    reader.warn(error.what());
  }
  Collected all = reader.finish();
  keep_one_timing(all);
  all.time.busy_s = busy_s(all);
  return all;
}

}  // namespace occbench::attach
