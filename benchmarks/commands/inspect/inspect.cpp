// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/inspect/inspect.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "benchmarks/commands/inspect/columns.hpp"
#include "benchmarks/commands/inspect/condition.hpp"
#include "benchmarks/commands/inspect/diff.hpp"
#include "benchmarks/commands/inspect/print.hpp"
#include "benchmarks/commands/inspect/query.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/table.hpp"
#include "harness/binary/binaries.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {
namespace {

constexpr std::size_t names_in_error = 5;

struct InspectOptions {
  std::vector<std::string> files;
  bool diff = false, ignore_unreadable = false;
  std::string kernel, architecture, device, block_size, dynamic_smem, sort, fail_on;
  std::string format = "table";
};

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string counted(std::size_t count, const std::string& what) {
  return grouped(count) + " " + what + (count == 1 ? "" : "s");
}

/// One side of the call: its files' kernels, those that are asked for, and what is said of them.
struct Side {
  std::string name;  ///< "'libx.so'", "3 files"
  std::set<std::string> ptx;
  std::vector<std::string> complaints;
  std::vector<binary::CompiledKernel> kernels;
  std::vector<Inspected> rows;

  [[nodiscard]] std::string title() const {
    std::set<std::string> architectures, devices;
    for (const Inspected& row : rows) {
      architectures.insert(row.kernel->architecture);
      if (row.device != nullptr) devices.insert(row.device->facts.name);
    }
    return name + ": " + counted(kernels.size(), "kernel") + " for " + joined(architectures) +
           (ptx.empty() ? "" : " and PTX for " + joined(ptx)) +
           (devices.empty() ? "" : "; occupancy on " + joined(devices));
  }
};

Side read_side(const std::vector<std::string>& files) {
  Side side;
  side.name = files.size() == 1 ? "'" + files.front() + "'" : counted(files.size(), "file");
  bool has_link_time_code = false;
  for (const std::string& file : files) {
    try {
      binary::Contents contents = binary::read_binaries(file);
      std::ranges::move(contents.kernels, std::back_inserter(side.kernels));
      std::ranges::move(contents.complaints, std::back_inserter(side.complaints));
      side.ptx.merge(contents.ptx);
      has_link_time_code = has_link_time_code || contents.has_link_time_code;
    } catch (const UserError& refused) {
      side.complaints.emplace_back(refused.what());
    }
  }
  if (!side.kernels.empty()) return side;
  if (!side.complaints.empty()) throw UserError(Exit::file, listed(side.complaints, 1));
  if (has_link_time_code)
    throw UserError(Exit::file,
                    side.name + " holds code for the device linker alone; name what it was linked to");
  throw UserError(Exit::file, side.name + " holds PTX for " + joined(side.ptx) +
                                  " and no machine code; `nvcc -cubin` makes it of PTX");
}

/// Keeps what is asked for, and answers for it.
void answer_for(Side& side, const InspectOptions& o, Inspector& inspector) {
  std::set<std::string> names, architectures;
  for (const binary::CompiledKernel& kernel : side.kernels) {
    names.insert(table_name(kernel));
    architectures.insert(kernel.architecture);
  }
  const auto keep = [&](const auto& is_asked, const std::string& complaint) {
    std::erase_if(side.kernels, [&](const auto& kernel) { return !is_asked(kernel); });
    if (side.kernels.empty()) throw UserError(Exit::usage, side.name + ": " + complaint);
  };
  keep([&](const auto& k) { return binary::demangled(k.use.name).find(o.kernel) != std::string::npos; },
       "no kernel's name holds '" + o.kernel + "'; it has " +
           listed({names.begin(), names.end()}, names_in_error));
  const std::string wanted = o.architecture.starts_with("sm_") ? o.architecture : "sm_" + o.architecture;
  if (!o.architecture.empty())
    keep([&](const auto& k) { return k.architecture == wanted; },
         "no code for " + wanted + "; it has some for " + joined(architectures));
  keep([&](const auto& k) { return inspector.runs(k); },
       "none of its code runs on the device asked for; it has some for " + joined(architectures));
  for (const binary::CompiledKernel& kernel : side.kernels)
    std::ranges::move(inspector.rows_of(kernel), std::back_inserter(side.rows));
}

/// Largest first, or by the alphabet; what is not known comes last. Rows of one kernel stay together.
void sort_rows(std::vector<Inspected>& rows, const std::string& name) {
  const InspectColumn& column = inspect_column(name);
  std::map<const binary::CompiledKernel*, Value> keys;  // of each kernel's first row
  for (const Inspected& row : rows) keys.try_emplace(row.kernel, column.of(row));
  std::ranges::stable_sort(rows, [&](const Inspected& a, const Inspected& b) {
    const Value &left = keys[a.kernel], &right = keys[b.kernel];
    if (left.index() == 0 || right.index() == 0) return left.index() > right.index();
    return column.is_number ? left > right : left < right;
  });
}

std::optional<double> number_of(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

std::optional<Condition> condition_of(const InspectOptions& o) {
  if (o.fail_on.empty()) return std::nullopt;
  return Condition(o.fail_on, [&](const std::string& name) {
    const bool is_old = o.diff && name.starts_with(old_prefix);
    const std::string column = name.substr(is_old ? old_prefix.size() : 0);
    if (!inspect_column(column).is_number)
      throw std::invalid_argument("--fail-on: column '" + column + "' holds words, not numbers");
  });
}

/// Says of which kernels the condition holds; whether of any.
bool fails(const std::string& condition, const std::set<std::string>& names) {
  if (names.empty()) return false;
  std::cerr << "occbench: --fail-on '" << condition << "' holds of " << counted(names.size(), "kernel")
            << ": " << printable(listed({names.begin(), names.end()}, names_in_error)) << '\n';
  return true;
}

/// Names what could not be read, or the first of it; whether there is any.
bool complain(const std::vector<Side>& sides) {
  constexpr std::size_t most_lines = 20;
  std::size_t count = 0;
  for (const Side& side : sides)
    for (const std::string& complaint : side.complaints)
      if (++count <= most_lines) print_wrapped(std::cerr, "occbench: " + printable(complaint));
  if (count > 1)
    print_wrapped(std::cerr,
                  "occbench: " + grouped(count) +
                      " files, folders or parts could not be read; --ignore-unreadable takes the rest "
                      "for all");
  return count > 0;
}

/// What it has to say to scripts.
Exit run(const InspectOptions& o, const DeviceResolver& resolve, std::ostream& out) {
  const std::optional<Condition> condition = condition_of(o);
  if (!o.sort.empty()) static_cast<void>(inspect_column(o.sort));
  if (o.diff && o.files.size() != 2) throw UserError(Exit::usage, "--diff takes two files: OLD NEW");
  std::optional<std::size_t> dynamic_smem;
  if (!o.dynamic_smem.empty())
    dynamic_smem = static_cast<std::size_t>(parse_size(o.dynamic_smem, "--dynamic-smem", 0, 1 << 30));
  const BlockSizes sizes = parse_block_sizes(o.block_size);
  if (o.diff && sizes.is_range) throw UserError(Exit::usage, "--diff takes one block size");
  Inspector inspector(o.device, resolve, sizes, dynamic_smem);

  std::vector<Side> sides;
  if (o.diff) {
    for (const std::string& file : o.files) sides.push_back(read_side({file}));
  } else {
    sides.push_back(read_side(o.files));
  }
  for (Side& side : sides) answer_for(side, o, inspector);

  std::set<std::string> failing;
  const bool is_for_people = o.format == "table" || o.format == "markdown";
  if (o.diff) {
    const Difference d = difference(sides[0].rows, sides[1].rows);
    print_difference(out, o.format, printable(sides[0].name + " -> " + sides[1].name), d);
    if (condition)
      for (const auto* changed : {&d.changed, &d.only_after})
        for (const Changed& c : *changed)
          if (condition->holds(lookup_in(c))) failing.insert(table_name(c.kernel()));
  } else {
    std::vector<Inspected>& rows = sides[0].rows;
    if (!o.sort.empty()) sort_rows(rows, o.sort);
    if (is_for_people)
      print_inspected(out, o.format, printable(sides[0].title()), rows);
    else
      print_all_columns(out, o.format, rows);
    if (condition)
      for (const Inspected& row : rows)
        if (condition->holds(
                [&](const std::string& name) { return number_of(inspect_column(name).of(row)); }))
          failing.insert(table_name(*row.kernel));
  }
  if (!out.flush()) throw UserError(Exit::file, "standard output could not be written");
  const bool holds = fails(o.fail_on, failing);
  if (complain(sides) && !o.ignore_unreadable) return Exit::file;
  return holds ? Exit::some_case_failed : Exit::ok;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code, DeviceResolver resolve) {
  CLI::App* inspect = app.add_subcommand(
      "inspect", "Registers, spills and occupancy of every kernel in a binary; needs no GPU");
  inspect->group("Your kernel")
      ->footer(
          "Example\n"
          "  occbench inspect build/app --block-size 256\n"
          "  occbench inspect libkernels.so --arch sm_90 --sort spill_bytes\n"
          "  occbench inspect --diff old.so new.so --fail-on 'occupancy<old_occupancy'");
  const auto o = std::make_shared<InspectOptions>();
  inspect
      ->add_option("FILE", o->files,
                   "Programs, libraries, objects, archives, cubins, fatbins, or folders of them")
      ->type_name("FILE")
      ->required();
  inspect->add_flag("--diff", o->diff, "What changed from the first FILE to the second, kernel by kernel");
  inspect->add_option("--kernel", o->kernel, "Only kernels with this in their name, demangled")
      ->type_name("TEXT");
  inspect->add_option("--arch", o->architecture, "Only code for this architecture: sm_90, sm_90a")
      ->type_name("NAME");
  inspect
      ->add_option("--device", o->device,
                   "Occupancy on this GPU (h200, a100, ccX.Y), of the code that runs there (default: on a "
                   "GPU of each code's own architecture)")
      ->type_name("NAME");
  inspect
      ->add_option("--block-size", o->block_size,
                   "Threads per block: N, a range A..B or all, ranked (default: the one nearest to 256 with "
                   "the highest occupancy, or the kernel's own)")
      ->type_name("N");
  inspect->add_option("--dynamic-smem", o->dynamic_smem, "Dynamic shared memory per block, bytes (48K)")
      ->type_name("N");
  inspect->add_option("--sort", o->sort, "By a column of --format csv, the largest first")
      ->type_name("COLUMN");
  inspect
      ->add_option("--fail-on", o->fail_on,
                   "Exits with 1 where this holds of a kernel: 'spill_bytes>0 or occupancy<0.5'; columns of "
                   "--format csv, and with --diff old_COLUMN")
      ->type_name("CONDITION");
  inspect->add_flag(
      "--ignore-unreadable", o->ignore_unreadable,
      "Names files and folders that cannot be read, and goes on without them (default: exits with "
      "4)");
  inspect->add_option("--format", o->format, "table, markdown, csv or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "markdown", "csv", "json"}));
  inspect->callback([o, &exit_code, resolve = std::move(resolve)] {
    try {
      exit_code = static_cast<int>(run(*o, resolve, std::cout));
    } catch (const std::invalid_argument& error) {
      throw UserError(Exit::usage, error.what());
    }
  });
}

}  // namespace occbench::commands
