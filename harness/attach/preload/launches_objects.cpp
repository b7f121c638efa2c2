// SPDX-License-Identifier: Apache-2.0
// Launches of graphs, and what the program loads.
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/attach/preload/launches.hpp"
#include "harness/attach/preload/machine_code.hpp"
#include "harness/attach/preload/ptx.hpp"

namespace occbench::attach {

namespace {

/// Compute capabilities of all devices; none before the driver knows.
std::vector<int> capabilities(const Driver& driver) {
  std::vector<int> found;
  int count = 0;
  if (driver.device_get_count == nullptr || driver.device_get_count(&count) != CUDA_SUCCESS) return found;
  for (CUdevice device = 0; device < count; ++device) {
    int major = 0, minor = 0;
    if (driver.device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) ==
            CUDA_SUCCESS &&
        driver.device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) ==
            CUDA_SUCCESS)
      found.push_back(10 * major + minor);
  }
  return found;
}

}  // namespace

void Launches::loaded(const void* image) noexcept try {
  if (image == nullptr || !is_usable_ || options_.observe || !process_.is_this()) return;
  if (options_.registers.empty()) return search(image);
  constexpr std::size_t look = 4096, most = std::size_t{64} << 20;
  const auto* const text = static_cast<const char*>(image);
  if (!is_ptx(std::string_view(text, strnlen(text, look)))) return;
  const std::size_t size = strnlen(text, most);
  const std::lock_guard lock(mutex_);
  if (size < most) signatures_.add_ptx(std::string(text, size));
} catch (...) {
}

void Launches::loaded_file(const char* path) noexcept try {
  if (path == nullptr || !is_usable_ || options_.observe || !process_.is_this()) return;
  std::ifstream file(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  content.append(sizeof(std::uint64_t), '\0');  // text has no end of its own
  if (file) loaded(content.data());
} catch (...) {
}

/// Once for each module: its kernels that ask for their shared memory are left alone.
void Launches::search(const void* image) {
  const SmemReaders found = smem_readers(image, capabilities(driver_));
  if (found.kernels.empty() && found.is_whole) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& kernel : found.kernels) signatures_.leave_alone(kernel);
  if (found.is_whole || std::exchange(is_search_noted_, true)) return;
  journal_.line({"note",
                 "not all machine code could be searched for kernels that read %dynamic_smem_size: "
                 "--kernel keeps such a kernel out"});
}

/// The whole graph is timed, whichever of its kernels is changed.
void Launches::before_graph(Ticket& t, const Request& request, Context& context, bool is_captured) {
  Signature& whole = graphs_.signature_of(request, context);
  Signature* s = &whole;
  count(whole, is_captured);
  if (is_captured || journal_.is_full()) return;
  if (options_.apply) {
    for (Signature* part : graphs_.apply(request)) {
      count(*part, false);
      if (Count* const noted = journal_.count(part->number)) ++noted->changed;
    }
    return;
  }
  const bool has_room = make_room();
  if (has_room && !whole.turns.empty() && is_asked(t))
    s = &graphs_.draw(request, whole, budget_, t.draw, t.change);
  else
    budget_.ran(whole.schedule ? whole.schedule->natural_us() : 0);
  if (!has_room || !(t.draw.of_block || t.draw.is_warm_up || wants_time(whole))) return;
  t.context = &context;
  if (!begin(t, *s, context)) {
    t.change = {};
    return;
  }
  t.signature = s;
  if (s != &whole) count(*s, false);
}

CUresult Launches::set_graph(const Ticket& ticket) noexcept try {
  const Relaxed relaxed(driver_);
  return graphs_.set(ticket.change);
} catch (...) {
  return CUDA_ERROR_UNKNOWN;
}

void Launches::set_graph_back(const Request& request, Ticket& ticket) noexcept try {
  const Relaxed relaxed(driver_);
  const CUresult result = graphs_.set_back(ticket.change);
  ticket.change = {};
  if (result == CUDA_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  graphs_.updated(request.graph);
  journal_.line({"note", "the driver did not take back what it took for one launch of a CUDA graph (error " +
                             std::to_string(result) + "): its kernels go on with fewer warps"});
} catch (...) {
}

void Launches::graph_made(CUgraphExec executable, CUgraph graph) noexcept try {
  if (!is_usable_ || !process_.is_this()) return;
  const Relaxed relaxed(driver_);
  CUcontext current = nullptr;
  if (driver_.ctx_get_current(&current) != CUDA_SUCCESS || current == nullptr) return;
  const std::lock_guard lock(mutex_);
  graphs_.made(executable, graph, signatures_.context_of(current));
} catch (...) {
}

void Launches::graph_ends(CUgraphExec executable) noexcept try {
  const std::lock_guard lock(mutex_);
  graphs_.ended(executable);
} catch (...) {
}

void Launches::graph_updated(CUgraphExec executable) noexcept try {
  const std::lock_guard lock(mutex_);
  graphs_.updated(executable);
} catch (...) {
}

bool Launches::keeps_graph(CUgraph graph) noexcept try {
  const std::lock_guard lock(mutex_);
  return graphs_.keeps(graph);
} catch (...) {
  return false;
}

}  // namespace occbench::attach
