// SPDX-License-Identifier: Apache-2.0
// Cubins, fatbins, archives, objects and programs: refused as a file, or read into kernels that can be, and
// inspect has an answer and its words for each.
#include "harness/binary/binaries.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/commands/inspect/query.hpp"
#include "harness/io/check.hpp"
#include "harness/io/files.hpp"
#include "tests/fuzz/target.hpp"

using namespace occbench;

namespace {

void check(const binary::CompiledKernel& kernel) {
  fuzz::expect(kernel.architecture.starts_with("sm_"), "machine code is for an architecture");
  fuzz::expect(kernel.use.registers_per_thread >= 0, "registers are counted");
  fuzz::expect(kernel.use.block_size.value_or(1) >= 0, "a block is not a negative number of threads");
  fuzz::expect(kernel.launch_bound.value_or(1) >= 0, "a bound is not a negative number of threads");
  fuzz::expect(kernel.use.cluster_size.value_or(1) >= 0, "a cluster is not a negative number of blocks");
  fuzz::expect(kernel.use.barriers.value_or(0) >= 0, "barriers are counted");
  fuzz::expect(binary::short_name(kernel.use.name, 40).size() <= 40, "a name fits its room");
}

/// At the block size that inspect takes by itself, and at one that is given.
void answer(const std::vector<binary::CompiledKernel>& kernels) {
  static commands::Inspector by_itself("", commands::resolve_offline, {}, {});
  static commands::Inspector at_192("", commands::resolve_offline, {.least = 192, .most = 192}, 4096);
  for (commands::Inspector* inspector : {&by_itself, &at_192}) {
    std::vector<commands::InspectedKernel> rows;
    for (const binary::CompiledKernel& kernel : kernels)
      for (commands::InspectedKernel& row : inspector->rows_of(kernel)) rows.push_back(std::move(row));
    for (const commands::InspectedKernel& row : rows) {
      const theory::Occupancy& found = row.answer.occupancy;
      fuzz::expect(found.fraction >= 0 && found.fraction <= 1, "occupancy is a share");
      fuzz::expect(row.largest_block.value_or(1) >= 0, "a block is not a negative number of threads");
    }
    std::ostringstream out;
    if (!rows.empty()) commands::print_inspected(out, "table", "", rows);
    commands::print_all_columns(out, "csv", rows);
    commands::print_all_columns(out, "json", rows);
  }
}

/// A file in memory; its name goes with it.
struct Written {
  Descriptor file{memfd_create("binary", MFD_CLOEXEC)};
  std::string name = "/proc/self/fd/" + std::to_string(file.get());

  Written(const std::uint8_t* data, std::size_t size) {
    fuzz::expect(file.get() >= 0, "there is memory for a file");
    fuzz::expect(write(file.get(), data, size) == static_cast<ssize_t>(size), "a file in memory takes it");
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Written file(data, size);
  try {
    const binary::Contents contents = binary::read_binaries(file.name);
    for (const binary::CompiledKernel& kernel : contents.kernels) check(kernel);
    answer(contents.kernels);
    fuzz::expect(contents.files == 1, "one file is one file");
    for (const std::string& complaint : contents.warnings)
      fuzz::expect(complaint.starts_with("'" + file.name), "a complaint names its file");
  } catch (const UserError& refused) {
    fuzz::expect(refused.code() == Exit::file, "a file is refused as a file");
    fuzz::expect(std::strstr(refused.what(), file.name.c_str()) != nullptr, "a refusal names its file");
  }
  return 0;
}
