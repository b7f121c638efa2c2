// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {
namespace {

struct Stop {
  const char* claim;
  const char* device;
  theory::Footprint footprint;
  const char* why;
};

// PMPP: Hwu, Kirk, El Hajj, 'Programming Massively Parallel Processors', 4th ed., sections 4.7 and 5.6.
constexpr Stop stops[] = {
    {"32 threads per block",
     "a100",
     {.block_size = 32, .registers_per_thread = 32},
     "32 block slots x 1 warp: slots run out first"},
    {"256 threads per block",
     "a100",
     {.block_size = 256, .registers_per_thread = 32},
     "8 blocks fill all 64 warps with all 65,536 registers"},
    {"768 threads per block",
     "a100",
     {.block_size = 768, .registers_per_thread = 32},
     "2 blocks leave 512 threads that no third one fits"},
    {"96 threads per block",
     "a100",
     {.block_size = 96, .registers_per_thread = 32},
     "21 blocks of 3 warps; one warp slot stays empty"},
    {"31 registers, 512 threads",
     "a100",
     {.block_size = 512, .registers_per_thread = 31},
     "rounded up to 32 registers, which still fit 4 blocks"},
    {"33 registers, 512 threads",
     "a100",
     {.block_size = 512, .registers_per_thread = 33},
     "two registers more cost a block of four: the text's cliff"},
    {"33 registers, 256 threads",
     "a100",
     {.block_size = 256, .registers_per_thread = 33},
     "a warp gets 40 x 32 registers: 12 warps per register file"},
    {"33 registers, 64 threads",
     "a100",
     {.block_size = 64, .registers_per_thread = 33},
     "the same 48 warps, however they are cut into blocks"},
    {"64 registers, 128 threads",
     "a100",
     {.block_size = 128, .registers_per_thread = 64},
     "64 registers never allow more than half of the threads"},
    {"32 KiB shared, 256 threads",
     "a100",
     {.block_size = 256, .registers_per_thread = 32, .dynamic_smem_bytes = 32768},
     "1 KiB more is reserved per block: 33 x 5 > 164 (in print: 62 %)"},
    {"32 KiB shared, 256 threads",
     "h200",
     {.block_size = 256, .registers_per_thread = 32, .dynamic_smem_bytes = 32768},
     "33 KiB x 6 of 228 KiB"},
    {"200 registers, 320 threads", "h200", {.block_size = 320, .registers_per_thread = 200}, ""},
    {"16 barriers, 64 threads",
     "h200",
     {.block_size = 64, .registers_per_thread = 32, .barriers = 16},
     "a barrier id unknown at compile time reserves 16 of the SM's 64"},
};

std::string aligned_percent(double fraction) {
  char text[16];
  std::snprintf(text, sizeof text, "%5.1f %%", 100 * fraction);
  return text;
}

}  // namespace

void print_tour(std::ostream& out) {
  const auto line = [&](const char* claim, const char* device, const std::string& text,
                        const std::string& exact, const std::string& blocks, const std::string& why) {
    char cells[128];
    std::snprintf(cells, sizeof cells, "%-27s %-6s %8s %8s %7s  ", claim, device, text.c_str(), exact.c_str(),
                  blocks.c_str());
    print_wrapped(out, why, cells);
  };
  print_wrapped(
      out, "Occupancy by the course text's plain division (PMPP 4.7, 5.6) and as the hardware allocates:");
  out << '\n';
  line("footprint", "device", "text", "exact", "blocks", "why");
  for (const Stop& stop : stops) {
    const theory::SmLimits sm = theory::find_device(stop.device).sm;
    const theory::Occupancy exact = theory::occupancy(sm, stop.footprint);
    line(stop.claim, stop.device, aligned_percent(theory::textbook_occupancy(sm, stop.footprint)),
         aligned_percent(exact.fraction), std::to_string(exact.blocks_per_sm),
         exact.is_launchable() ? stop.why : "cannot launch: " + exact.launch_error);
  }
  out << "\nTry your own:\n"
         "  occbench calc --device h200 --block-size 256 --registers 40 --dynamic-smem 16K\n";
}

}  // namespace occbench::commands
