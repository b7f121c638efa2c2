// SPDX-License-Identifier: Apache-2.0
// The answers of `occbench calc` to one footprint, a file or a table of them; a source file each.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "benchmarks/commands/calc/columns.hpp"
#include "benchmarks/commands/calc/query.hpp"
#include "harness/binary/kernel_use.hpp"
#include "harness/io/files.hpp"

namespace occbench::commands {

/// --batch, a table of footprints in, with answers out. Prints each row before it waits for the next. A
/// row is one line, so a quote that is never closed costs its own row alone. Throws UserError if the
/// header is invalid.
void run_batch(Descriptor file, const std::string& source, std::ostream& out, const CalcOptions& options,
               const DeviceResolver& resolve);

/// --hide, the warps whose instructions fill the time for which one warp waits. Throws
/// std::invalid_argument on a number out of range or an unknown device.
void print_hiding(std::ostream& out, const CalcOptions& options, const DeviceResolver& resolve);

/// FILE, the output of a compiler or a profiler. Prints a row per kernel; numbers of the command line
/// replace the file's. Returns whether all launch, with `--block-size all` whether each launches with at
/// least one block size. Throws UserError where neither gives a needed number, or no kernel has the name.
bool run_kernels(const binary::KernelUses& uses, const std::string& source, std::ostream& out,
                 const CalcOptions& options, const DeviceResolver& resolve);

/// --page, the calculator as one web page. Writes the page with the query of the command line in its
/// inputs. Throws std::invalid_argument on numbers and devices that calc refuses, UserError(Exit::file)
/// if it cannot be written.
void write_page(const std::string& path, const CalcOptions& options);

/// One footprint. `format`: table, csv or json. With a prediction, CSV also has a row for each cliff,
/// which names its dial.
void print_answer(std::ostream& out, const std::string& format, const CalcDevice& device, const Query& query,
                  const Answer& a, const std::optional<ClassPrediction>& prediction);

/// --tour, the course text's examples beside the hardware.
void print_tour(std::ostream& out);

/// Most characters of a kernel's name in a table and in messages.
inline constexpr std::size_t name_room = 44;

/// Of FILE, on standard error: what was left out, kernels by architectures that calc does not know, and
/// what tools refused and what to do.
void print_left_out(const binary::KernelUses& uses, const std::map<std::string, std::size_t>& unknown,
                    const std::string& source);

/// How a number of an answer follows from the device and the footprint, with the values of this case.
struct Formula {
  const char* name;    ///< of the number, as in the answer's JSON
  std::string text;    ///< "floor(4 x floor(16,384 / 1,280) / 8) = 6 blocks"
  const char* source;  ///< where the rule stands
};

/// Of a footprint that launches; empty for another.
[[nodiscard]] std::vector<Formula> formulas(const theory::SmLimits& sm, const Query& query, const Answer& a);

}  // namespace occbench::commands
