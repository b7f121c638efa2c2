// SPDX-License-Identifier: Apache-2.0
#include "harness/attach/launches.hpp"

#include <cxxabi.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>

namespace occbench::attach {

namespace {

constexpr unsigned whole_carveout = 100;    // percent of the L1's array, as shared memory
constexpr int smem_unit = 128;              // bytes in which shared memory is given
constexpr std::size_t most_pending = 4096;  // launches whose time is awaited
constexpr std::size_t poll_from = 16;       // times are read in batches
constexpr std::uint64_t always_timed = 64;  // first launches of a signature
constexpr std::uint64_t timed_one_in = 16;  // later, where nothing is asked any more
constexpr int most_argument_hashes = 8;     // then arguments are no part of the signature

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9;
  return hash ^ (hash >> 27);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a of 64 bits
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint16_t thread_number() {
  static std::atomic<unsigned> next{0};
  thread_local const auto number = static_cast<std::uint16_t>(next++);
  return number;
}

/// A word that could be an address of device memory. What a kernel's parameters are is not known: this is a
/// guess, and a wrong one costs no more than a signature too many or too few.
bool may_be_pointer(std::uint64_t word, bool is_alone) {
  constexpr std::uint64_t low = std::uint64_t{1} << 32, high = std::uint64_t{1} << 48;
  constexpr std::uint64_t usual = std::uint64_t{1} << 44, alignment = 256;
  return word >= low && word < high && (is_alone || word >= usual || word % alignment == 0);
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string all{std::istreambuf_iterator<char>(file), {}};
  std::replace(all.begin(), all.end(), '\0', ' ');
  constexpr std::size_t room = 500;
  return all.substr(0, room);
}

}  // namespace

struct Parameter {
  std::size_t offset = 0, size = 0;
};

/// A CUDA context that launches came from.
struct Context {
  CUcontext handle = nullptr;
  int device = 0;
  int sms = 0, smem_per_sm = 0, smem_reserved = 0, smem_optin = 0;
  std::vector<CUevent> free_events;
};

/// A function as the program names it in one context.
struct Handle {
  CUfunction function = nullptr;
  int number = -1;
  std::string name;
  std::uint64_t content = 0;
  int registers = 0, static_smem = 0, largest_block = 0, max_dynamic_smem = 0;
  bool is_cluster = false, is_known = false;
  std::vector<Parameter> parameters;
  std::unordered_map<std::uint64_t, bool> verified;  ///< levels of signatures, with this handle
};

struct Signature {
  std::size_t number = 0;
  int blocks_per_sm = 0, block_size = 0;
  unsigned dynamic_smem = 0;
  std::uint64_t hash = 0;
  Alone alone = Alone::no;
  std::optional<Schedule> schedule;
  std::vector<unsigned> added;  ///< dynamic shared memory of arms from first_level on
  std::vector<int> blocks;      ///< that they are to have
  std::uint64_t launches = 0;
};

std::optional<Options> options_from_environment() {
  if (getauxval(AT_SECURE) != 0) return std::nullopt;
  const char* const folder = std::getenv(folder_variable);
  const char* const text = std::getenv(options_variable);
  if (folder == nullptr || *folder != '/' || text == nullptr) return std::nullopt;
  // Compute Sanitizer checks every access: nothing measured beside it means anything.
  for (const char* other : {"CUDA_INJECTION64_PATH", "NV_COMPUTE_SANITIZER_INJECTION_PATH"})
    if (const char* const path = std::getenv(other);
        path != nullptr && std::strstr(path, "anitizer") != nullptr)
      return std::nullopt;
  Options o;
  o.folder = folder;
  std::string_view rest = text;
  while (!rest.empty()) {
    const bool is_last = rest.starts_with("kernel=");
    const std::size_t end = is_last ? rest.size() : std::min(rest.find(';'), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos) continue;
    const std::string_view key = word.substr(0, equal);
    const std::string value(word.substr(equal + 1));
    const auto real = [&] { return std::strtod(value.c_str(), nullptr); };
    const auto whole = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
    if (key == "observe") o.observe = value == "1";
    if (key == "seed") o.plan.seed = whole();
    if (key == "precision") o.plan.precision = real();
    if (key == "skip") o.plan.warm_up = static_cast<int>(whole());
    if (key == "budget") o.budget = real();
    if (key == "after") o.after = whole();
    if (key == "duration") o.duration_s = real();
    if (key == "limit") o.limit_bytes = whole();
    if (key == "only_child_of") o.only_child_of = static_cast<pid_t>(whole());
    if (key == "kernel") o.kernel = value;
    if (key == "levels") {
      o.levels.clear();
      const char* at = value.c_str();
      for (char* stop = nullptr; *at != '\0' && o.levels.size() + first_level < most_arms; at = stop) {
        o.levels.push_back(std::strtod(at, &stop));
        if (stop == at) break;
        if (*stop == ',') ++stop;
      }
    }
  }
  if (o.only_child_of != 0 && getppid() != o.only_child_of) return std::nullopt;
  return o;
}

Launches::Launches(Options options)
    : options_(std::move(options)),
      driver_(find_driver()),
      journal_(options_.folder, options_.limit_bytes),
      budget_(options_.budget),
      process_(getpid()),
      begun_s_(now_s()) {
  int version = 0;
  if (driver_.driver_get_version != nullptr) driver_.driver_get_version(&version);
  journal_.line({"process", std::to_string(protocol_version), std::to_string(process_),
                 std::to_string(getppid()), std::to_string(version), own_command()});
  is_usable_ = driver_.is_complete();
  if (!is_usable_) journal_.line({"note", "this driver lacks functions that attaching needs"});
  has_kernel_ =
      !options_.kernel.empty() && regcomp(&kernel_, options_.kernel.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
}

Launches::~Launches() {
  if (has_kernel_) regfree(&kernel_);
}

Context& Launches::context_of(CUcontext handle) {
  const auto [place, is_new] = by_context_.try_emplace(handle, nullptr);
  if (!is_new) return *place->second;
  Context& c = contexts_.emplace_back();
  place->second = &c;
  c.handle = handle;
  CUdevice device = 0;
  driver_.ctx_get_device(&device);
  c.device = device;
  const auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    driver_.device_get_attribute(&value, attribute, device);
    return value;
  };
  c.sms = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  c.smem_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  c.smem_reserved = get(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  c.smem_optin = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  char name[128] = "";
  driver_.device_get_name(name, sizeof name - 1, device);
  CUuuid uuid{};
  if (driver_.device_get_uuid != nullptr) driver_.device_get_uuid(&uuid, device);
  std::string id = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) id += '-';
    id += digits;
  }
  std::vector<std::string> fields = {"device", std::to_string(device), name, id};
  for (const CUdevice_attribute attribute :
       {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CU_DEVICE_ATTRIBUTE_WARP_SIZE,
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK})
    fields.push_back(std::to_string(get(attribute)));
  journal_.line(fields);
  return c;
}

Handle& Launches::handle_of(CUfunction named, Context& context) {
  const std::uint64_t key =
      mix(reinterpret_cast<std::uintptr_t>(named), reinterpret_cast<std::uintptr_t>(context.handle));
  const auto [place, is_new] = by_handle_.try_emplace(key, nullptr);
  if (!is_new) return *place->second;
  Handle& h = handles_.emplace_back();
  place->second = &h;
  h.function = named;
  const auto get = [&](CUfunction_attribute attribute, int& value) {
    return driver_.func_get_attribute(&value, attribute, h.function) == CUDA_SUCCESS;
  };
  // The runtime says CUkernel where a CUfunction is said, and those have no attributes or names as such.
  const char* name = nullptr;
  const bool has_name =
      driver_.func_get_name != nullptr && driver_.func_get_name(&name, named) == CUDA_SUCCESS;
  int registers = 0;
  if (!(has_name || (driver_.func_get_name == nullptr && get(CU_FUNC_ATTRIBUTE_NUM_REGS, registers)))) {
    CUfunction function = nullptr;
    if (driver_.kernel_get_function == nullptr ||
        driver_.kernel_get_function(&function, reinterpret_cast<CUkernel>(named)) != CUDA_SUCCESS)
      return h;
    h.function = function;
    if (driver_.func_get_name != nullptr && driver_.func_get_name(&name, function) != CUDA_SUCCESS)
      name = nullptr;
  }
  h.name = name == nullptr ? "(no name)" : name;
  int cluster = 0, must_be_set = 0, binary = 0, local = 0;
  h.is_known = get(CU_FUNC_ATTRIBUTE_NUM_REGS, h.registers) &&
               get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, h.static_smem) &&
               get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, h.largest_block) &&
               get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, h.max_dynamic_smem);
  static_cast<void>(get(CU_FUNC_ATTRIBUTE_BINARY_VERSION, binary));
  static_cast<void>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, local));
  h.is_cluster = (get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, cluster) && cluster > 0) ||
                 (get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, must_be_set) && must_be_set != 0);
  if (driver_.func_get_param_info != nullptr) {
    constexpr std::size_t most_parameters = 4096;
    for (Parameter p;
         h.parameters.size() < most_parameters &&
         driver_.func_get_param_info(h.function, h.parameters.size(), &p.offset, &p.size) == CUDA_SUCCESS;)
      h.parameters.push_back(p);
  }
  const std::string content = h.name + '|' + std::to_string(h.registers) + '|' +
                              std::to_string(h.static_smem) + '|' + std::to_string(h.largest_block) + '|' +
                              std::to_string(binary) + '|' + std::to_string(context.device);
  h.content = hash_of(content);
  const auto [known, is_first] =
      function_numbers_.try_emplace(content, static_cast<int>(function_numbers_.size()));
  h.number = known->second;
  if (is_first)
    journal_.line({"function", std::to_string(h.number), std::to_string(context.device),
                   std::to_string(h.registers), std::to_string(h.static_smem), std::to_string(local),
                   std::to_string(h.largest_block), std::to_string(binary), h.name});
  return h;
}

namespace {

/// Of the arguments that are no addresses.
std::uint64_t argument_hash(const Request& request, const Handle& handle) {
  std::uint64_t hash = 0;
  const auto* packed = static_cast<const unsigned char*>(nullptr);
  if (request.extra != nullptr)
    for (void** at = request.extra; *at != CU_LAUNCH_PARAM_END; at += 2)
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) packed = static_cast<const unsigned char*>(at[1]);
  for (std::size_t i = 0; i < handle.parameters.size(); ++i) {
    const Parameter& p = handle.parameters[i];
    const unsigned char* const bytes = request.parameters != nullptr
                                           ? static_cast<const unsigned char*>(request.parameters[i])
                                       : packed != nullptr ? packed + p.offset
                                                           : nullptr;
    if (bytes == nullptr) return hash;
    for (std::size_t at = 0; at < p.size; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes + at, std::min(sizeof word, p.size - at));
      if (!may_be_pointer(word, p.size == sizeof word)) hash = mix(hash, word + 1);
    }
  }
  return hash;
}

/// What the attributes of a launch say against changing it.
Alone against(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& a = config.attrs[i];
    switch (static_cast<int>(a.id)) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (a.value.cooperative != 0) return Alone::cooperative;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (a.value.clusterDim.x * a.value.clusterDim.y * a.value.clusterDim.z > 1) return Alone::cluster;
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        if (a.value.programmaticStreamSerializationAllowed != 0) return Alone::dependent;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        return Alone::dependent;
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return Alone::own_carveout;
      default:
        return Alone::attribute;
    }
  }
  return Alone::no;
}

std::uint64_t blocks_of(const CUlaunchConfig& c) {
  return std::uint64_t{c.gridDimX} * c.gridDimY * c.gridDimZ;
}

}  // namespace

Alone Launches::left_alone(const Request& request, const Handle& handle, const Context& context,
                           int blocks_per_sm) {
  if (request.kind != Alone::no) return request.kind;
  if (const Alone why = against(request.config); why != Alone::no) return why;
  if (handle.is_cluster) return Alone::cluster;
  if (handle.name.find("ncclKernel") != std::string::npos ||
      handle.name.find("ncclDevKernel") != std::string::npos)
    return Alone::nccl;
  if (!handle.is_known || blocks_per_sm < 1) return Alone::no_answer;
  // A grid that is resident as a whole may wait for its other blocks: with fewer at a time it would hang.
  if (blocks_of(request.config) <= static_cast<std::uint64_t>(blocks_per_sm) * context.sms)
    return Alone::one_residency;
  if (blocks_per_sm == 1) return Alone::one_block;
  if (has_kernel_ && regexec(&kernel_, handle.name.c_str(), 0, nullptr, 0) != 0 &&
      regexec(&kernel_, demangled(handle.name).c_str(), 0, nullptr, 0) != 0)
    return Alone::not_asked;
  return Alone::no;
}

/// The dynamic shared memory of each level, held against the driver's own count of blocks.
void Launches::find_levels(Signature& s, Handle& h, const Context& context) {
  const int fixed = context.smem_reserved + h.static_smem;
  const int most_dynamic = context.smem_optin - h.static_smem;
  const auto gives = [&](int dynamic, int target) {
    if (dynamic <= static_cast<int>(s.dynamic_smem) || dynamic > most_dynamic) return false;
    if (dynamic > h.max_dynamic_smem) {
      if (driver_.func_set_attribute(h.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic) !=
          CUDA_SUCCESS)
        return false;
      h.max_dynamic_smem = dynamic;
    }
    int blocks = 0;
    return driver_.occupancy(&blocks, h.function, s.block_size, static_cast<std::size_t>(dynamic)) ==
               CUDA_SUCCESS &&
           blocks == target;
  };
  if (!s.blocks.empty()) {  // found before, with another handle of the same function
    for (std::size_t i = 0; i < s.blocks.size(); ++i)
      h.verified[s.hash + i] = gives(static_cast<int>(s.added[i] + s.dynamic_smem), s.blocks[i]);
    return;
  }
  for (const double share : options_.levels) {
    const int target =
        std::clamp(static_cast<int>(std::lround(share * s.blocks_per_sm)), 1, s.blocks_per_sm - 1);
    if (std::ranges::find(s.blocks, target) != s.blocks.end()) continue;
    const int least = (context.smem_per_sm / (target + 1) / smem_unit + 1) * smem_unit - fixed;
    const int most = context.smem_per_sm / target / smem_unit * smem_unit - fixed;
    for (const int dynamic : {least, least + smem_unit, std::min(most, most_dynamic)})
      if (gives(dynamic, target)) {
        h.verified[s.hash + s.blocks.size()] = true;
        s.blocks.push_back(target);
        s.added.push_back(static_cast<unsigned>(dynamic) - s.dynamic_smem);
        break;
      }
  }
}

Signature& Launches::signature_of(const Request& request, Handle& handle, Context& context) {
  const CUlaunchConfig& c = request.config;
  std::uint64_t shape = mix(handle.content, static_cast<std::uint64_t>(request.kind));
  for (const unsigned value : {c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY, c.blockDimZ,
                               c.sharedMemBytes, c.numAttrs})
    shape = mix(shape, value);
  std::uint64_t arguments = argument_hash(request, handle);
  int& different = argument_hashes_[shape];
  if (different > most_argument_hashes) arguments = 0;
  const auto [place, is_new] = by_hash_.try_emplace(mix(shape, arguments), nullptr);
  if (is_new) {
    if (++different > most_argument_hashes && arguments != 0) {
      by_hash_.erase(mix(shape, arguments));
      return signature_of(request, handle, context);
    }
    if (signatures_.size() >= most_signatures - 1) {  // the last takes all that do not fit
      if (signatures_.size() == most_signatures - 1) {
        Signature& rest = signatures_.emplace_back();
        rest.number = most_signatures - 1;
        rest.alone = Alone::too_many;
        journal_.line({"signature", std::to_string(rest.number), "-1", "0", "0", "0", "0", "0", "0", "0", "0",
                       "0", std::to_string(static_cast<int>(rest.alone))});
      }
      place->second = &signatures_.back();
      return signatures_.back();
    }
    Signature& s = signatures_.emplace_back();
    place->second = &s;
    s.number = signatures_.size() - 1;
    s.hash = mix(shape, arguments);
    s.block_size = static_cast<int>(c.blockDimX * c.blockDimY * c.blockDimZ);
    s.dynamic_smem = c.sharedMemBytes;
    if (handle.is_known) driver_.occupancy(&s.blocks_per_sm, handle.function, s.block_size, s.dynamic_smem);
    s.alone = left_alone(request, handle, context, s.blocks_per_sm);
    if (s.alone == Alone::no && !options_.observe) {
      find_levels(s, handle, context);
      if (s.blocks.empty()) s.alone = Alone::no_level;
    }
    char hash[20];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(arguments));
    journal_.line({"signature", std::to_string(s.number), std::to_string(handle.number),
                   std::to_string(c.gridDimX), std::to_string(c.gridDimY), std::to_string(c.gridDimZ),
                   std::to_string(c.blockDimX), std::to_string(c.blockDimY), std::to_string(c.blockDimZ),
                   std::to_string(s.dynamic_smem), std::to_string(s.blocks_per_sm), hash,
                   std::to_string(static_cast<int>(s.alone))});
    if (s.alone == Alone::no && !options_.observe) {
      std::vector<double> warps = {1, 1};
      for (std::size_t i = 0; i < s.blocks.size(); ++i) {
        warps.push_back(static_cast<double>(s.blocks[i]) / s.blocks_per_sm);
        journal_.line({"level", std::to_string(s.number), std::to_string(first_level + static_cast<int>(i)),
                       std::to_string(s.added[i]), std::to_string(s.blocks[i])});
      }
      s.schedule.emplace(options_.plan, s.hash, std::move(warps));
    }
  }
  Signature& s = *place->second;
  if (s.schedule && !s.blocks.empty() && !handle.verified.contains(s.hash)) find_levels(s, handle, context);
  return s;
}

bool Launches::wants_time(Signature& s) {
  if (s.launches <= always_timed) return true;
  std::uint64_t z = s.launches * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  return (z >> 32) % timed_one_in == 0;
}

bool Launches::others_pending(CUstream stream) const {
  return std::ranges::any_of(pending_, [&](const Pending& p) { return p.ticket.stream != stream; });
}

Ticket Launches::before(const Request& request) noexcept try {
  Ticket t;
  if (!is_usable_ || getpid() != process_) return t;
  t.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  CUcontext current = nullptr;
  if (driver_.ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr) return t;
  t.stream = request.config.hStream != nullptr ? request.config.hStream
             : request.is_per_thread           ? CU_STREAM_PER_THREAD
                                               : CU_STREAM_LEGACY;
  const Relaxed relaxed(driver_);
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  const bool is_captured = driver_.stream_is_capturing(t.stream, &capturing) != CUDA_SUCCESS ||
                           capturing != CU_STREAM_CAPTURE_STATUS_NONE;
  const std::lock_guard lock(mutex_);
  Context& context = context_of(current);
  Handle unnamed;
  if (request.kind == Alone::graph) unnamed.name = "(CUDA graph)";
  if (request.kind == Alone::graph && !function_numbers_.contains(unnamed.name)) {
    const int n = static_cast<int>(function_numbers_.size());
    function_numbers_[unnamed.name] = n;
    journal_.line({"function", std::to_string(n), std::to_string(context.device), "0", "0", "0", "0", "0",
                   unnamed.name});
  }
  if (request.kind == Alone::graph) unnamed.number = function_numbers_[unnamed.name];
  Handle& handle = request.kind == Alone::graph ? unnamed : handle_of(request.function, context);
  Signature& s = signature_of(request, handle, context);
  ++s.launches;
  if (Count* const count = journal_.count(s.number)) {
    ++count->launches;
    if (is_captured) ++count->captured;
  }
  if (is_captured) return t;
  if (pending_.size() >= poll_from) poll();
  const bool is_asked =
      t.sequence >= options_.after && (options_.duration_s == 0 || now_s() - begun_s_ < options_.duration_s);
  const bool has_room = pending_.size() < most_pending;
  if (has_room && s.schedule && is_asked) {
    t.draw = s.schedule->next(budget_);
    if (t.draw.arm >= first_level) {
      const auto level = static_cast<std::size_t>(t.draw.arm - first_level);
      t.dynamic_smem_bytes = s.dynamic_smem + s.added[level];
      if (!handle.verified[s.hash + level]) {
        s.schedule->refuse(t.draw, budget_, true);
        t.draw = {};
      }
    } else {
      t.dynamic_smem_bytes = s.dynamic_smem;
    }
  } else {
    budget_.ran(s.schedule ? s.schedule->natural_us() : 0);
  }
  t.signature = &s;
  t.context = &context;
  t.function = handle.function;
  if (!has_room || !(t.draw.of_block || t.draw.is_warm_up || wants_time(s))) {
    t.signature = nullptr;  // counted, not timed
    return t;
  }
  if (others_pending(t.stream)) poll();
  t.flags =
      static_cast<std::uint8_t>((t.draw.is_warm_up ? warm_up : 0) |
                                (others_pending(t.stream) ? overlapped : 0) | (t.draw.of_block ? drawn : 0));
  for (CUevent* event : {&t.start, &t.stop}) {
    if (!context.free_events.empty()) {
      *event = context.free_events.back();
      context.free_events.pop_back();
    } else if (driver_.event_create(event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      *event = nullptr;
    }
  }
  if (t.start == nullptr || t.stop == nullptr || driver_.event_record(t.start, t.stream) != CUDA_SUCCESS) {
    for (CUevent event : {t.start, t.stop})
      if (event != nullptr) context.free_events.push_back(event);
    if (s.schedule) s.schedule->refuse(t.draw, budget_, false);
    t.draw = {};
    t.signature = nullptr;
  }
  return t;
} catch (...) {
  return {};
}

CUresult Launches::launch_changed(const Request& request, const Ticket& ticket) noexcept {
  constexpr unsigned most_attributes = 16;
  const auto launch = request.is_per_thread ? driver_.launch_ex_ptsz : driver_.launch_ex;
  if (launch == nullptr || request.config.numAttrs >= most_attributes) return CUDA_ERROR_NOT_SUPPORTED;
  std::array<CUlaunchAttribute, most_attributes> attributes{};
  std::copy_n(request.config.attrs, request.config.numAttrs, attributes.begin());
  CUlaunchAttribute& carveout = attributes[request.config.numAttrs];
  carveout.id = CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
  carveout.value.sharedMemCarveout = whole_carveout;
  CUlaunchConfig config = request.config;
  config.attrs = attributes.data();
  ++config.numAttrs;
  config.sharedMemBytes = ticket.dynamic_smem_bytes;
  return launch(&config, ticket.function, request.parameters, request.extra);
}

void Launches::refuse(Ticket& ticket) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (ticket.signature != nullptr && ticket.signature->schedule)
      ticket.signature->schedule->refuse(ticket.draw, budget_, true);
  } catch (...) {
  }
  ticket.draw = {};
  ticket.flags &= static_cast<std::uint8_t>(~drawn);
}

void Launches::after(Ticket& t, CUresult result) noexcept try {
  if (t.signature == nullptr || t.start == nullptr) return;
  const Relaxed relaxed(driver_);
  const bool is_recorded = result == CUDA_SUCCESS && driver_.event_record(t.stop, t.stream) == CUDA_SUCCESS;
  const std::lock_guard lock(mutex_);
  if (!is_recorded) {
    if (t.signature->schedule) t.signature->schedule->refuse(t.draw, budget_, false);
    t.context->free_events.push_back(t.start);
    t.context->free_events.push_back(t.stop);
    return;
  }
  if (sequence_.load(std::memory_order_relaxed) != t.sequence + 1) t.flags |= overlapped;  // another thread's
  pending_.push_back({.ticket = t, .thread = thread_number()});
} catch (...) {
}

/// Reads times from the oldest on, up to the first that is not there yet.
void Launches::poll() {
  for (int not_ready = 0; !pending_.empty();) {
    const Pending& p = pending_.front();
    float milliseconds = 0;
    const CUresult result = driver_.event_elapsed_time(&milliseconds, p.ticket.start, p.ticket.stop);
    if (result == CUDA_ERROR_NOT_READY) {
      if (++not_ready > 0) break;
    }
    const Pending done = p;
    pending_.pop_front();
    const Ticket& t = done.ticket;
    t.context->free_events.push_back(t.start);
    t.context->free_events.push_back(t.stop);
    if (result != CUDA_SUCCESS) {
      if (t.signature->schedule) t.signature->schedule->refuse(t.draw, budget_, false);
      continue;
    }
    const double time_us = 1e3 * static_cast<double>(milliseconds);
    if (t.signature->schedule) t.signature->schedule->timed(t.draw, time_us, budget_);
    journal_.add({.signature = static_cast<std::uint32_t>(t.signature->number + 1),
                  .arm = static_cast<std::uint8_t>(t.draw.arm),
                  .flags = t.flags,
                  .thread = done.thread,
                  .time_us = static_cast<float>(time_us),
                  .sequence = static_cast<std::uint32_t>(t.sequence)});
  }
}

void Launches::forget(bool contexts) noexcept {
  if (!is_usable_ || getpid() != process_) return;
  drain();
  const std::lock_guard lock(mutex_);
  by_handle_.clear();
  if (!contexts) return;
  pending_.clear();
  by_context_.clear();
  for (Context& context : contexts_) context.free_events.clear();
}

void Launches::drain() noexcept try {
  if (!is_usable_ || getpid() != process_) return;
  const Relaxed relaxed(driver_);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  poll();
} catch (...) {
}

}  // namespace occbench::attach
