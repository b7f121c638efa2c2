// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/calc.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <occbench/program.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "benchmarks/commands/calc/answers.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/commands/cards.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/binary/reading.hpp"
#include "harness/io/check.hpp"
#include "harness/io/printable.hpp"

namespace occbench::commands {
namespace {

/// Whether it launches.
bool run_one(const CalcOptions& options, const DeviceResolver& resolve, std::ostream& out) {
  Query query;
  set_numbers(query, options.texts);
  const CalcDevice device = resolve(options.device);
  const Answer a = answer(device, query);
  std::optional<ClassPrediction> prediction;
  if (!options.kernel.kind.empty())
    prediction = predict_class(device, query, a, options.kernel, options.parameters);
  print_answer(out, options.format, device, query, a, prediction);
  return a.launches();
}

/// Whether at least one block size launches.
bool run_ranked(const CalcOptions& options, const DeviceResolver& resolve, std::ostream& out) {
  if (!options.kernel.kind.empty())
    throw UserError(Exit::usage, "--predict takes one block size, or a table of them (--batch)");
  const CalcDevice device = resolve(options.device);
  Query query;
  set_numbers(query, options.texts);
  print_ranked(out, options.format, device, query);
  return rank_block_sizes(device, query).front().answer.launches();
}

/// "-" is standard input. Throws UserError.
Descriptor open_input(const std::string& path) {
  if (path == "-") return Descriptor(dup(STDIN_FILENO));
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw UserError(Exit::file, "cannot read '" + path + "': " + std::strerror(errno));
  return file;
}

std::string source_name(const std::string& path) { return path == "-" ? "standard input" : "'" + path + "'"; }

/// Whether everything launches; of a batch true, as each row has a status.
bool run(const CalcOptions& options, const DeviceResolver& resolve, std::ostream& out) {
  bool launches = true;
  if (options.device == "list") {
    print_cards(out);
  } else if (options.is_tour) {
    print_tour(out);
  } else if (!options.hide.empty()) {
    print_hiding(out, options, resolve);
  } else if (!options.page.empty()) {
    write_page(options.page, options);
    out << "wrote " << printable(options.page) << "; open it in a browser\n";
  } else if (!options.batch.empty()) {
    run_batch(open_input(options.batch), source_name(options.batch), out, options, resolve);
  } else if (!options.file.empty()) {
    const std::string source = source_name(options.file);
    const binary::KernelUses uses = binary::read_kernels(open_input(options.file), options.file, source);
    launches = run_kernels(uses, source, out, options, resolve);
  } else if (options.texts[0].empty() || options.texts[1].empty()) {
    throw UserError(Exit::usage,
                    "calc needs --block-size and --registers, or FILE, or --batch FILE, or --tour");
  } else if (options.texts[0] == all_block_sizes) {
    launches = run_ranked(options, resolve, out);
  } else {
    launches = run_one(options, resolve, out);
  }
  if (!out.flush()) throw UserError(Exit::file, "standard output could not be written");
  return launches;
}

/// Numbers, files and formats.
void add_query_options(CLI::App& calc, CalcOptions& options) {
  calc.add_option("--device", options.device,
                  "Index, UUID, name (h200, 'NVIDIA GeForce RTX 4090') or ccX.Y; `list` lists the names")
      ->type_name("NAME");
  CLI::Option* file =
      calc.add_option(
              "FILE", options.file,
              "Kernels as ptxas -v, nvlink -v, cuobjdump -res-usage, ncu or nsys print them, an .ncu-rep, or "
              "a trace of PyTorch or JAX; - is stdin. Numbers on the command line replace the file's")
          ->type_name("FILE");
  CLI::Option* kernel_name =
      calc.add_option("--kernel", options.kernel_name, "Only FILE's kernels with this in their name")
          ->type_name("TEXT")
          ->needs(file);
  std::vector<CLI::Option*> numbers;
  for (std::size_t i = 0; i < std::size(fields); ++i)
    numbers.push_back(calc.add_option(fields[i].option, options.texts[i], fields[i].help)->type_name("N"));
  CLI::Option* format = calc.add_option("--format", options.format, "table, csv or json")
                            ->type_name("FORMAT")
                            ->check(CLI::IsMember({"table", "csv", "json"}));
  CLI::Option* batch = calc.add_option("--batch", options.batch, "CSV of footprints in, CSV out; - is stdin")
                           ->type_name("FILE");
  CLI::Option* tour =
      calc.add_flag("--tour", options.is_tour, "The course text's examples beside the hardware");
  CLI::Option* page =
      calc.add_option("--page", options.page, "Writes the calculator as one web page, with this query in it")
          ->type_name("FILE");
  for (CLI::Option* other : {file, batch, tour, format}) page->excludes(other);
  CLI::Option* hide =
      calc.add_option(
              "--hide", options.hide,
              "Warps that hide a latency of N cycles, per scheduler and per SM, beside the textbook's")
          ->type_name("N");
  calc.add_option("--instructions", options.hide_instructions,
                  "Instructions that a warp issues between two such waits: 1 (default)")
      ->type_name("N")
      ->needs(hide);
  for (CLI::Option* other : {file, batch, tour, page}) hide->excludes(other);
  for (CLI::Option* number : numbers) hide->excludes(number);
  for (CLI::Option* number : numbers) batch->excludes(number), tour->excludes(number);
  batch->excludes(format), tour->excludes(format), tour->excludes(batch);
  for (CLI::Option* other : {batch, tour}) other->excludes(file), other->excludes(kernel_name);
}

void add_prediction_options(CLI::App& calc, CalcOptions& options) {
  CLI::Option* predict =
      calc.add_option(
              "--predict", options.kernel.kind,
              "The share of its peak that a kernel reaches, now and at the next cliffs, by the model: "
              "streaming, compute, shared_memory or mixed (a batch's column kernel_class goes first)")
          ->type_name("KIND:{streaming,compute,shared_memory,mixed}")
          ->check([](const std::string& text) { return text.empty() ? std::string("is empty") : ""; });
  calc.get_option("--tour")->excludes(predict), calc.get_option("FILE")->excludes(predict);
  calc.get_option("--hide")->excludes(predict);
  const auto add = [&](const char* option, std::string& text, const char* help) {
    return calc.add_option(option, text, help)->type_name("N")->needs(predict);
  };
  add("--bytes-per-access", options.kernel.bytes_per_access,
      "Bytes of each load (not compute): 4 (default), 8 or 16");
  add("--ilp", options.kernel.ilp, "Loads or FMA chains in flight per thread: 1 (default) to 8");
  add("--operands", options.kernel.operands,
      "Different registers that each FMA reads (compute): 2 (default) or 3");
  add("--intensity", options.kernel.intensity, "FLOP per byte from DRAM (mixed): 0.25 to 128");
  add("--parameters", options.parameters,
      "What `occbench calibrate` wrote on the device (default: built in for known GPUs)")
      ->type_name("FILE");
}

void define_calc(CLI::App& command, Invocation& invocation) {
  add_calc_options(command, invocation.exit_code, resolve_device);
}

}  // namespace

void add_calc_options(CLI::App& command, int& exit_code, DeviceResolver resolve) {
  const auto options = std::make_shared<CalcOptions>();
  add_query_options(command, *options);
  add_prediction_options(command, *options);
  command.callback([options, &exit_code, resolve = std::move(resolve)] {
    if (!run(*options, resolve, std::cout)) exit_code = static_cast<int>(Exit::some_case_failed);
  });
}

extern const Command calc_command{
    .name = "calc",
    .group = "Query",
    .description = "Exact occupancy of a kernel, and its next cliffs; needs no GPU",
    .footer =
        "Example\n"
        "  occbench calc --device h200 --block-size 256 --registers 33 --static-smem 8K\n"
        "  nvcc -Xptxas -v -c kernel.cu 2>&1 | occbench calc --block-size all -",
    .define = define_calc,
};

}  // namespace occbench::commands
