// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"

namespace occbench::commands {
namespace {

constexpr const char* guide = "CUDA C++ Programming Guide, Technical Specifications per Compute Capability";
constexpr const char* header = "cuda_occupancy.h of the CUDA toolkit";
constexpr const char* course = "PMPP (Hwu, Kirk, El Hajj), 4th edition, sections 4.7 and 5.6";
constexpr const char* ours = "occbench, docs/occupancy";

/// "a x b"; the words around it are put on by the caller.
std::string quotient(std::int64_t of, std::int64_t by) {
  return "floor(" + with_thousands(of) + " / " + with_thousands(by) + ")";
}

std::string blocks(int number) {
  return " = " + std::to_string(number) + (number == 1 ? " block" : " blocks");
}

void add_registers(std::vector<Formula>& all, const theory::SmLimits& sm, const theory::Footprint& f,
                   const theory::Occupancy& o) {
  if (!o.register_limit) return;
  const int warps = theory::warps_per_block(sm, f);
  const int per_warp = o.allocated_registers_per_block / warps;
  const int files = sm.cc_major == 6 && sm.cc_minor == 0 ? 2 : 4;  // of an SM: one per scheduler
  all.push_back({"allocated_registers_per_block",
                 std::to_string(warps) + " x ceil(" + with_thousands(f.registers_per_thread) +
                     " x 32 / 256) x 256 = " + std::to_string(warps) + " x " + with_thousands(per_warp) +
                     " = " + with_thousands(o.allocated_registers_per_block) + " registers",
                 header});
  all.push_back({"registers",
                 "floor(" + std::to_string(files) + " x " + quotient(sm.registers_per_sm / files, per_warp) +
                     " / " + std::to_string(warps) + ")" + blocks(*o.register_limit),
                 header});
}

void add_smem(std::vector<Formula>& all, const theory::SmLimits& sm, const theory::Footprint& f,
              const theory::Occupancy& o) {
  if (!o.smem_limit) return;
  const std::int64_t step = sm.cc_major >= 8 ? 128 : 256;
  const std::string reserved = with_thousands(sm.smem_reserved_per_block_bytes);
  all.push_back({"allocated_smem_per_block_bytes",
                 "ceil((" + with_thousands(f.static_smem_bytes) + " + " +
                     with_thousands(f.dynamic_smem_bytes) + " + " + reserved + ") / " + std::to_string(step) +
                     ") x " + std::to_string(step) + " = " +
                     with_thousands(o.allocated_smem_per_block_bytes) + " B",
                 header});
  all.push_back({"shared_memory",
                 quotient(static_cast<std::int64_t>(theory::smem_capacity_bytes(sm, f)),
                          static_cast<std::int64_t>(o.allocated_smem_per_block_bytes)) +
                     blocks(*o.smem_limit),
                 header});
}

void add_grid(std::vector<Formula>& all, const theory::SmLimits& sm, const Answer& a) {
  if (!a.grid) return;
  const theory::GridFill& grid = *a.grid;
  all.push_back({"waves",
                 with_thousands(grid.blocks) + " / " + with_thousands(grid.wave_blocks) + " = " +
                     significant(grid.waves) + " waves of " + with_thousands(grid.wave_blocks) + " blocks",
                 ours});
  all.push_back({"idle_sms",
                 "max(" + std::to_string(sm.sm_count) + " - " + with_thousands(grid.blocks) +
                     ", 0) = " + std::to_string(grid.idle_sms) + " SMs",
                 ours});
  if (grid.tail_share > 0)
    all.push_back({"tail_share",
                   "100 / ceil(" + with_thousands(grid.blocks) + " / " + with_thousands(grid.wave_blocks) +
                       ") = " + percent(grid.tail_share) + " of the time",
                   ours});
}

}  // namespace

std::vector<Formula> formulas(const theory::SmLimits& sm, const Query& query, const Answer& a) {
  std::vector<Formula> all;
  const theory::Occupancy& o = a.occupancy;
  if (!o.is_launchable()) return all;
  const theory::Footprint& f = query.footprint;
  const int warps = theory::warps_per_block(sm, f);
  all.push_back({"warps_per_block",
                 "ceil(" + with_thousands(f.block_size) + " / 32) = " + std::to_string(warps) +
                     (warps == 1 ? " warp" : " warps"),
                 guide});
  if (o.warp_limit)
    all.push_back({"warps", quotient(sm.max_warps_per_sm(), warps) + blocks(*o.warp_limit), guide});
  if (o.block_limit) all.push_back({"blocks", quotient(*o.block_limit, 1) + blocks(*o.block_limit), guide});
  add_registers(all, sm, f, o);
  add_smem(all, sm, f, o);
  if (const auto barriers = theory::barriers_per_sm(sm); o.barrier_limit && barriers && f.barriers > 0)
    all.push_back({"barriers", quotient(*barriers, f.barriers) + blocks(*o.barrier_limit), header});
  std::string limits;
  for (const auto& limit : {o.warp_limit, o.block_limit, o.register_limit, o.smem_limit, o.barrier_limit})
    if (limit) limits += (limits.empty() ? "" : ", ") + std::to_string(*limit);
  all.push_back({"blocks_per_sm", "min(" + limits + ")" + blocks(o.blocks_per_sm), header});
  all.push_back({"warps_per_sm",
                 std::to_string(o.blocks_per_sm) + " x " + std::to_string(warps) + " = " +
                     std::to_string(o.warps_per_sm) + " warps",
                 header});
  all.push_back({"occupancy",
                 "100 x " + std::to_string(o.warps_per_sm) + " / " + std::to_string(sm.max_warps_per_sm()) +
                     " = " + percent(o.fraction),
                 guide});
  all.push_back({"occupancy_textbook",
                 "plain division of what an SM has by what a block uses, without rounding and reserves = " +
                     percent(theory::textbook_occupancy(sm, f)),
                 course});
  add_grid(all, sm, a);
  return all;
}

}  // namespace occbench::commands
