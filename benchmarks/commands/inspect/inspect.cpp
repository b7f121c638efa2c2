// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <occbench/program.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "benchmarks/commands/cards.hpp"
#include "benchmarks/commands/external.hpp"
#include "benchmarks/commands/inspect/columns.hpp"
#include "benchmarks/commands/inspect/condition.hpp"
#include "benchmarks/commands/inspect/diff.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/commands/inspect/query.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/binary/binaries.hpp"
#include "harness/io/check.hpp"
#include "harness/io/join.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t names_in_error = 5;
using Kernels = std::set<const binary::CompiledKernel*>;

struct InspectOptions {
  std::vector<std::string> files;
  bool diff = false, ignore_unreadable = false;
  std::string kernel, architecture, device, block_size, dynamic_smem, sort, fail_on;
  std::optional<std::string> lines, price, executed;
  std::string format = "table";
};

/// What is compared or listed: files, their selected kernels, and a row for each.
struct Side {
  std::string name;  ///< "'libx.so'", "3 files"
  std::set<std::string> ptx;
  std::vector<std::string> errors;
  std::vector<binary::CompiledKernel> kernels;
  std::vector<InspectedKernel> rows;

  [[nodiscard]] std::string title() const {
    std::set<std::string> architectures, devices;
    for (const InspectedKernel& row : rows) {
      architectures.insert(row.kernel->architecture);
      if (row.device != nullptr) devices.insert(row.device->facts.name);
    }
    return name + ": " + count_of(kernels.size(), "kernel") + " for " + join(architectures) +
           (ptx.empty() ? "" : " and PTX for " + join(ptx)) +
           (devices.empty() ? "" : "; occupancy on " + join(devices));
  }
};

Side read_side(const std::vector<std::string>& files) {
  Side side;
  side.name = files.size() == 1 ? "'" + files.front() + "'" : count_of(files.size(), "file");
  bool has_link_time_code = false;
  for (const std::string& file : files) {
    try {
      binary::Contents contents = binary::read_binaries(file);
      std::ranges::move(contents.kernels, std::back_inserter(side.kernels));
      std::ranges::move(contents.warnings, std::back_inserter(side.errors));
      side.ptx.merge(contents.ptx);
      has_link_time_code = has_link_time_code || contents.has_link_time_code;
    } catch (const UserError& refused) {
      side.errors.emplace_back(refused.what());
    }
  }
  if (!side.kernels.empty()) return side;
  if (!side.errors.empty()) throw UserError(Exit::file, join_first(side.errors, 1));
  if (has_link_time_code)
    throw UserError(Exit::file, side.name + " has only code for the device linker; give the linked file");
  throw UserError(Exit::file, side.name + " has PTX for " + join(side.ptx) +
                                  " and no machine code; `nvcc -cubin` compiles PTX");
}

/// Selects kernels by the options, and adds their rows.
void add_rows(Side& side, const InspectOptions& o, Inspector& inspector) {
  std::set<std::string> names, architectures;
  for (const binary::CompiledKernel& kernel : side.kernels) {
    names.insert(table_name(kernel));
    architectures.insert(kernel.architecture);
  }
  const auto keep = [&](const auto& is_selected, const std::string& error) {
    std::erase_if(side.kernels, [&](const auto& kernel) { return !is_selected(kernel); });
    if (side.kernels.empty()) throw UserError(Exit::usage, side.name + ": " + error);
  };
  keep([&](const auto& k) { return binary::demangle(k.use.name).find(o.kernel) != std::string::npos; },
       "no kernel has '" + o.kernel + "' in its name; there are " +
           join_first({names.begin(), names.end()}, names_in_error));
  const std::string wanted = o.architecture.starts_with("sm_") ? o.architecture : "sm_" + o.architecture;
  if (!o.architecture.empty())
    keep([&](const auto& k) { return k.architecture == wanted; },
         "no code for " + wanted + "; it has code for " + join(architectures));
  keep([&](const auto& k) { return inspector.runs(k); },
       "none of its code runs on --device; it has code for " + join(architectures));
  for (const binary::CompiledKernel& kernel : side.kernels)
    std::ranges::move(inspector.rows_of(kernel), std::back_inserter(side.rows));
}

/// Largest first, text by the alphabet, unknown last. Rows of one kernel stay together.
void sort_rows(std::vector<InspectedKernel>& rows, const std::string& name) {
  const InspectColumn& column = inspect_column(name);
  std::map<const binary::CompiledKernel*, Value> keys;  // of each kernel's first row
  for (const InspectedKernel& row : rows) keys.try_emplace(row.kernel, column.value(row));
  std::ranges::stable_sort(rows, [&](const InspectedKernel& a, const InspectedKernel& b) {
    const Value &left = keys[a.kernel], &right = keys[b.kernel];
    if (left.index() == 0 || right.index() == 0) return left.index() > right.index();
    return column.type == Type::number ? left > right : left < right;
  });
}

std::optional<Condition> condition_of(const InspectOptions& o) {
  if (o.fail_on.empty()) return std::nullopt;
  return Condition(o.fail_on, [&](const std::string& name) {
    const bool is_old = o.diff && name.starts_with(old_prefix);
    const std::string column = name.substr(is_old ? old_prefix.size() : 0);
    if (inspect_column(column).type != Type::number)
      throw std::invalid_argument("--fail-on: column '" + column + "' holds text, not numbers");
  });
}

/// Prints the kernels that meet the condition; returns whether there are any.
bool print_failing(const std::string& condition, const Kernels& failing) {
  if (failing.empty()) return false;
  std::set<std::string> names;
  for (const binary::CompiledKernel* kernel : failing) names.insert(table_name(*kernel));
  std::cerr << "occbench: --fail-on '" << condition << "' is true for " << count_of(names.size(), "kernel")
            << ": " << printable(join_first({names.begin(), names.end()}, names_in_error)) << '\n';
  return true;
}

/// Prints what could not be read, the first of it; returns whether there is any.
bool print_errors(const std::vector<Side>& sides) {
  constexpr std::size_t max_lines = 20;
  std::size_t count = 0;
  for (const Side& side : sides)
    for (const std::string& error : side.errors)
      if (++count <= max_lines) print_wrapped(std::cerr, "occbench: " + printable(error));
  if (count > 1)
    print_wrapped(std::cerr,
                  "occbench: " + with_thousands(count) +
                      " files, folders or parts could not be read; --ignore-unreadable accepts that");
  return count > 0;
}

/// The kernels that meet the condition.
Kernels failing_of(std::span<const KernelPair> kernels, const std::optional<Condition>& condition) {
  Kernels failing;
  if (!condition) return failing;
  for (const KernelPair& c : kernels)
    if (condition->is_true(lookup_in(c))) failing.insert(&c.kernel());
  return failing;
}

/// What `sides` have: the difference of two, or the kernels of one.
struct Answer {
  Difference difference;
  std::vector<KernelPair> kernels;  ///< that are new or have changed
  Kernels failing;
};

Answer answer_of(const InspectOptions& o, const std::vector<Side>& sides,
                 const std::optional<Condition>& condition) {
  Answer answer;
  if (o.diff) {
    answer.difference = difference(sides[0].rows, sides[1].rows);
    answer.kernels = answer.difference.changed;
    std::ranges::copy(answer.difference.only_after, std::back_inserter(answer.kernels));
  } else {
    for (const InspectedKernel& row : sides[0].rows) answer.kernels.push_back({.after = &row});
  }
  answer.failing = failing_of(answer.kernels, condition);
  return answer;
}

void print_answer(std::ostream& out, const InspectOptions& o, const std::vector<Side>& sides,
                  const Answer& answer) {
  if (o.format == "sarif") {
    std::vector<std::string> errors;
    for (const Side& side : sides) std::ranges::copy(side.errors, std::back_inserter(errors));
    print_sarif(out, answer.kernels, o.fail_on, answer.failing, errors);
  } else if (o.diff) {
    print_difference(out, o.format, printable(sides[0].name + " -> " + sides[1].name), answer.difference);
  } else if (o.format == "table" || o.format == "markdown") {
    print_inspected(out, o.format, printable(sides[0].title()), sides[0].rows);
  } else {
    print_all_columns(out, o.format, sides[0].rows);
  }
}

/// Keeps the one kernel whose whole name is `name`, if there is one: others may have it in theirs.
void prefer_whole_name(std::vector<InspectedKernel>& rows, const std::string& name) {
  const auto is_other = [&](const InspectedKernel& row) {
    const std::string& symbol = row.kernel->use.name;
    return binary::demangle(symbol) != name && binary::short_name(symbol, std::string::npos) != name;
  };
  if (std::ranges::count_if(rows, std::not_fn(is_other)) == 1) std::erase_if(rows, is_other);
}

/// Gives the one kernel that --lines means to the tool that reads its listing.
[[noreturn]] void execute_lines(const InspectOptions& o, Side& side) {
  prefer_whole_name(side.rows, o.kernel);
  if (side.rows.size() != 1) {
    std::set<std::string> names;
    for (const InspectedKernel& row : side.rows)
      names.insert(table_name(*row.kernel) + " (" + row.kernel->architecture + ")");
    throw UserError(Exit::usage, "--lines '" + o.kernel + "' means " + count_of(names.size(), "kernel") +
                                     ": " + join_first({names.begin(), names.end()}, names_in_error) +
                                     "; name more of one, or its --arch");
  }
  if (print_errors({side}) && !o.ignore_unreadable)
    throw UserError(Exit::file, "--lines needs files that can be read");
  std::ostringstream row;
  print_all_columns(row, "json", side.rows);
  const binary::CompiledKernel& kernel = *side.rows.front().kernel;
  const std::string format = o.format == "json" ? "json" : "table";
  std::vector<std::string> arguments = {kernel.file, kernel.use.name, row.str(), "--format", format};
  if (o.executed) arguments.insert(arguments.end(), {"--executed", *o.executed});
  execute_external("inspect-lines", arguments, {});
}

/// Gives the files to the tool that reads their listings beside the folder of `occbench attach`.
[[noreturn]] void execute_price(const InspectOptions& o) {
  if (o.lines || o.diff || !o.fail_on.empty() || (o.format != "table" && o.format != "json"))
    throw UserError(Exit::usage, "--price goes with FILE and --format json alone");
  std::vector<std::string> arguments = {*o.price};
  std::ranges::copy(o.files, std::back_inserter(arguments));
  arguments.insert(arguments.end(), {"--format", o.format});
  execute_external("inspect-price", arguments, {});
}

Exit run(const InspectOptions& o, std::ostream& out) {
  if (o.device == "list") {
    print_cards(out);
    return Exit::ok;
  }
  if (o.files.empty()) throw UserError(Exit::usage, "inspect needs FILE");
  const std::optional<Condition> condition = condition_of(o);
  if (!o.sort.empty()) static_cast<void>(inspect_column(o.sort));
  if (o.executed && !o.lines) throw UserError(Exit::usage, "--executed goes with --lines");
  if (o.price) execute_price(o);
  if (o.diff && o.files.size() != 2) throw UserError(Exit::usage, "--diff takes two files: OLD NEW");
  std::optional<std::size_t> dynamic_smem;
  if (!o.dynamic_smem.empty())
    dynamic_smem = static_cast<std::size_t>(parse_size(o.dynamic_smem, "--dynamic-smem", 0, 1 << 30));
  const BlockSizes sizes = parse_block_sizes(o.block_size);
  if (o.diff && sizes.is_range) throw UserError(Exit::usage, "--diff takes one block size");
  if (o.format == "sarif" && (o.lines || sizes.is_range))
    throw UserError(Exit::usage, "--format sarif goes without --lines, and takes one block size");
  if (o.lines && (o.diff || sizes.is_range || !o.fail_on.empty()))
    throw UserError(Exit::usage, "--lines goes with neither --diff nor --fail-on, and takes one block size");
  Inspector inspector(o.device, resolve_offline, sizes, dynamic_smem);

  std::vector<Side> sides;
  if (o.diff) {
    for (const std::string& file : o.files) sides.push_back(read_side({file}));
  } else {
    sides.push_back(read_side(o.files));
  }
  for (Side& side : sides) add_rows(side, o, inspector);
  if (o.lines) execute_lines(o, sides[0]);
  if (!o.diff && !o.sort.empty()) sort_rows(sides[0].rows, o.sort);
  const Answer answer = answer_of(o, sides, condition);
  print_answer(out, o, sides, answer);
  if (!out.flush()) throw UserError(Exit::file, "standard output could not be written");
  const bool is_failing = print_failing(o.fail_on, answer.failing);
  if (print_errors(sides) && !o.ignore_unreadable) return Exit::file;
  return is_failing ? Exit::some_case_failed : Exit::ok;
}

void define_inspect(CLI::App& command, Invocation& invocation) {
  const auto o = std::make_shared<InspectOptions>();
  const auto add = [&](const char* name, std::string& value, const char* help, const char* type) {
    command.add_option(name, value, help)->type_name(type);
  };
  command
      .add_option(
          "FILE", o->files,
          "Programs, libraries, objects, archives, cubins, fatbins, wheels, zip or tar files, or folders "
          "of them")
      ->type_name("FILE");
  command.add_flag("--diff", o->diff, "What changed from the first FILE to the second, kernel by kernel");
  add("--kernel", o->kernel, "Only kernels with this in their demangled name", "TEXT");
  command
      .add_option("--lines", o->lines,
                  "The source lines that hold the registers of the one kernel with this in its demangled "
                  "name, and those "
                  "that "
                  "spill; wants a build with -lineinfo")
      ->type_name("KERNEL");
  command
      .add_option("--executed", o->executed,
                  "With --lines: how often its instructions and spills were executed, of what `ncu --import "
                  "REPORT --page source --csv` prints")
      ->type_name("CSV");
  command
      .add_option("--price", o->price,
                  "What the registers of each line cost the program that `occbench attach` measured in this "
                  "folder; FILE is its binary")
      ->type_name("DIR");
  add("--arch", o->architecture, "Only code for this architecture: sm_90, sm_90a", "NAME");
  add("--device", o->device,
      "Occupancy on this GPU (h200, a100, ccX.Y), of the code that runs there; `list` lists the names "
      "(default: on a GPU of each code's own architecture)",
      "NAME");
  add("--block-size", o->block_size,
      "Threads per block: N, or a range A..B or all, ranked (default: the one nearest to 256 with the "
      "highest "
      "occupancy, or the kernel's own)",
      "N");
  add("--dynamic-smem", o->dynamic_smem, "Dynamic shared memory per block, bytes (48K)", "N");
  add("--sort", o->sort, "By a column of --format csv, the largest first", "COLUMN");
  add("--fail-on", o->fail_on,
      "Exit with 1 if this is true for a kernel: 'spill_bytes>0 or occupancy<0.5'; columns of --format csv, "
      "and with --diff old_COLUMN",
      "CONDITION");
  command.add_flag("--ignore-unreadable", o->ignore_unreadable,
                   "Skip files and folders that cannot be read, with a warning (default: exit with 4)");
  command.add_option("--format", o->format, "table, markdown, csv, json or sarif, which code review reads")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json", "sarif"}));
  command.callback([o, &invocation] {
    if (o->lines) o->kernel = *o->lines;
    invocation.exit_code = static_cast<int>(run(*o, std::cout));
  });
}

}  // namespace

extern const Command inspect_command{
    .name = "inspect",
    .group = "Your kernel",
    .description = "Registers, spills and occupancy of every kernel in a binary; needs no GPU",
    .footer =
        "Example\n"
        "  occbench inspect build/app --block-size 256\n"
        "  occbench inspect libkernels.so --arch sm_90 --sort spill_bytes\n"
        "  occbench inspect build/app --lines attention\n"
        "  occbench inspect build/app --price results/attach/app\n"
        "  occbench inspect --diff old.so new.so --fail-on 'occupancy<old_occupancy'\n"
        "  occbench inspect --diff old.so new.so --format sarif > review.sarif",
    .define = define_inspect,
};

}  // namespace occbench::commands
