// SPDX-License-Identifier: Apache-2.0
// A run without a GPU, with a model whose answers are known; and the parameters files. No device needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "benchmarks/framework/sweep.hpp"
#include "harness/device/machine_code.hpp"
#include "harness/device/parameters.hpp"
#include "harness/measure/model_session.hpp"
#include "harness/measure/predict.hpp"
#include "harness/record/environment.hpp"
#include "harness/record/record.hpp"
#include "tests/catalogue_sample.hpp"

namespace occbench {
namespace {

constexpr const char* made_up = "tests/made_up_parameters.json";

Device modelled_h200() { return model_device(theory::find_device("h200")); }

/// Says a millisecond of every case but those of one experiment.
std::vector<Forecast> millisecond(std::span<const Case> cases) {
  std::vector<Forecast> answers;
  for (const Case& c : cases) {
    EXPECT_EQ(c.status, Status::valid) << c.id;
    if (c.spec.experiment == "waves")
      answers.push_back({.why_not = "waves are beyond it"});
    else
      answers.push_back({.prediction = theory::Prediction{.time_s = 1e-3,
                                                          .bound = theory::Bound::register_port,
                                                          .sm_clock_hz = 1.5e9,
                                                          .baseline_time_s = 0.5e-3}});
  }
  return answers;
}

std::vector<Case> resolved(const Runner& runner, Preset preset) {
  std::vector<Case> cases;
  for (const CaseSpec& spec : plan_cases({}, runner.device().sm, preset))
    cases.push_back(resolve(spec, runner.device(), runner.arena(), runner.precision().launch_s));
  return cases;
}

std::vector<CaseResult> results_of(Runner& runner, const std::vector<Case>& cases,
                                   const std::atomic<bool>& stop = false) {
  std::vector<CaseResult> results;
  runner.measure(
      cases, 0,
      [&](const CaseResult& r, std::span<const SampleRow> samples) {
        EXPECT_TRUE(samples.empty());
        results.push_back(r);
      },
      stop);
  return results;
}

std::string cell(const CaseResult& r, const std::string& column) {
  const auto columns = case_columns();
  return case_fields(r)[static_cast<std::size_t>(std::ranges::find(columns, column) - columns.begin())];
}

// --- The session

TEST(ModelSession, EveryCaseGetsARowMarkedAsModel) {
  ModelSession session(modelled_h200(), {}, millisecond);
  const auto cases = resolved(session, Preset::standard);
  const auto results = results_of(session, cases);
  ASSERT_EQ(results.size(), cases.size());
  std::map<Status, int> count;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CaseResult& r = results[i];
    ++count[r.planned.status];
    EXPECT_EQ(r.planned.id, cases[i].id);
    EXPECT_EQ(cell(r, "source"), "model") << r.planned.id;
    for (const char* measured :
         {"blocks_per_sm_api", "blocks_per_sm_resident", "time_ci95_low_s", "time_p90_s", "power_w"})
      EXPECT_EQ(cell(r, measured), "") << r.planned.id << " " << measured;
    EXPECT_EQ(cell(r, "samples"), "0");
    if (r.planned.status == Status::valid) {
      EXPECT_EQ(cell(r, "stop_reason"), "model");
      EXPECT_EQ(case_number(r, "time_median_s"), 1e-3);
      EXPECT_GT(case_number(r, "throughput"), 0) << r.planned.id;
      EXPECT_EQ(case_number(r, "throughput"), case_number(r, "throughput_predicted"));
      EXPECT_EQ(case_number(r, "throughput_baseline"), 2 * case_number(r, "throughput_predicted"));
      EXPECT_EQ(cell(r, "bound_predicted"), "register port");
      EXPECT_NEAR(case_number(r, "cycles_per_iteration") * case_number(r, "iterations"), 1.5e6, 1);
    } else {
      EXPECT_NE(r.planned.reason, "") << r.planned.id;
      for (const char* predicted : {"time_median_s", "throughput", "throughput_predicted", "bound_predicted"})
        EXPECT_EQ(cell(r, predicted), "") << r.planned.id << " " << predicted;
    }
  }
  EXPECT_EQ(count[Status::invalid], 0);
  EXPECT_GT(count[Status::valid], 1000);
  EXPECT_GT(count[Status::impossible], 0);
}

TEST(ModelSession, DramCasesDeclareTheirBytesPerIteration) {
  ModelSession session(modelled_h200(), {}, millisecond);
  std::set<std::string> families;
  for (const CaseResult& r : results_of(session, resolved(session, Preset::quick))) {
    const Case& c = r.planned;
    const Shape shape = c.shape(c.iterations);
    if (c.status != Status::valid || c.spec.variant->ceiling != Ceiling::dram) continue;
    // A warp of each block waits alone and is not counted; blocks of no length read once all the same.
    if (c.spec.variant->family == "pointer_chase" || shape.iterations < 2) continue;
    families.insert(c.spec.variant->family);
    const double bytes = c.spec.variant->iteration.dram_bytes * static_cast<double>(shape.threads()) *
                         static_cast<double>(shape.iterations);
    EXPECT_NEAR(r.work.bytes / bytes, 1, 0.02) << c.id;
  }
  EXPECT_GE(families.size(), 10U);
}

TEST(ModelSession, SkipsUnpredictableCasesWithTheReason) {
  ModelSession session(modelled_h200(), {}, millisecond);
  int seen = 0;
  for (const CaseResult& r : results_of(session, resolved(session, Preset::quick)))
    if (r.planned.spec.experiment == "waves") {
      ++seen;
      EXPECT_EQ(r.planned.status, Status::skipped) << r.planned.id;
      EXPECT_EQ(r.planned.reason, "waves are beyond it");
    }
  EXPECT_GT(seen, 0);
}

TEST(ModelSession, SkipsClusterLaunches) {
  ModelSession session(modelled_h200(), {}, millisecond);
  int seen = 0;
  for (const Case& c : resolved(session, Preset::quick))
    if (c.spec.cluster_size > 1) {
      ++seen;
      EXPECT_EQ(c.status, Status::skipped) << c.id;
      EXPECT_NE(c.reason.find("clusters"), std::string::npos) << c.reason;
    }
  EXPECT_GT(seen, 0);
}

TEST(ModelSession, SkipsCasesOnAPartOfTheSms) {
  ModelSession session(modelled_h200(), {}, millisecond);
  int seen = 0;
  for (const Case& c : resolved(session, Preset::quick))
    if (c.spec.sm_count > 0) {
      const bool is_part = c.spec.sm_count < session.device().sm.sm_count;
      ++seen;
      EXPECT_EQ(c.status, is_part ? Status::skipped : Status::valid) << c.id;
      EXPECT_EQ(c.reason.find("SMs") != std::string::npos, is_part) << c.reason;
    }
  EXPECT_GT(seen, 0);
}

TEST(ModelSession, SkipsKernelsWithoutDescribedMachineCode) {
  const Variant unknown{.family = "nobody", .name = "knows"};
  const Device device = model_device(theory::find_device("p100"));
  const Case c = resolve({.experiment = "test", .variant = &unknown, .block_size = 64}, device,
                         Arena(arena_sizes(device.memory_bytes)), 1e-3);
  EXPECT_EQ(c.status, Status::skipped);
  EXPECT_EQ(c.reason, "no description of its machine code; `occbench audit --describe` writes it");
}

TEST(Predict, NamesTheMissingParameter) {
  const Device device = modelled_h200();
  const Arena arena(arena_sizes(device.memory_bytes));
  const auto said = [&](const CaseSpec& spec, double theory::Parameters::*unknown) {
    theory::Parameters parameters = read_parameters(made_up).values;
    parameters.*unknown = 0;
    const std::vector<Case> cases{resolve(spec, device, arena, 1e-4)};
    EXPECT_EQ(cases[0].status, Status::valid) << cases[0].reason;
    const Forecast forecast = predict(cases, device, parameters).front();
    EXPECT_EQ(forecast.prediction.has_value(), forecast.why_not.empty());
    return forecast.why_not;
  };
  const Sweep sweep("test", device.sm, Preset::quick);
  const CaseSpec loads{
      .experiment = "test", .variant = &sweep.variant("stream", "read-f32-4B-ilp1"), .block_size = 128};
  const CaseSpec computes{
      .experiment = "test", .variant = &sweep.variant("fma_chain", "two-operand-ilp1"), .block_size = 128};
  using P = theory::Parameters;
  for (double P::*const unknown :
       {&P::dram_read_bytes_per_s, &P::dram_write_bytes_per_s, &P::l1_bytes_per_cycle}) {
    const std::string name(
        std::ranges::find(theory::parameter_fields(), unknown, &theory::ParameterField::value)->name);
    EXPECT_EQ(said(loads, unknown), "the device's parameters lack '" + name + "', which this kernel needs");
    EXPECT_EQ(said(computes, unknown), "");
  }
  EXPECT_EQ(said(computes, &P::sm_clock_hz),
            "the device's parameters lack 'sm_clock', which this kernel needs");
  EXPECT_EQ(said(loads, &P::dram_spread_s), "") << "a refinement";
}

TEST(Predict, ComputeTimeScalesWithTheSmCount) {
  const Device device = modelled_h200();
  const Sweep sweep("test", device.sm, Preset::quick);
  Case on_all = resolve({.experiment = "test",
                         .variant = &sweep.variant("fma_chain", "two-operand-ilp4"),
                         .block_size = 128,
                         .grid_size = 64 * 16 * device.sm.sm_count},
                        device, Arena(arena_sizes(device.memory_bytes)), 1e-3);
  Case on_half = on_all;  // a model has no green contexts, so `resolve` gives all
  on_half.sm_count = device.sm.sm_count / 2;
  const std::vector<Forecast> forecasts =
      predict(std::vector{on_all, on_half}, device, read_parameters(made_up).values);
  EXPECT_NEAR(forecasts[1].prediction->time_s / forecasts[0].prediction->time_s, 2, 0.02);
}

TEST(ModelSession, KnowsNearlyAllOpcodesOfTheSuitesLoops) {
  for (const int cc : {80, 89, 90, 100})
    for (const Variant& v : variants())
      if (const theory::Program* const program = runs_on(v, cc) ? machine_code(v, cc) : nullptr) {
        EXPECT_LE(program->guessed_share(), theory::max_guessed_share)
            << cc << ' ' << v.family << '.' << v.name;
      }
}

TEST(ModelSession, StopsBetweenCases) {
  ModelSession session(modelled_h200(), {}, millisecond);
  EXPECT_TRUE(results_of(session, resolved(session, Preset::quick), true).empty());
}

TEST(ModelSession, NeverLaunchesAKernel) {
  ModelSession session(modelled_h200(), {}, millisecond);
  EXPECT_FALSE(session.references());
  EXPECT_THROW(session.launch_only(resolved(session, Preset::quick).front(), 1, false), UserError);
}

// --- What stands in a device's place

TEST(ModelDevice, IsMarkedAsAModel) {
  const Device device = modelled_h200();
  EXPECT_TRUE(device.is_model);
  EXPECT_EQ(device.name, "model of H200");
  EXPECT_EQ(device.uuid, "model:h200");
  EXPECT_TRUE(default_run_folder(device).starts_with("model-h200/")) << default_run_folder(device);
}

TEST(ModelDevice, HasDataSheetMemorySizes) {
  for (const std::string& name : sample_of_catalogue()) {
    const Device device = model_device(theory::find_device(name));
    EXPECT_GE(device.memory_bytes, std::size_t{2} << 30) << name;
    EXPECT_LE(device.memory_bytes, std::size_t{1} << 40) << name;
    EXPECT_GT(device.l2_bytes, 0u) << name;
    EXPECT_GT(device.smem_bytes_per_cycle, 0) << name;
  }
  EXPECT_EQ(modelled_h200().memory_bytes >> 30, 141u);
}

TEST(ModelArena, IsAsLargeAsOnTheDevice) {
  const Arena arena(arena_sizes(modelled_h200().memory_bytes));
  EXPECT_EQ(arena.input_bytes(), std::size_t{5} << 30);
  EXPECT_EQ(arena.output_bytes(), std::size_t{5} << 29);
  EXPECT_EQ(arena_sizes(std::size_t{10} << 30).input_bytes, std::size_t{2} << 30);
}

TEST(ModelEnvironment, MatchesTheSchema) {
  const ModelSession session(modelled_h200(), {}, millisecond);
  const ParameterFile parameters = read_parameters(made_up);
  const auto env = environment(session, {.preset = "quick", .parameters = parameters.to_json()});
  const auto schema = nlohmann::json::parse(std::ifstream("results/schema.json"));
  for (const auto& field : schema["files"]["env.json"]["fields"]) {
    const std::string name = field["name"];
    ASSERT_TRUE(env.contains(name)) << name;
    EXPECT_TRUE(field["nullable"] || !env[name].is_null()) << name;
    if (field.contains("fields"))
      for (const auto& inner : field["fields"]) {
        if (inner.value("optional", false) && !env[name].contains(inner["name"])) continue;
        ASSERT_TRUE(env[name].contains(inner["name"])) << inner["name"];
        EXPECT_TRUE(inner["nullable"] || !env[name][inner["name"].get<std::string>()].is_null())
            << inner["name"];
      }
  }
  EXPECT_EQ(env["source"], "model");
  const ParameterFile back = ParameterFile::from_json(env["parameters"], "env.json");
  EXPECT_EQ(back.name, made_up);
  EXPECT_EQ(back.content, parameters.content);
}

TEST(ModelEnvironment, ListsParametersTakenFromOtherGpus) {
  const auto of = [](const nlohmann::json& all, const std::string& name) -> std::string {
    for (const auto& each : all)
      if (each["name"] == name) return each["of"];
    return "its own";
  };
  const auto a100 = list_assumptions(model_parameters("a100").content);
  EXPECT_EQ(of(a100, "branch"), "NVIDIA H200") << "a parameter";
  EXPECT_EQ(of(a100, "special_latency"), "NVIDIA H200") << "a fact";
  EXPECT_EQ(of(a100, "dram_read_bandwidth"), "its own") << "published";
  EXPECT_EQ(of(a100, "line_bytes"), "its own") << "every GPU's";
  const auto own = list_assumptions(model_parameters("h200").content);
  EXPECT_EQ(of(own, "special_latency"), "its own");
  EXPECT_EQ(of(own, "memory_queue"), "NVIDIA RTX A6000");
  for (const std::string& name : parameter_devices()) {
    const ParameterFile file = model_parameters(name);
    for (const auto& [parameter, entry] : file.content["parameters"].items())
      EXPECT_EQ(entry["method"].get<std::string>().starts_with("taken over from H200"),
                entry.contains("of") && entry["method"].get<std::string>().starts_with("taken over from"))
          << name << ": " << parameter;
  }
  const ModelSession session(modelled_h200(), {}, millisecond);
  EXPECT_EQ(environment(session, {})["assumed"], nlohmann::json::array()) << "nothing was predicted";
  EXPECT_EQ(environment(session, {.parameters = model_parameters("a100").to_json()})["assumed"], a100);
}

// --- The parameters files

nlohmann::json whole() { return nlohmann::json::parse(std::ifstream(made_up)); }

/// The one line that refuses this text.
std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_parameters(text, "p.json"));
  } catch (const UserError& e) {
    EXPECT_EQ(e.code(), Exit::file);
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(ParameterFiles, AreReadFieldByField) {
  const ParameterFile file = parse_parameters(whole().dump(), "p.json");
  EXPECT_EQ(file.catalogue_name, "h200");
  for (const theory::ParameterField& f : theory::parameter_fields())
    EXPECT_EQ(file.values.*f.value, whole()["parameters"][std::string(f.name)]["value"]) << f.name;
}

TEST(ParameterFiles, AcceptNullAsUnknown) {
  auto json = whole();
  json["parameters"]["bulk_copy_latency"]["value"] = nullptr;
  EXPECT_EQ(parse_parameters(json.dump(), "p.json").values.bulk_copy_latency_s, 0);
}

TEST(ParameterFiles, ContainTheRangesOfTheirSources) {
  auto json = whole();
  json["parameters"]["l2_latency"].update({{"low", 200}, {"high", 400}});
  json["parameters"]["branch"]["low"] = nullptr;
  const ParameterFile file = parse_parameters(json.dump(), "p.json");
  EXPECT_EQ(file.ranges.low.l2_latency_cycles, 200);
  EXPECT_EQ(file.ranges.high.l2_latency_cycles, 400);
  EXPECT_EQ(file.ranges.low.branch_cycles, 0);
  EXPECT_EQ(file.ranges.high.branch_cycles, 0);
  const auto reads = [](const ParameterFile& f) {
    return f.ranges.high.dram_read_bytes_per_s / f.values.dram_read_bytes_per_s - 1;
  };
  EXPECT_NEAR(reads(file), 0.03, 1e-9) << "one source";
  json["parameters"]["dram_read_bandwidth"]["of"] = "NVIDIA H200";
  EXPECT_NEAR(reads(parse_parameters(json.dump(), "p.json")), 0.1, 1e-9) << "another GPU's";
  json["origin"] = "measured";
  EXPECT_EQ(parse_parameters(json.dump(), "p.json").ranges.high.dram_read_bytes_per_s, 0);
  for (const std::string& name : parameter_devices()) {
    const ParameterFile known = model_parameters(name);
    for (const theory::ParameterField& f : theory::parameter_fields()) {
      EXPECT_LE(known.ranges.low.*f.value, known.values.*f.value) << name << ": " << f.name;
      EXPECT_EQ(known.ranges.low.*f.value > 0, known.ranges.high.*f.value > 0) << name << ": " << f.name;
    }
  }
}

TEST(ParameterFiles, AreRejectedWithTheFaultInOneLine) {
  const auto but = [](const std::function<void(nlohmann::json&)>& change) {
    auto json = whole();
    change(json);
    return refusal(json.dump());
  };
  const auto parameter = [](nlohmann::json& json, const char* name) -> nlohmann::json& {
    return json["parameters"][name];
  };
  EXPECT_EQ(but([&](auto& j) { parameter(j, "branch")["low"] = 9e4; }),
            "p.json: parameter 'branch': its 'low' and its value are the wrong way round");
  EXPECT_EQ(but([&](auto& j) { parameter(j, "dram_latency")["high"] = 330; }),
            "p.json: parameter 'dram_latency': its 'high' is 330.0 s, which is implausible");
  EXPECT_EQ(refusal("{").find("p.json: is not JSON: "), 0u) << refusal("{");
  EXPECT_EQ(refusal("[1]"), "p.json: is not a JSON object");
  EXPECT_EQ(refusal("{}"), "p.json: 'format' is missing");
  EXPECT_EQ(but([](auto& j) { j["format"] = 2; }), "p.json: is of format 2, and this program reads 1");
  EXPECT_EQ(but([](auto& j) { j.erase("device"); }), "p.json: 'device' is missing");
  EXPECT_EQ(but([](auto& j) { j["device"] = 5; }), "p.json: 'device' is 5, which is not of its type");
  EXPECT_EQ(but([](auto& j) {
              j["catalogue_name"] = "h300";
            }).find("p.json: its catalogue_name 'h300' is not a name of "),
            0u);
  EXPECT_EQ(but([](auto& j) { j["parameters"] = 1; }), "p.json: 'parameters' is not an object");
  EXPECT_EQ(but([](auto& j) {
              j["parameters"].erase("launch");
              j["parameters"].erase("branch");
            }),
            "p.json: lacks branch, launch; `occbench calibrate` writes a whole file");
  EXPECT_EQ(but([&](auto& j) { parameter(j, "warp_drive") = parameter(j, "launch"); }),
            "p.json: the model knows no parameter 'warp_drive'");
  EXPECT_EQ(but([&](auto& j) { parameter(j, "launch") = 3e-6; }),
            "p.json: parameter 'launch': is not an object with value, unit, source and method");
  EXPECT_EQ(but([&](auto& j) { parameter(j, "launch")["unit"] = "us"; }),
            "p.json: parameter 'launch': is in 'us', and must be in 's'");
  EXPECT_EQ(but([&](auto& j) { parameter(j, "launch").erase("value"); }),
            "p.json: parameter 'launch': 'value' is missing");
  EXPECT_EQ(but([&](auto& j) { parameter(j, "launch").erase("source"); }),
            "p.json: parameter 'launch': 'source' is missing");
  for (const double value : {0.0, -3e-6})
    EXPECT_EQ(but([&](auto& j) { parameter(j, "launch")["value"] = value; }),
              "p.json: parameter 'launch': is " + nlohmann::json(value).dump() +
                  ", and must be greater than 0 (or null: not known)");
  // nanoseconds where seconds belong: a simulation would take forever
  EXPECT_EQ(but([&](auto& j) { parameter(j, "dram_latency")["value"] = 330; }),
            "p.json: parameter 'dram_latency': is 330.0 s, which is implausible");
  for (const nlohmann::json& value : {nlohmann::json(true), nlohmann::json("fast")})
    EXPECT_EQ(but([&](auto& j) { parameter(j, "launch")["value"] = value; }),
              "p.json: parameter 'launch': 'value' is " + value.dump() + ", which is not of its type");
  // what JSON cannot say, but programs write
  std::string text = whole().dump();
  const std::string value = whole()["parameters"]["launch"]["value"].dump();
  for (const char* nan : {"NaN", "1e999"}) {
    const std::string bad = std::string(text).replace(text.find(value), value.size(), nan);
    EXPECT_EQ(refusal(bad).find("p.json: is not JSON: "), 0u) << refusal(bad);
  }
}

TEST(ParameterFiles, BuiltInFilesAreCompleteAndNamedByDevice) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("harness/parameters", none)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem();
    const ParameterFile file = model_parameters(name);
    EXPECT_EQ(file.catalogue_name, name);
    EXPECT_EQ(file.name, name + ".json (built in)");
    EXPECT_EQ(file.content, nlohmann::json::parse(std::ifstream(entry.path())));
    const auto of_gpu = parameters_of_gpu(file.device);
    ASSERT_TRUE(of_gpu);
    EXPECT_EQ(of_gpu->name, file.name);
    EXPECT_NE(model_names().find("model:" + name), std::string::npos);
  }
  EXPECT_FALSE(parameters_of_gpu("NVIDIA of nowhere"));
}

}  // namespace
}  // namespace occbench
