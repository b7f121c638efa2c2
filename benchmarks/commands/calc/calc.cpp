// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/calc.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "benchmarks/commands/calc/batch.hpp"
#include "benchmarks/commands/calc/kernels.hpp"
#include "benchmarks/commands/calc/print.hpp"
#include "benchmarks/commands/calc/rank.hpp"
#include "benchmarks/commands/calc/tour.hpp"
#include "benchmarks/framework/numbers.hpp"
#include "harness/binary/reading.hpp"
#include "harness/io/check.hpp"

namespace occbench::commands {
namespace {

/// Whether it launches.
bool run_one(const CalcOptions& options, const DeviceResolver& resolve, std::ostream& out) {
  Query query;
  set_numbers(query, options.texts);
  const CalcDevice device = resolve(options.device);
  const Answer a = answer(device, query);
  std::optional<Predicted> prediction;
  if (!options.kernel.kind.empty())
    prediction = predicted(device, query, a, options.kernel, options.parameters);
  if (options.format == "json") {
    print_json(out, device.facts, query, a, prediction);
  } else if (options.format == "csv") {
    print_csv(out, device, query, a, prediction);
  } else {
    print_table(out, device.facts, query, a);
    if (prediction) print_prediction(out, device.facts.sm, a, *prediction);
  }
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

/// A file that is named, or a pipe (`<(...)`), or what is piped in. Throws UserError.
Descriptor opened(const std::string& path) {
  if (path == "-") return Descriptor(dup(STDIN_FILENO));
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) throw UserError(Exit::file, "cannot read '" + path + "': " + std::strerror(errno));
  return file;
}

std::string named(const std::string& path) { return path == "-" ? "standard input" : "'" + path + "'"; }

/// Whether all that was asked for launches; of a batch each row says so itself.
bool run(const CalcOptions& options, const DeviceResolver& resolve, std::ostream& out) {
  bool launches = true;
  if (options.tour) {
    print_tour(out);
  } else if (!options.batch.empty()) {
    run_batch(opened(options.batch), named(options.batch), out, options, resolve);
  } else if (!options.file.empty()) {
    const std::string source = named(options.file);
    const binary::KernelUses uses = binary::read_kernels(opened(options.file), options.file, source);
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

}  // namespace

CalcDevice resolve_offline(const std::string& word) {
  if (word.empty()) throw std::invalid_argument("no device is named; --device h200, for one");
  return {.facts = theory::find_device(word)};
}

void add_calc(CLI::App& app, int& exit_code, DeviceResolver resolve) {
  CLI::App* calc =
      app.add_subcommand("calc", "Exact occupancy of a kernel, and its next cliffs; needs no GPU");
  calc->group("Look")->footer(
      "Example\n"
      "  occbench calc --device h200 --block-size 256 --registers 33 --static-smem 8K\n"
      "  nvcc -Xptxas -v -c kernel.cu 2>&1 | occbench calc --block-size all -");
  const auto options = std::make_shared<CalcOptions>();
  calc->add_option("--device", options->device, "Index, UUID, name (h200, a100, rtx5090, ...) or ccX.Y")
      ->type_name("NAME");
  CLI::Option* file =
      calc->add_option("FILE", options->file,
                       "Kernels as ptxas -v, cuobjdump -res-usage or ncu --csv print them, an .ncu-rep or a "
                       "PyTorch trace; - is stdin. Numbers given as well go before the file's")
          ->type_name("FILE");
  CLI::Option* kernel_name =
      calc->add_option("--kernel", options->kernel_name, "Only the FILE's kernels with this in their name")
          ->type_name("TEXT")
          ->needs(file);
  std::vector<CLI::Option*> numbers;
  for (std::size_t i = 0; i < std::size(fields); ++i)
    numbers.push_back(calc->add_option(fields[i].option, options->texts[i], fields[i].help)->type_name("N"));
  CLI::Option* format = calc->add_option("--format", options->format, "table, csv or json")
                            ->type_name("FORMAT")
                            ->check(CLI::IsMember({"table", "csv", "json"}));
  CLI::Option* batch =
      calc->add_option("--batch", options->batch, "CSV of footprints in, CSV out; - is stdin")
          ->type_name("FILE");
  CLI::Option* tour =
      calc->add_flag("--tour", options->tour, "The course text's examples beside the hardware");
  for (CLI::Option* number : numbers) batch->excludes(number), tour->excludes(number);
  batch->excludes(format), tour->excludes(format), tour->excludes(batch);
  for (CLI::Option* other : {batch, tour}) other->excludes(file), other->excludes(kernel_name);

  CLI::Option* predict =
      calc->add_option(
              "--predict", options->kernel.kind,
              "The share of its peak that a kernel reaches, now and at the next cliffs, by the model: "
              "streaming, compute, shared_memory or mixed (a batch's column kernel_class goes first)")
          ->type_name("KIND:{streaming,compute,shared_memory,mixed}")
          ->check([](const std::string& text) { return text.empty() ? std::string("is empty") : ""; });
  tour->excludes(predict), file->excludes(predict);
  const auto dial = [&](const char* option, std::string& text, const char* help) {
    return calc->add_option(option, text, help)->type_name("N")->needs(predict);
  };
  dial("--bytes-per-access", options->kernel.bytes_per_access,
       "Of that kernel's loads: 4 (default), 8 or 16");
  dial("--ilp", options->kernel.ilp, "Its loads or chains of FMAs in flight per thread: 1 (default) to 8");
  dial("--operands", options->kernel.operands,
       "Different registers that its FMAs read (compute): 2 (default) or 3");
  dial("--intensity", options->kernel.intensity, "Its FLOP per byte from DRAM (mixed): 0.25 to 128");
  dial("--parameters", options->parameters,
       "What `occbench calibrate` wrote on the device (default: known GPUs' own)")
      ->type_name("FILE");

  calc->callback([options, &exit_code, resolve = std::move(resolve)] {
    try {
      if (!run(*options, resolve, std::cout)) exit_code = static_cast<int>(Exit::some_case_failed);
    } catch (const std::invalid_argument& error) {
      throw UserError(Exit::usage, error.what());
    }
  });
}

}  // namespace occbench::commands
