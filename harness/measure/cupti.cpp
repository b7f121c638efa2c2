// SPDX-License-Identifier: Apache-2.0
#include "harness/measure/cupti.hpp"

// The range profiler's headers exist since CUDA 12.6, and some toolkits omit them: only this file needs them.
#if !__has_include(<cupti_range_profiler.h>)

namespace occbench::cupti {
std::unique_ptr<Profiler> open() {
  throw Error(no_headers, "cupti_range_profiler.h was not there at build time");
}
}  // namespace occbench::cupti

#else

#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace occbench::cupti {

namespace {

static_assert(static_cast<int>(insufficient_privileges) == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES &&
              static_cast<int>(hardware_busy) == CUPTI_ERROR_HARDWARE_BUSY &&
              static_cast<int>(multiple_subscribers_not_supported) ==
                  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);

/// Opens the library of the headers' version: by name (LD_LIBRARY_PATH, system), then in toolkit folders.
class Library {
 public:
  Library() {
    const std::string name = "libcupti.so." + std::to_string(CUDA_VERSION / 1000);
    std::vector<std::string> paths{name};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
      if (const char* root = std::getenv(variable)) add_toolkit(paths, root, name);
    add_toolkit(paths, "/usr/local/cuda", name);
    for (const std::string& path : paths)
      if (handle_ = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL); handle_ != nullptr) return;
    throw Error(library_missing, name + " is neither on the library path nor in a toolkit");
  }

  template <class Parameters>
  void call(const char* name, Parameters& parameters) const {
    auto* function = reinterpret_cast<CUptiResult (*)(Parameters*)>(dlsym(handle_, name));
    if (function == nullptr) throw Error(library_too_old, std::string(name) + " is not in libcupti");
    if (const CUptiResult result = function(&parameters); result != CUPTI_SUCCESS)
      throw Error(result, std::string(name) + ": " + name_of(result));
  }

 private:
  static void add_toolkit(std::vector<std::string>& paths, const std::string& root, const std::string& name) {
    for (const char* folder : {"/lib64/", "/extras/CUPTI/lib64/", "/lib/"})
      paths.push_back(root + folder + name);
  }
  /// "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"
  [[nodiscard]] std::string name_of(CUptiResult result) const {
    const char* text = nullptr;
    using Words = CUptiResult (*)(CUptiResult, const char**);
    if (auto* function = reinterpret_cast<Words>(dlsym(handle_, "cuptiGetResultString")))
      static_cast<void>(function(result, &text));
    return std::string(text == nullptr ? "result" : text) + " (" + std::to_string(result) + ")";
  }

  void* handle_ = nullptr;  // never closed: CUPTI leaves hooks in the driver
};

/// The driver's own library is loaded as soon as anything ran on a device.
template <class... Arguments>
bool driver(const char* name, Arguments... arguments) {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  auto* function = reinterpret_cast<CUresult (*)(Arguments...)>(dlsym(library, name));
  const bool well = function != nullptr && function(arguments...) == CUDA_SUCCESS;
  dlclose(library);
  return well;
}

class Cupti : public Profiler {
 public:
  Cupti() {
    CUdevice device = 0;
    if (!driver("cuCtxGetCurrent", &context_) || context_ == nullptr || !driver("cuCtxGetDevice", &device))
      throw Error(no_context, "no CUDA context is current");
    CUpti_Profiler_Initialize_Params initialize{.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
    library_.call("cuptiProfilerInitialize", initialize);
    CUpti_Device_GetChipName_Params name{.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE,
                                         .deviceIndex = static_cast<std::size_t>(device)};
    library_.call("cuptiDeviceGetChipName", name);
    chip_ = name.pChipName;
  }
  ~Cupti() override {
    disable();
    free_host(host_);
  }

  [[nodiscard]] std::string chip() const override { return chip_; }

  bool has_metric(const std::string& metric) override {
    CUpti_Profiler_Host_Object* trial = new_host();  // a metric cannot be removed again
    bool known = true;
    try {
      add_metrics(trial, {metric.c_str()});
    } catch (const Error& error) {
      known = false;
      if (error.result() != CUPTI_ERROR_INVALID_PARAMETER &&
          error.result() != CUPTI_ERROR_INVALID_METRIC_NAME) {
        free_host(trial);
        throw;
      }
    }
    free_host(trial);
    return known;
  }

  void enable(const std::vector<std::string>& metrics) override {
    metrics_ = metrics;
    names_.clear();
    for (const std::string& metric : metrics_) names_.push_back(metric.c_str());
    make_config();
    CUpti_RangeProfiler_Enable_Params enable{.structSize = CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE,
                                             .ctx = context_};
    library_.call("cuptiRangeProfilerEnable", enable);
    ranges_ = enable.pRangeProfilerObject;
    CUpti_RangeProfiler_GetCounterDataSize_Params size{
        .structSize = CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = ranges_,
        .pMetricNames = names_.data(),
        .numMetrics = names_.size(),
        .maxNumOfRanges = 1,
        .maxNumRangeTreeNodes = 1};
    library_.call("cuptiRangeProfilerGetCounterDataSize", size);
    data_.resize(size.counterDataSize);
    fresh_ = true;
  }

  void begin_pass() override {
    if (std::exchange(fresh_, false)) configure();
    CUpti_RangeProfiler_Start_Params start{.structSize = CUpti_RangeProfiler_Start_Params_STRUCT_SIZE,
                                           .pRangeProfilerObject = ranges_};
    library_.call("cuptiRangeProfilerStart", start);
    CUpti_RangeProfiler_PushRange_Params push{.structSize = CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE,
                                              .pRangeProfilerObject = ranges_,
                                              .pRangeName = "case"};
    library_.call("cuptiRangeProfilerPushRange", push);
  }

  bool end_pass() override {
    CUpti_RangeProfiler_PopRange_Params pop{.structSize = CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE,
                                            .pRangeProfilerObject = ranges_};
    library_.call("cuptiRangeProfilerPopRange", pop);
    CUpti_RangeProfiler_Stop_Params stop{.structSize = CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE,
                                         .pRangeProfilerObject = ranges_};
    library_.call("cuptiRangeProfilerStop", stop);
    return stop.isAllPassSubmitted != 0;
  }

  std::vector<double> values() override {
    CUpti_RangeProfiler_DecodeData_Params decode{
        .structSize = CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE, .pRangeProfilerObject = ranges_};
    library_.call("cuptiRangeProfilerDecodeData", decode);
    std::vector<double> values(names_.size());
    CUpti_Profiler_Host_EvaluateToGpuValues_Params evaluate{
        .structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
        .pHostObject = host_,
        .pCounterDataImage = data_.data(),
        .counterDataImageSize = data_.size(),
        .rangeIndex = 0,
        .ppMetricNames = names_.data(),
        .numMetrics = names_.size(),
        .pMetricValues = values.data()};
    library_.call("cuptiProfilerHostEvaluateToGpuValues", evaluate);
    fresh_ = true;
    return values;
  }

  void disable() noexcept override {
    if (ranges_ == nullptr) return;
    CUpti_RangeProfiler_Disable_Params disable{.structSize = CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE,
                                               .pRangeProfilerObject = std::exchange(ranges_, nullptr)};
    try {
      library_.call("cuptiRangeProfilerDisable", disable);
    } catch (const Error&) {  // cannot be handled here
    }
  }

 private:
  CUpti_Profiler_Host_Object* new_host() {
    CUpti_Profiler_Host_Initialize_Params initialize{
        .structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
        .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER,
        .pChipName = chip_.c_str()};
    library_.call("cuptiProfilerHostInitialize", initialize);
    return initialize.pHostObject;
  }
  void free_host(CUpti_Profiler_Host_Object* host) noexcept {
    if (host == nullptr) return;
    CUpti_Profiler_Host_Deinitialize_Params end{
        .structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE, .pHostObject = host};
    try {
      library_.call("cuptiProfilerHostDeinitialize", end);
    } catch (const Error&) {
    }
  }
  void add_metrics(CUpti_Profiler_Host_Object* host, std::vector<const char*> names) {
    CUpti_Profiler_Host_ConfigAddMetrics_Params add{
        .structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
        .pHostObject = host,
        .ppMetricNames = names.data(),
        .numMetrics = names.size()};
    library_.call("cuptiProfilerHostConfigAddMetrics", add);
  }

  /// Which counters go into which pass.
  void make_config() {
    free_host(std::exchange(host_, nullptr));
    host_ = new_host();
    add_metrics(host_, names_);
    CUpti_Profiler_Host_GetConfigImageSize_Params size{
        .structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE, .pHostObject = host_};
    library_.call("cuptiProfilerHostGetConfigImageSize", size);
    config_.resize(size.configImageSize);
    CUpti_Profiler_Host_GetConfigImage_Params image{
        .structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
        .pHostObject = host_,
        .configImageSize = config_.size(),
        .pConfigImage = config_.data()};
    library_.call("cuptiProfilerHostGetConfigImage", image);
  }

  /// One range, an empty image for its counters, the first pass.
  void configure() {
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params image{
        .structSize = CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE,
        .pRangeProfilerObject = ranges_,
        .counterDataSize = data_.size(),
        .pCounterData = data_.data()};
    library_.call("cuptiRangeProfilerCounterDataImageInitialize", image);
    CUpti_RangeProfiler_SetConfig_Params config{
        .structSize = CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE,
        .pRangeProfilerObject = ranges_,
        .configSize = config_.size(),
        .pConfig = config_.data(),
        .counterDataImageSize = data_.size(),
        .pCounterDataImage = data_.data(),
        .range = CUPTI_UserRange,
        .replayMode = CUPTI_UserReplay,  // CUPTI's replay would save and restore gigabytes before each pass
        .maxRangesPerPass = 1,
        .numNestingLevels = 1,
        .minNestingLevel = 1,
        .passIndex = 0,
        .targetNestingLevel = 1};
    library_.call("cuptiRangeProfilerSetConfig", config);
  }

  Library library_;
  CUcontext context_ = nullptr;
  std::string chip_;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* ranges_ = nullptr;  ///< there while enabled
  std::vector<std::string> metrics_;
  std::vector<const char*> names_;
  std::vector<std::uint8_t> config_;
  std::vector<std::uint8_t> data_;
  bool fresh_ = false;  ///< the next pass is the first of its launch
};

}  // namespace

std::unique_ptr<Profiler> open() { return std::make_unique<Cupti>(); }

}  // namespace occbench::cupti

#endif
