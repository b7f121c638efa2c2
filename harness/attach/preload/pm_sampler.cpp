// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/preload/pm_sampler.hpp"

#include <exception>
#include <limits>
#include <stdexcept>
#include <utility>

#include "harness/attach/preload/cupti_sampling.hpp"
#include "harness/attach/preload/driver.hpp"

namespace occbench::attach {

namespace {

constexpr std::size_t hardware_bytes = std::size_t{64} << 20;

/// Metrics of a quantity, best first: a chip has one of them. Metrics of Triage groups fit into one pass: all
/// six on GH100.
struct Metric {
  Quantity quantity;
  const char* name;
};
#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
constexpr Metric metrics[] = {
    {dram, "FBSP.TriageCompute.dramc__throughput" OF_PEAK},
    {dram, "FBSP.TriageCompute.dram__throughput" OF_PEAK},
    {dram, "dramc__throughput" OF_PEAK},
    {dram, "dram__throughput" OF_PEAK},
    {l2, "LTS.TriageCompute.lts__throughput" OF_PEAK},
    {l2, "lts__t_sectors" OF_PEAK},
    {tensor, "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime" OF_PEAK},
    {tensor, "sm__pipe_tensor_cycles_active_realtime" OF_PEAK},
    {tensor, "sm__pipe_tensor_cycles_active" OF_PEAK},
    {fp32, "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime" OF_PEAK},
    {fp32, "TPC.TriageCompute.sm__pipe_fma_cycles_active_realtime" OF_PEAK},
    {fp32, "sm__inst_executed_pipe_fma" OF_PEAK},
    {issue, "TPC.TriageCompute.sm__inst_executed_realtime" OF_PEAK},
    {issue, "sm__inst_executed_realtime" OF_PEAK},
    {issue, "sm__inst_executed" OF_PEAK},
    {l1, "SM_A.TriageCompute.l1tex__throughput" OF_PEAK},
    {l1, "l1tex__data_pipe_lsu_wavefronts" OF_PEAK},
};
#undef OF_PEAK

/// Advice for the user on a result.
struct Explanation {
  int result;
  const char* text;
};
constexpr Explanation explanations[] = {
    {cupti::insufficient_privileges,
     "the driver forbids counters: run as root, or load its module with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {cupti::insufficient_virtual_privileges, "the hypervisor forbids counters"},
    {cupti::virtual_device, "a virtual GPU has no counters"},
    {cupti::confidential_computing, "confidential computing forbids counters"},
    {cupti::mig_device, "a MIG instance has no counters"},
    {cupti::hardware_busy, "another tool or process has the counters"},
    {cupti::old_profiler_in_use, "another tool in the process has the counters"},
    {cupti::unknown_chip, "this libcupti does not know the GPU: a newer one may"},
    {cupti::not_supported, "PM sampling is not supported here"},
};

class Failure : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls libcupti's functions by name.
class Calls {
 public:
  explicit Calls(void* library) : library_(library) {}

  [[nodiscard]] void* find(const char* function) const {
    const Dlsym symbol = original_dlsym();
    void* const found = symbol == nullptr ? nullptr : symbol(library_, function);
    if (found == nullptr) throw Failure(std::string("libcupti is too old: it has no ") + function);
    return found;
  }
  /// Returns CUPTI's result.
  template <class Of>
  [[nodiscard]] int result(Of& parameters) const {
    parameters.size = sizeof parameters - Of::padding;
    return reinterpret_cast<int (*)(Of*)>(find(Of::function))(&parameters);
  }
  template <class Of>
  void operator()(Of& parameters) const {
    const int error = result(parameters);
    if (error == 0) return;
    std::string text = "CUPTI failed";
    for (const Explanation& e : explanations)
      if (e.result == error) text = e.text;
    throw Failure(text + " (" + Of::function + ": " + std::to_string(error) + ')');
  }
  /// For cleanup, where failures are ignored.
  template <class Of>
  void quietly(Of& parameters) const noexcept try {
    static_cast<void>(result(parameters));
  } catch (const std::exception&) {
  }

 private:
  void* library_;
};

/// Creates the configuration of metrics and evaluates their counters.
class Host {
 public:
  Host(const Calls& call, const std::string& chip) : call_(call) {
    cupti::HostInitialize begin;
    begin.chip = chip.c_str();
    call_(begin);
    host_ = begin.host;
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() {
    cupti::HostDeinitialize end;
    end.host = host_;
    call_.quietly(end);
  }

  /// Whether the chip samples these metrics in one pass; if so, sets `config`.
  bool configure(std::vector<const char*> names, std::vector<std::uint8_t>& config) {
    cupti::HostAddMetrics add;
    add.host = host_;
    add.names = names.data();
    add.count = names.size();
    if (call_.result(add) != 0) return false;
    cupti::HostGetConfigSize size;
    size.host = host_;
    call_(size);
    config.resize(size.bytes);
    cupti::HostGetConfig get;
    get.host = host_;
    get.bytes = config.size();
    get.config = config.data();
    call_(get);
    cupti::HostGetPasses passes;
    passes.bytes = config.size();
    passes.config = config.data();
    call_(passes);
    return passes.passes == 1;
  }

  void evaluate(const std::vector<std::uint8_t>& data, std::size_t sample, std::vector<const char*>& names,
                double* values) const {
    cupti::HostEvaluate evaluate;
    evaluate.host = host_;
    evaluate.data = data.data();
    evaluate.bytes = data.size();
    evaluate.sample = sample;
    evaluate.names = names.data();
    evaluate.count = names.size();
    evaluate.values = values;
    call_(evaluate);
  }

 private:
  Calls call_;
  void* host_ = nullptr;
};

/// Metrics of a single pass.
struct Set {
  std::vector<Quantity> quantities;
  std::vector<const char*> names;
  std::unique_ptr<Host> host;
  std::vector<std::uint8_t> config;
};

class CuptiSampler : public PmSampler {
 public:
  CuptiSampler(void* library, int device, std::uint32_t interval_ns)
      : call_(library), interval_ns_(interval_ns) {
    cupti::Initialize begin;
    call_(begin);
    cupti::GetChipName chip;
    chip.device = static_cast<std::size_t>(device);
    call_(chip);
    chip_ = chip.chip;
    divide();
    cupti::SamplingEnable enable;
    enable.device = static_cast<std::size_t>(device);
    call_(enable);
    sampler_ = enable.sampler;
  }
  CuptiSampler(const CuptiSampler&) = delete;
  CuptiSampler& operator=(const CuptiSampler&) = delete;
  ~CuptiSampler() override {
    cupti::SamplingDisable end;
    end.sampler = sampler_;
    call_.quietly(end);
  }

  [[nodiscard]] std::size_t sets() const override { return sets_.size(); }

  [[nodiscard]] std::string start(std::size_t set) override try {
    if (set != configured_) configure(set);
    cupti::SamplingClearData clear;
    clear.sampler = sampler_;
    clear.bytes = data_.size();
    clear.data = data_.data();
    call_(clear);
    started_ns_ = now_ns();
    cupti::SamplingStart start;
    start.sampler = sampler_;
    call_(start);
    return "";
  } catch (const std::exception& failure) {
    return failure.what();
  }

  [[nodiscard]] PmWindow stop() override {
    PmWindow window;
    try {
      cupti::SamplingStop stop;
      stop.sampler = sampler_;
      call_(stop);
      stopped_ns_ = now_ns();
      cupti::SamplingDecode decode;
      decode.sampler = sampler_;
      decode.data = data_.data();
      decode.bytes = data_.size();
      call_(decode);
      window.has_overflowed = decode.has_overflowed != 0 || decode.stop_reason == cupti::counter_data_full;
      read(window.samples);
      check_clock(window.samples);
      // The device still holds samples of this window: reconfigure it.
      if (window.has_overflowed) configured_ = none;
    } catch (const std::exception& failure) {
      window.error = failure.what();
    }
    return window;
  }

 private:
  static constexpr std::size_t none = SIZE_MAX;

  /// Each quantity's first metric known to the chip, in as few sets as possible.
  void divide() {
    bool has[quantity_count] = {};
    for (const Metric& metric : metrics)
      if (!has[metric.quantity]) has[metric.quantity] = add(metric);
    if (sets_.empty()) throw Failure("PM sampling knows none of the metrics on this chip (" + chip_ + ')');
  }

  bool add(const Metric& metric) {
    std::vector<std::uint8_t> config;
    for (Set& set : sets_) {
      std::vector<const char*> names = set.names;
      names.push_back(metric.name);
      auto host = std::make_unique<Host>(call_, chip_);
      if (!host->configure(names, config)) continue;
      set.names = std::move(names);
      set.quantities.push_back(metric.quantity);
      set.host = std::move(host);
      set.config = std::move(config);
      return true;
    }
    auto host = std::make_unique<Host>(call_, chip_);
    if (!host->configure({metric.name}, config)) return false;
    sets_.push_back({{metric.quantity}, {metric.name}, std::move(host), std::move(config)});
    return true;
  }

  void configure(std::size_t number) {
    Set& set = sets_[number];
    cupti::SamplingConfigure configure;
    configure.sampler = sampler_;
    configure.bytes = set.config.size();
    configure.config = set.config.data();
    configure.hardware_bytes = hardware_bytes;
    configure.interval = interval_ns_;
    if (call_.result(configure) != 0) {  // Turing and GA100 count cycles, at about 1 GHz
      configure.trigger = cupti::every_clocks;
      call_(configure);
    }
    cupti::SamplingGetDataSize size;
    size.sampler = sampler_;
    size.names = set.names.data();
    size.count = set.names.size();
    size.max_samples = max_samples;
    call_(size);
    data_.assign(size.bytes, 0);
    configured_ = number;
  }

  void read(std::vector<PmSample>& samples) {
    cupti::SamplingGetDataInfo info;
    info.data = data_.data();
    info.bytes = data_.size();
    call_(info);
    Set& set = sets_[configured_];
    std::vector<double> values(set.names.size());
    for (std::size_t i = 1; i < info.completed; ++i) {  // the first one began long before the window
      cupti::SamplingGetSample get;
      get.sampler = sampler_;
      get.data = data_.data();
      get.bytes = data_.size();
      get.sample = i;
      call_(get);
      if (get.start_ns == 0 || get.end_ns <= get.start_ns) continue;
      set.host->evaluate(data_, i, set.names, values.data());
      PmSample& sample =
          samples.emplace_back(PmSample{.start_ns = get.start_ns, .end_ns = get.end_ns, .shares = {}});
      sample.shares.fill(std::numeric_limits<double>::quiet_NaN());
      constexpr double percent = 0.01;
      for (std::size_t v = 0; v < values.size(); ++v) sample.shares[set.quantities[v]] = percent * values[v];
    }
  }

  /// The time on the clock of CUPTI's records.
  [[nodiscard]] std::uint64_t now_ns() const {
    std::uint64_t now = 0;
    const auto get = reinterpret_cast<int (*)(std::uint64_t*)>(call_.find("cuptiGetTimestamp"));
    if (get(&now) != 0) throw Failure("CUPTI has no clock");
    return now;
  }

  /// Samples from another clock than the records' would be matched to the wrong kernels.
  void check_clock(const std::vector<PmSample>& samples) const {
    constexpr std::uint64_t tolerance_ns = 1'000'000;
    if (!samples.empty() && (samples.front().start_ns + tolerance_ns < started_ns_ ||
                             samples.back().end_ns > stopped_ns_ + tolerance_ns))
      throw Failure("samples have another clock than CUPTI's records");
  }

  Calls call_;
  std::uint32_t interval_ns_;
  std::uint64_t started_ns_ = 0, stopped_ns_ = 0;
  std::string chip_;
  std::vector<Set> sets_;
  void* sampler_ = nullptr;
  std::size_t configured_ = none;
  std::vector<std::uint8_t> data_;
};

}  // namespace

OpenedSampler open_pm_sampler(void* library, int device, std::uint32_t interval_ns) noexcept try {
  return {std::make_unique<CuptiSampler>(library, device, interval_ns), ""};
} catch (const std::exception& error) {
  return {nullptr, error.what()};
} catch (...) {
  return {nullptr, "CUPTI failed"};
}

}  // namespace occbench::attach
