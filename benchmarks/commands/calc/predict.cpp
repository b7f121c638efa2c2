// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/commands/calc/predict.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "benchmarks/framework/numbers.hpp"
#include "benchmarks/report/format.hpp"
#include "harness/io/check.hpp"
#include "harness/io/join.hpp"

namespace occbench::commands {

namespace {

constexpr double negligible = 0.03;  // smaller gains are within the errors of the model and of a GPU

std::string kind_of(const theory::KernelClass& kernel) {
  std::string name(theory::to_string(kernel.kind));
  std::ranges::replace(name, '_', ' ');
  return "a " + name + " kernel";
}

/// "4 registers"; bytes are not counted in the plural.
std::string amount(std::int64_t number, const std::string& unit) {
  return with_thousands(number) + " " + unit + (number == 1 || unit.starts_with("B ") ? "" : "s");
}

/// The step as the subject of a sentence: "Freeing 4 registers (36 -> 32)", "Blocks of 288 threads instead of
/// 256"; and whether it is a plural.
std::pair<std::string, bool> subject(const CliffPredictions::Step& step) {
  if (step.dial.name == std::string_view("block_size"))
    return {"Blocks of " + amount(step.cliff.value, step.dial.unit) + " instead of " +
                with_thousands(step.dial.own),
            true};
  const std::string from_to =
      " (" + with_thousands(step.dial.own) + " -> " + with_thousands(step.cliff.value) + ")";
  if (step.cliff.delta < 0) return {"Freeing " + amount(-step.cliff.delta, step.dial.unit) + from_to, false};
  return {amount(step.cliff.delta, step.dial.unit) + " more" + from_to, step.cliff.delta != 1};
}

/// "Freeing 4 registers (36 -> 32) raises occupancy from 75.0 % to 100.0 % and a streaming kernel from 49.6 %
/// to 62.4 % of peak"
std::string effect(const CliffPredictions::Step& step, double occupancy,
                   const theory::ClassModel::Outcome& now, const theory::KernelClass& kernel) {
  const auto [who, plural] = subject(step);
  const auto verb = [plural = plural](double change) {
    return std::string(change > 0 ? "raise" : change < 0 ? "lower" : "leave") + (plural ? "" : "s");
  };
  const double share_at_cliff = step.outcome->share_of_peak;
  const int moved = std::abs(step.gain) < negligible ? 0 : step.gain > 0 ? 1 : -1;
  const std::string first = verb(step.cliff.occupancy - occupancy);
  std::string text = who + " " + first + " occupancy from " + percent(occupancy) + " to " +
                     percent(step.cliff.occupancy) + " and ";
  if (verb(moved) != first) text += verb(moved) + " ";
  text += kind_of(kernel);
  return text +
         (moved == 0 ? " at " + percent(share_at_cliff)
                     : " from " + percent(now.share_of_peak) + " to " + percent(share_at_cliff)) +
         " of peak";
}

std::string gain_text(double gain) {
  if (std::abs(gain) < negligible) return "gains nothing";
  return (gain > 0 ? "gains " : "loses ") + percent(std::abs(gain));
}

/// The gain of the opposite class: compute where this one loads, streaming where it computes.
std::string contrast(const CliffPredictions::Step& step, int blocks_now, const theory::DeviceSpec& device,
                     const theory::Parameters& parameters, const theory::Footprint& f,
                     const theory::KernelClass& kernel) try {
  const bool computes = kernel.kind == theory::Kind::compute;
  const theory::KernelClass other{.kind = computes ? theory::Kind::streaming : theory::Kind::compute,
                                  .ilp = kernel.ilp};
  ClassPredictor predictor(other, device, parameters);
  const double now = predictor.at(f.block_size, blocks_now).share_of_peak;
  const double share_at_cliff =
      predictor.at(step.footprint.block_size, step.cliff.blocks_per_sm).share_of_peak;
  return "; " + kind_of(other) + " " + gain_text(share_at_cliff / now - 1);
} catch (const std::invalid_argument&) {
  return "";  // the parameters suffice for the chosen class alone
}

}  // namespace

std::array<Dial, 4> dials(const theory::SmLimits& sm, const theory::Footprint& f) {
  using F = theory::Footprint;
  const theory::AllCliffs all = theory::cliffs(sm, f);
  return {
      {{"registers_per_thread", "register", f.registers_per_thread, all.registers,
        [](F& g, std::int64_t v) { g.registers_per_thread = static_cast<int>(v); }},
       {"dynamic_smem_bytes", "B of shared memory", static_cast<std::int64_t>(f.dynamic_smem_bytes),
        all.dynamic_smem, [](F& g, std::int64_t v) { g.dynamic_smem_bytes = static_cast<std::size_t>(v); }},
       {"block_size", "thread", f.block_size, all.threads,
        [](F& g, std::int64_t v) { g.block_size = static_cast<int>(v); }},
       {"barriers", "barrier", f.barriers, all.barriers,
        [](F& g, std::int64_t v) { g.barriers = static_cast<int>(v); }}}};
}

theory::KernelClass KernelClassText::read(bool strict) const {
  using theory::Kind;
  const auto names = theory::kind_names();
  const auto found = std::ranges::find(names, kind);
  if (found == names.end())
    throw std::invalid_argument("no kernel class '" + kind +
                                "'; there are streaming, compute, shared_memory and mixed");
  theory::KernelClass k{.kind = static_cast<Kind>(found - names.begin())};
  const auto has = [&](const std::string& text, const char* option, bool own, const char* whose) {
    if (!text.empty() && !own && strict)
      throw std::invalid_argument(std::string(option) + " is a dial of " + whose + ", and " + kind +
                                  " has none");
    return !text.empty() && own;
  };
  if (!ilp.empty()) k.ilp = static_cast<int>(parse_size(ilp, "--ilp", 1, theory::max_ilp));
  if (has(bytes_per_access, "--bytes-per-access", k.kind != Kind::compute, "classes that load"))
    k.bytes_per_access = static_cast<int>(parse_size(bytes_per_access, "--bytes-per-access", 1, 1024));
  if (has(operands, "--operands", k.kind == Kind::compute, "compute"))
    k.operands = static_cast<int>(parse_size(operands, "--operands", 1, 1024));
  if (has(intensity, "--intensity", k.kind == Kind::mixed, "mixed")) {
    const auto [end, error] =
        std::from_chars(intensity.data(), intensity.data() + intensity.size(), k.intensity);
    if (error != std::errc() || end != intensity.data() + intensity.size())
      throw std::invalid_argument("--intensity '" + intensity + "' is not a number of FLOP per byte");
  } else if (k.kind == Kind::mixed) {
    throw std::invalid_argument("mixed needs --intensity, in FLOP per byte from DRAM");
  }
  theory::check(k);
  return k;
}

ParameterFile parameters_for(const std::string& device, const std::string& file) {
  if (!file.empty()) {
    ParameterFile given = read_parameters(file);
    if (given.device != device && given.catalogue_name != device)
      throw UserError(Exit::usage, file + ": is of " + given.device + " (" + given.catalogue_name +
                                       "), and --device says " + device);
    return given;
  }
  if (auto known = parameters_of_gpu(device)) return *known;
  const auto names = parameter_devices();
  if (std::ranges::find(names, device) != names.end()) return model_parameters(device);
  throw UserError(Exit::usage, "no parameters of " + device + " are known, only of " + join(names) +
                                   "; --parameters FILE reads what `occbench calibrate` writes on it");
}

ClassPredictor::ClassPredictor(const theory::KernelClass& kernel, const theory::DeviceSpec& device,
                               const theory::Parameters& parameters)
    : kernel_(kernel), model_(kernel, device, parameters) {}

const theory::ClassModel::Outcome& ClassPredictor::at(int block_size, int blocks_per_sm) {
  const auto [entry, is_new] = outcomes_.try_emplace({block_size, blocks_per_sm});
  if (is_new) entry->second = model_.at(block_size, blocks_per_sm);
  return entry->second;
}

CliffPredictions predict_cliffs(ClassPredictor& predictor, const theory::DeviceSpec& device,
                                const theory::Parameters& parameters, const theory::Footprint& footprint) {
  const theory::SmLimits& sm = device.sm;
  const theory::Occupancy o = theory::occupancy(sm, footprint);
  CliffPredictions p{
      .now = predictor.at(footprint.block_size, o.blocks_per_sm),
      .full = predictor.at(128, sm.max_warps_per_sm() / 4),
      .warps_for_95_percent = theory::fewest_warps(predictor.model(), 0.95, sm.max_warps_per_sm())};
  const auto all = dials(sm, footprint);
  for (const auto side : {&theory::Cliffs::gains, &theory::Cliffs::loses})
    for (const Dial& dial : all) {
      if (!(dial.cliffs.*side)) continue;
      CliffPredictions::Step step{.dial = dial, .cliff = *(dial.cliffs.*side), .footprint = footprint};
      dial.set(step.footprint, step.cliff.value);
      if (step.cliff.blocks_per_sm > 0) {
        step.outcome = predictor.at(step.footprint.block_size, step.cliff.blocks_per_sm);
        step.gain = step.outcome->share_of_peak / p.now.share_of_peak - 1;
      }
      p.steps.push_back(step);
    }

  // Registers are preferred; another resource is named instead only if it gains clearly more.
  const CliffPredictions::Step* best = nullptr;
  const CliffPredictions::Step* worse = nullptr;
  for (const CliffPredictions::Step& step : p.steps) {
    if (!step.outcome) continue;
    const bool helps = step.cliff.occupancy > o.fraction;
    if (helps && (best == nullptr || step.gain > std::max(best->gain, 0.0) + negligible)) best = &step;
    if (!helps && worse == nullptr) worse = &step;
  }
  const theory::KernelClass& kernel = predictor.kernel();
  if (best != nullptr) {
    p.conclusion = effect(*best, o.fraction, p.now, kernel) +
                   (best->gain >= negligible ? ": it pays" : ": it does not pay") +
                   contrast(*best, o.blocks_per_sm, device, parameters, footprint, kernel) + ".";
    return p;
  }
  p.conclusion = o.fraction == 1 ? "Occupancy is 100 %: freeing resources gains nothing."
                                 : "No resource freed alone adds a warp (limited by " +
                                       theory::to_string(o.limiters) + ").";
  if (worse != nullptr)
    p.conclusion += " " + effect(*worse, o.fraction, p.now, kernel) +
                    contrast(*worse, o.blocks_per_sm, device, parameters, footprint, kernel) + ".";
  return p;
}

}  // namespace occbench::commands
