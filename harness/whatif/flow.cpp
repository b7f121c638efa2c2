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
constexpr double few = 0.01;  // of all requests or instructions: what is rarer decides nothing

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

void refuse_what_is_outside(const Profile& p, const theory::Program& program) {
  if (const double size = p.get("launch__cluster_size"); size > 1)
    throw Refused("it runs in clusters of " + std::to_string(std::lround(size)) +
                  " blocks, and the network between SMs is outside the model");
  const double atomics = p.get("l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum") +
                         p.get("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum");
  const double others = p.get("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum") +
                        p.get("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum");
  if (atomics > few * (atomics + others))
    throw Refused("atomics are " + percent(atomics / (atomics + others)) +
                  " of its requests to global memory, and outside the model");
  const double instructions = p.get("smsp__inst_executed.sum");
  if (const double shared = p.executed("ATOMS"); instructions > 0 && shared > few * instructions)
    throw Refused("atomics of shared memory are " + percent(shared / instructions) +
                  " of its instructions, and outside the model");
  if (program.count(Pipe::bulk_load) > 0 || p.executed("UBLKCP") + p.executed("UTMALDG") > 0)
    throw Refused("it makes bulk copies, and no counter says how many of them are under way");
}

/// Lines of the L1 that loads touch, over the least that `bytes_per_lane` lie in: at least 1. A wavefront
/// looks four lines up. Some go again while the L1 waits for room: a part of a wavefront over the whole ones
/// is of these. Narrow loads stay within one wavefront however they lie, and sectors tell more of them.
double lines_of(const Profile& p, double bytes_per_lane) {
  constexpr double lines_of_wavefront = 4, line_bytes = 128, nearly = 0.05;
  const double requests = p.get("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum");
  const double wavefronts = p.get("l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum");
  const double least = std::max(1.0, bytes_per_lane * lanes / line_bytes);
  if (requests <= 0 || least < lines_of_wavefront) return 1;
  return std::max(1.0, std::floor(wavefronts / requests + nearly) * lines_of_wavefront / least);
}

/// Cycles of shared memory that the loop's accesses take, over those that as many bytes need.
double conflict(double wavefronts, double bytes_per_lane, double warps) {
  const double least = bytes_per_lane / bank_bytes * warps;
  return least > 0 && wavefronts > 0 ? wavefronts / least : 1;
}

/// The carve-out as a percentage that asks for so many bytes of shared memory.
int carveout(const theory::SmLimits& sm, double bytes) {
  if (bytes <= 0 || sm.smem_per_sm_bytes == 0) return -1;
  return std::min(100, static_cast<int>(100 * bytes / static_cast<double>(sm.smem_per_sm_bytes)));
}

}  // namespace

Kernel kernel_of(const Profile& p, const theory::Program& program, const theory::SmLimits& sm,
                 std::size_t l2_bytes) {
  refuse_what_is_outside(p, program);
  Kernel k{.program = program, .facts = {}, .footprint = {}, .assumed = {}};
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

  // Loads: a sector that is fetched in vain, or once more for another request, brings none of their bytes.
  const double loaded =
      (program.bytes(Pipe::global_load) + program.bytes(Pipe::async_load)) / program.iterations;
  const double asked = p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") * sector_bytes / threads;
  const double hit =
      p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum") * sector_bytes / threads;
  const double missed = std::max(0.0, asked - hit);
  const double loads =
      (program.count(Pipe::global_load) + program.count(Pipe::async_load)) / program.iterations;
  const double from_dram = std::min({loaded, missed, p.need("dram__bytes_read.sum") / threads});
  const double from_l2 = std::min(loaded, missed) - from_dram;
  k.facts.flow.l2_bytes = from_l2;
  if (loaded > 0) {
    k.l1_hit = 1 - (from_dram + from_l2) / loaded;
    k.l2_hit = from_l2 / loaded;
    k.facts.flow.layout.lines = std::max(asked / loaded, lines_of(p, loaded / loads));
  }

  // Stores: those of the loop, and those behind it, told apart by requests: a store that fills its sectors by
  // halves sends as many as one of twice its bytes. What is still in the L2 at the end is on its way.
  const double stored = program.bytes(Pipe::global_store) / program.iterations;
  const double sent = p.need("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum") * sector_bytes / threads;
  const double requests = p.need("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum") / warps;
  const double behind = std::max(0.0, requests - program.count(Pipe::global_store) / program.iterations);
  const double once = behind > few * requests ? sent * behind / requests : 0;
  const double all = std::min(sent, stored + once);
  const double under_way = sent * threads > static_cast<double>(l2_bytes) ? static_cast<double>(l2_bytes) : 0;
  const double to_dram =
      all > 0 ? std::clamp((p.need("dram__bytes_write.sum") + under_way) / (all * threads), 0.0, 1.0) : 0;
  k.facts.dram_bytes = from_dram + stored * to_dram;
  if (k.facts.dram_bytes > 0 && stored == 0) k.facts.once_bytes = once * to_dram;

  k.facts.flow.layout.bank_conflict = conflict(p.get("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
                                               program.bytes(Pipe::shared_load) / program.iterations, warps);
  k.facts.flow.layout.store_conflict =
      conflict(p.get("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
               program.bytes(Pipe::shared_store) / program.iterations, warps);

  if (k.l1_hit > few)
    k.assumed.push_back("the L1 goes on to answer " + percent(k.l1_hit) + " of the bytes loaded");
  if (k.l2_hit > few)
    k.assumed.push_back("the L2 goes on to answer " + percent(k.l2_hit) + " of the bytes loaded");
  return k;
}

}  // namespace occbench::whatif
