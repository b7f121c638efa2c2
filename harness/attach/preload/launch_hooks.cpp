// SPDX-License-Identifier: Apache-2.0
// Hooks of the functions that launch kernels and graphs.
#include "harness/attach/preload/attached.hpp"
#include "harness/attach/preload/hook_slots.hpp"
#include "harness/attach/preload/hooks.hpp"

namespace occbench::attach {
namespace {

template <class Call>
CUresult launch(const Request& request, const Call& original) noexcept {
  Launches* const launches = OwnCallGuard::is_in_this_thread() ? nullptr : get_launches();
  if (launches == nullptr) return original();
  const OwnCallGuard within;
  InterceptedLaunch intercepted = launches->before(request);
  if (intercepted.change.graph != nullptr) {
    CUresult result = launches->set_graph(intercepted);
    const bool is_set = result == CUDA_SUCCESS;
    if (is_set) result = original();
    if (is_set) launches->set_graph_back(request, intercepted);
    if (result == CUDA_SUCCESS || intercepted.draw.arm == untouched) {
      if (!is_set) result = original();
      launches->after(intercepted, result);
      return result;
    }
    launches->refuse(intercepted, result);
  }
  if (intercepted.is_changed()) {
    const CUresult result = launches->launch_changed(request, intercepted);
    if (result == CUDA_SUCCESS) {
      launches->after(intercepted, result);
      return result;
    }
    launches->refuse(intercepted, result);
  }
  const CUresult result = original();
  launches->after(intercepted, result);
  return result;
}

template <int slot>
CUresult on_launch_kernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned smem, CUstream stream, void** parameters, void** extra) {
  const auto original = original_of<LaunchKernel>(launch_kernel, slot);
  const Request request{.function = f,
                        .config = {gx, gy, gz, bx, by, bz, smem, stream, nullptr, 0},
                        .parameters = parameters,
                        .extra = extra,
                        .is_per_thread = slot_table[launch_kernel][slot].is_per_thread};
  return launch(request,
                [&] { return original(f, gx, gy, gz, bx, by, bz, smem, stream, parameters, extra); });
}

template <int slot>
CUresult on_launch_ex(const CUlaunchConfig* config, CUfunction f, void** parameters, void** extra) {
  const auto original = original_of<LaunchEx>(launch_ex, slot);
  if (config == nullptr) return original(config, f, parameters, extra);
  const Request request{.function = f,
                        .config = *config,
                        .parameters = parameters,
                        .extra = extra,
                        .is_per_thread = slot_table[launch_ex][slot].is_per_thread};
  return launch(request, [&] { return original(config, f, parameters, extra); });
}

template <int slot>
CUresult on_launch_cooperative(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned smem, CUstream stream, void** parameters) {
  const auto original = original_of<LaunchCooperative>(launch_cooperative, slot);
  const Request request{.function = f,
                        .config = {gx, gy, gz, bx, by, bz, smem, stream, nullptr, 0},
                        .parameters = parameters,
                        .is_per_thread = slot_table[launch_cooperative][slot].is_per_thread,
                        .kind = SkipReason::cooperative};
  return launch(request, [&] { return original(f, gx, gy, gz, bx, by, bz, smem, stream, parameters); });
}

template <int slot>
CUresult on_graph_launch(CUgraphExec graph, CUstream stream) {
  const auto original = original_of<GraphLaunch>(graph_launch, slot);
  Request request{.is_per_thread = slot_table[graph_launch][slot].is_per_thread,
                  .graph = graph,
                  .kind = SkipReason::graph};
  request.config.hStream = stream;
  return launch(request, [&] { return original(graph, stream); });
}

const Hook hooks[] = {
    {"cuLaunchKernel", launch_kernel, false, OCCBENCH_SLOTS(on_launch_kernel)},
    {"cuLaunchKernel_ptsz", launch_kernel, true, OCCBENCH_SLOTS(on_launch_kernel)},
    {"cuLaunchKernelEx", launch_ex, false, OCCBENCH_SLOTS(on_launch_ex)},
    {"cuLaunchKernelEx_ptsz", launch_ex, true, OCCBENCH_SLOTS(on_launch_ex)},
    {"cuLaunchCooperativeKernel", launch_cooperative, false, OCCBENCH_SLOTS(on_launch_cooperative)},
    {"cuLaunchCooperativeKernel_ptsz", launch_cooperative, true, OCCBENCH_SLOTS(on_launch_cooperative)},
    {"cuGraphLaunch", graph_launch, false, OCCBENCH_SLOTS(on_graph_launch)},
    {"cuGraphLaunch_ptsz", graph_launch, true, OCCBENCH_SLOTS(on_graph_launch)},
};

}  // namespace

std::span<const Hook> launch_hooks() noexcept { return hooks; }

}  // namespace occbench::attach
