// SPDX-License-Identifier: Apache-2.0
#include "harness/whatif/flow.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace occbench::whatif {
namespace {

using theory::Pipe;

constexpr double sector_bytes = 32;
constexpr double lanes = 32;
constexpr double bank_bytes = 4;
constexpr double negligible = 0.01;  // share of all requests or instructions

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

/// Throws UnsupportedProfile on features that the model lacks.
void refuse_unsupported(const Profile& p, const theory::Program& program) {
  if (const double size = p.get("launch__cluster_size"); size > 1)
    throw UnsupportedProfile("it runs in clusters of " + std::to_string(std::lround(size)) +
                             " blocks, and distributed shared memory is not modelled");
  const double atomics = p.get("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum") +
                         p.get("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum");
  const double others = p.get("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") +
                        p.get("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum");
  if (atomics > negligible * (atomics + others))
    throw UnsupportedProfile("atomics are " + percent(atomics / (atomics + others)) +
                             " of its requests to global memory, and outside the model");
  const double instructions = p.get("smsp__inst_executed.sum");
  if (const double shared = p.count_executions("ATOMS");
      instructions > 0 && shared > negligible * instructions)
    throw UnsupportedProfile("atomics of shared memory are " + percent(shared / instructions) +
                             " of its instructions, and outside the model");
  if (program.count(Pipe::bulk_load) > 0 || p.count_executions("UBLKCP") + p.count_executions("UTMALDG") > 0)
    throw UnsupportedProfile("it makes bulk copies, and no counter has the number of copies in flight");
}

/// L1 lines that loads touch, over the minimum for `bytes_per_lane`: at least 1. A wavefront looks up four
/// lines; a fractional wavefront is a replay while the L1 waits for space. Narrow loads take one wavefront in
/// any layout, so sectors are more precise for them.
double lines_of(const Profile& p, double bytes_per_lane) {
  constexpr double lines_of_wavefront = 4, line_bytes = 128, nearly = 0.05;
  const double requests = p.get("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum");
  const double wavefronts = p.get("l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum");
  const double min_lines = std::max(1.0, bytes_per_lane * lanes / line_bytes);
  if (requests <= 0 || min_lines < lines_of_wavefront) return 1;
  return std::max(1.0, std::floor(wavefronts / requests + nearly) * lines_of_wavefront / min_lines);
}

/// Shared-memory cycles of the loop's accesses, over the minimum for their bytes.
double conflict(double wavefronts, double bytes_per_lane, double warps) {
  const double min_wavefronts = bytes_per_lane / bank_bytes * warps;
  return min_wavefronts > 0 && wavefronts > 0 ? wavefronts / min_wavefronts : 1;
}

/// The carve-out percentage that requests `bytes` of shared memory.
int carveout(const theory::SmLimits& sm, double bytes) {
  if (bytes <= 0 || sm.smem_per_sm_bytes == 0) return -1;
  return std::min(100, static_cast<int>(100 * bytes / static_cast<double>(sm.smem_per_sm_bytes)));
}

/// Sectors fetched without use or repeatedly are not loaded bytes.
void set_loads(const Profile& p, double threads, Kernel& k) {
  const theory::Program& program = k.program;
  const double loaded =
      (program.bytes(Pipe::global_load) + program.bytes(Pipe::async_load)) / program.iterations;
  const double requested = p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") * sector_bytes / threads;
  const double hit =
      p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum") * sector_bytes / threads;
  const double missed = std::max(0.0, requested - hit);
  const double loads =
      (program.count(Pipe::global_load) + program.count(Pipe::async_load)) / program.iterations;
  const double from_dram = std::min({loaded, missed, p.need("dram__bytes_read.sum") / threads});
  const double from_l2 = std::min(loaded, missed) - from_dram;
  k.facts.dram_bytes = from_dram;
  k.facts.flow.l2_bytes = from_l2;
  if (loaded > 0) {
    k.l1_hit = 1 - (from_dram + from_l2) / loaded;
    k.l2_hit = from_l2 / loaded;
    k.facts.flow.layout.lines = std::max(requested / loaded, lines_of(p, loaded / loads));
  }
}

/// Requests tell stores of the loop from those after it, since half-filled sectors count in full. Dirty lines
/// that are still in the L2 at the end count as written.
void set_stores(const Profile& p, double threads, std::size_t l2_bytes, Kernel& k) {
  const theory::Program& program = k.program;
  const double stored = program.bytes(Pipe::global_store) / program.iterations;
  const double sent = p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") * sector_bytes / threads;
  const double requests = p.need("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum") / (threads / lanes);
  const double epilogue_requests =
      std::max(0.0, requests - program.count(Pipe::global_store) / program.iterations);
  const double epilogue = epilogue_requests > negligible * requests ? sent * epilogue_requests / requests : 0;
  const double all = std::min(sent, stored + epilogue);
  const double dirty = sent * threads > static_cast<double>(l2_bytes) ? static_cast<double>(l2_bytes) : 0;
  const double to_dram =
      all > 0 ? std::clamp((p.need("dram__bytes_write.sum") + dirty) / (all * threads), 0.0, 1.0) : 0;
  k.facts.dram_bytes += stored * to_dram;
  if (k.facts.dram_bytes > 0 && stored == 0) k.facts.epilogue_bytes = epilogue * to_dram;
}

}  // namespace

Kernel kernel_of(const Profile& p, const theory::Program& program, const theory::SmLimits& sm,
                 std::size_t l2_bytes) {
  refuse_unsupported(p, program);
  Kernel k{.program = program, .facts = {}, .footprint = {}, .assumptions = {}};
  k.time_s = p.need("gpu__time_duration.sum");
  k.sm_clock_hz = p.get("sm__cycles_elapsed.avg.per_second");
  k.grid_size = static_cast<int>(p.need("launch__grid_size"));
  k.footprint = {
      .block_size = static_cast<int>(p.need("launch__block_size")),
      .registers_per_thread = static_cast<int>(p.need("launch__registers_per_thread")),
      .static_smem_bytes = static_cast<std::size_t>(p.get("launch__shared_mem_per_block_static")),
      .dynamic_smem_bytes = static_cast<std::size_t>(p.get("launch__shared_mem_per_block_dynamic")),
      .barriers = std::max(1, static_cast<int>(p.get("launch__barrier_count"))),
      .carveout_percent = carveout(sm, p.get("launch__shared_mem_config_size"))};
  const double threads = static_cast<double>(k.grid_size) * k.footprint.block_size;
  const double warps = threads / lanes;

  set_loads(p, threads, k);
  set_stores(p, threads, l2_bytes, k);
  k.facts.flow.layout.bank_conflict = conflict(p.get("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
                                               program.bytes(Pipe::shared_load) / program.iterations, warps);
  k.facts.flow.layout.store_conflict =
      conflict(p.get("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
               program.bytes(Pipe::shared_store) / program.iterations, warps);

  if (k.l1_hit > negligible)
    k.assumptions.push_back("the L1 still serves " + percent(k.l1_hit) + " of the bytes loaded");
  if (k.l2_hit > negligible)
    k.assumptions.push_back("the L2 still serves " + percent(k.l2_hit) + " of the bytes loaded");
  return k;
}

}  // namespace occbench::whatif
