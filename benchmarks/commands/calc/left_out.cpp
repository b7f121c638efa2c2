// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/theory/occupancy/catalogue.hpp"

namespace occbench::commands {
namespace {

/// The compute capabilities on which a block's dynamic shared memory may be as large.
std::string where_it_fits(std::size_t bytes) {
  std::string names;
  for (const std::string& cc : theory::compute_capabilities())
    if (theory::smem_limit_per_block_bytes(theory::find_device("cc" + cc).sm) >= bytes)
      names += (names.empty() ? "it fits on cc " : ", ") + cc;
  return names.empty() ? "no GPU has as much per block" : names;
}

/// What a tool refused, and what to do.
std::string explanation(const binary::ToolError& r) {
  const std::string kernel = r.kernel.empty() ? "" : binary::short_name(r.kernel, name_room) + ": ";
  const std::string need = with_thousands(r.needed), most = with_thousands(r.most);
  const std::string callee = binary::short_name(r.callee, name_room);
  if (r.resource == "shared data")
    return kernel + "cannot launch: " + need + " B of static shared memory exceeds the " + most +
           " B that a kernel may declare; as dynamic shared memory "
           "(cudaFuncAttributeMaxDynamicSharedMemorySize) " +
           where_it_fits(r.needed);
  if (r.resource == "shared memory")
    return "cannot launch: a block needs " + need + " B of shared memory, and may have " + most +
           " B here; smaller tiles or fewer stages (num_stages) need less; " + where_it_fits(r.needed);
  if (r.resource == "threads" || r.resource == "tensor memory")
    return "cannot launch: a block needs " + need +
           (r.resource == "threads" ? " threads" : " columns of tensor memory") + ", and may have " + most;
  if (r.resource == "registers")
    return kernel + "capped at " + most + " registers, and calls " + callee + ", which has " + need +
           ": a cap below that does not link, unless it is compiled with the same cap";
  if (r.resource == "definition")
    return callee + ": no object of the link has it; compile its file with -rdc=true and link that too";
  if (r.resource == "separable compilation")
    return callee + ": it is in another file; compile both with -rdc=true, and link them";
  if (r.resource == "launch")
    return "too many resources requested for launch: registers x threads exceed a block's 65,536 registers; "
           "`occbench calc --block-size N --registers N` tells which size launches";
  if (!r.resource.empty())
    return kernel + need + " B of " + r.resource + ", at most " + most + " B are allowed";
  return r.text;
}

}  // namespace

void print_left_out(const binary::KernelUses& uses, const std::map<std::string, std::size_t>& unknown,
                    const std::string& source) {
  const auto print = [&](const std::string& what) {
    print_wrapped(std::cerr, "occbench: " + source + ": " + printable(what));
  };
  for (const std::string& what : uses.left_out) print("left out: " + what);
  for (const auto& [cc, count] : unknown)
    print("left out: " + count_of(count, "kernel") + " for cc " + cc + ", of which calc knows nothing");
  for (const binary::ToolError& refused : uses.refused) print(explanation(refused));
}

}  // namespace occbench::commands
