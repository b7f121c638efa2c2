// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/run/options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <map>
#include <string_view>

#include "benchmarks/framework/benchmark_flags.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/statistics/statistics.hpp"

namespace occbench::commands {

namespace {

/// Turns "0.5%" into "0.005". An error message, or "".
std::string fraction_of_percent(std::string& asked) {
  double percent = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), percent);
  if (error != std::errc() || std::string_view(end) != "%" || percent < 0.01 || percent > 10)
    return "'" + asked + "' is not from 0.01% to 10%";
  asked = std::to_string(percent / 100);
  return "";
}

}  // namespace

std::shared_ptr<RunOptions> add_run_options(CLI::App& command) {
  auto o = std::make_shared<RunOptions>();
  const auto not_empty = [](const std::string& text) { return text.empty() ? std::string("is empty") : ""; };
  const CLI::AsNumberWithUnit in_seconds(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}},
                                         CLI::AsNumberWithUnit::UNIT_REQUIRED);
  auto* preset =
      command
          .add_option("--preset", o->preset,
                      "quick (under 10 s on an H200), standard or full; burn-in: the cases that best "
                      "show an outlier in a cluster")
          ->type_name("PRESET:{quick,standard,full,burn-in}")
          ->capture_default_str();
  auto* experiment =
      command
          .add_option("--experiment", o->experiments, "Only these, separated by commas; see `occbench list`")
          ->type_name("EXPERIMENT")
          ->delimiter(',');
  command
      .add_option("--device", o->device,
                  "Index, UUID or part of the name (default: the most capable); all, or several with commas "
                  "(0,2): one process and one folder below --output for each, concurrently; model:h200 or "
                  "model:FILE.json predicts instead, without a GPU")
      ->type_name("DEVICE");
  auto* task_device =
      command
          .add_option(
              "--task-device", o->task_device,
              "The GPU of this task of srun, mpirun or torchrun; writes FOLDER/NODE/UUID, and resumes "
              "a run there (default FOLDER: results/fleet)")
          ->type_name("WHICH:{auto}")
          ->check(CLI::IsMember({"auto"}).description(""));
  auto* parameters = command
                         .add_option("--parameters", o->parameters,
                                     "Written by `occbench calibrate`, for the predictions beside the "
                                     "measurements (default: built in for known GPUs)")
                         ->type_name("FILE");
  auto* bands =
      command.add_flag("--bands", o->bands,
                       "Adds 90 % bands to the predictions, from the parameters' ranges and the model's "
                       "error; takes nine times as long");
  auto* output = command.add_option("--output", o->output, "Folder (default: results/<gpu>/<date>-<commit>)")
                     ->type_name("FOLDER")
                     ->check(not_empty);
  auto* seed = command.add_option("--seed", o->seed, "Random seed of the order of cases")
                   ->type_name("N")
                   ->check(CLI::Range(0, 1'000'000'000))
                   ->capture_default_str();
  auto* counters =
      command
          .add_option("--counters", o->counters,
                      "Hardware counters to read after a case is timed: occupancy, memory, stalls, separated "
                      "by commas, or none (default)")
          ->type_name("GROUP:{occupancy,memory,stalls,none}")
          ->delimiter(',');
  auto* precision =
      command
          .add_option("--precision", o->precision,
                      text("Half-width of the median's %.0f %% interval at which a case is done",
                           100 * statistics::confidence))
          ->type_name("PERCENT")
          ->transform(CLI::Validator(fraction_of_percent, ""))
          ->default_str("0.5%");
  auto* resume =
      command.add_option("--resume", o->resume, "Continues an unfinished run, with its own options")
          ->type_name("FOLDER")
          ->check(not_empty);
  auto* anonymous =
      command.add_flag("--anonymous", o->anonymous,
                       "Leaves host, paths and the GPU's UUID out of the files, to share results");
  for (auto* option :
       {task_device, output, preset, experiment, seed, parameters, bands, counters, precision, anonymous})
    resume->excludes(option);
  auto* these = command
                    .add_option("--case", o->case_ids,
                                "Launches only these, separated by commas, for a profiler: each in an NVTX "
                                "range, no checks, no results")
                    ->type_name("ID")
                    ->delimiter(',')
                    ->excludes(counters);
  command.add_option("--launches", o->launches, "Launches of each --case (default 1)")
      ->type_name("N")
      ->needs(these)
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_flag("--profile", o->profile,
                "Also calls cudaProfilerStart and cudaProfilerStop around each --case "
                "(nsys -c cudaProfilerApi; for several cases --capture-range-end repeat too)")
      ->needs(these);
  command.add_option("--timeout", o->timeout_s, "Skips cases that exceed TIME (10s, 5m)")
      ->type_name("TIME")
      ->transform(in_seconds)
      ->check(CLI::Range(1.0, 1e6));
  command.add_flag("--verbose", o->verbose,
                   "Also lists each experiment's peaks and cliffs, and where the time went");
  command
      .add_option("--stop-after", o->stop_after_s,
                  "Ends the run after TIME (90s, 15m, 2h), as Ctrl-C does; --resume continues it")
      ->type_name("TIME")
      ->transform(in_seconds)
      ->check(CLI::Range(1.0, 1e6));
  command.add_flag("--require-quiet", o->require_quiet,
                   "Refuses to start while another process uses the GPU, as far as the driver reports");
  command
      .add_option("--wait-quiet", o->wait_quiet_s, "As --require-quiet, but waits up to TIME (30s, 10m, 2h)")
      ->type_name("TIME")
      ->transform(in_seconds)
      ->check(CLI::Range(1.0, 1e6));
  command.add_flag("--allow-debug", o->allow_debug, "Allows a Debug build, whose times mean nothing");
  command.allow_extras();
  command.footer(benchmark_flags_help() +
                 "\n\n"
                 "Example\n"
                 "  occbench run --preset quick\n"
                 "  occbench run --experiment registers,spilling --output my-run\n"
                 "  occbench run --device model:h200\n"
                 "  occbench run --device model:a100 --experiment block_size --bands\n"
                 "  occbench run --device all --output node7\n"
                 "  srun occbench run --preset burn-in --task-device auto --output fleet");
  return o;
}

}  // namespace occbench::commands
