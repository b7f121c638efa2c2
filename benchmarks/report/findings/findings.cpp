// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/report/findings/findings.hpp"

#include <algorithm>
#include <map>

#include "benchmarks/report/findings/analyst.hpp"
#include "benchmarks/report/findings/own.hpp"
#include "benchmarks/report/findings/phrases.hpp"

// kind              condition                                 words
// ----------------  ----------------------------------------  --------------------------------------
// enough            a line rises to 90 % of its group's best  reads reach 90 % of X with ...
// fastest           any rate                                  fastest are reads ...: X with ...
// loss              scale `best`, or kernels are compared     reads lose 40 % with blocks of 32
// range             a line ends below 90 % of its best        reads lose at most 10 % up to ...
// cliff             3 % lost to the next value, and warps     reads lose 21 % from ... to ...
// step              3 % lost to the next value, and no warps  the same
// costs_more_warps  the most warps are 3 % below the best     reads are fastest with 12 warps; ...
// other_dial        2 % between the ends of another dial      ILP 8 instead of 1 gives 5.00 x ...
// register_cap      a cap beside the compiler's own choice    loads gain 4.8 % at best with ...
// baseline          rows that name a baseline                 `sync` takes up to 1.68 x the time ...
// own               the table of own.cpp                      what only that experiment says
// api_pick          the API's block size surely loses 3 %     the occupancy API picks blocks of ...
// textbook          plain division is off by 3 % occupancy    plain division gives 12 % occupancy; ...
// model_miss        a prediction is 10 % off                  the model misses 1 of 5 cases by ...
// note              the SM clock moved by 3 %                 the SM clock moved between ...

namespace occbench::findings {

ExperimentFindings findings_of_experiment(const Rows& rows, const std::string& experiment,
                                          const nlohmann::json& environment) {
  const RowIndices places = rows.of_experiment(experiment);
  if (places.empty()) return {.experiment = experiment};
  const Description description = description_of(environment, experiment);
  const Analyst analyst(rows, places, description, environment);
  if (!description.compares_kernels && analyst.longest() < min_points) {
    ExperimentFindings result{
        .experiment = experiment,
        .findings = {
            {.kind = Kind::note, .words = "not enough points for a finding" + preset_hint(environment)}}};
    for (Finding& finding : analyst.without_curves()) result.findings.push_back(std::move(finding));
    return result;
  }
  ExperimentFindings result = analyst.findings();
  Clauses own;
  const auto version = environment.value("schema_version", nlohmann::json());
  if (version.is_number() && version.get<double>() >= 5)  // older rows lack the columns asked_*
    for (SpecificFinding& clause : specific_findings(rows, places, experiment, environment)) {
      own.push_back({.kind = Kind::own, .words = std::move(clause.words)});
      for (const std::size_t row : clause.rows) own.back().cases.push_back(rows.text(row, "case_id"));
    }
  result.findings.insert(result.findings.begin(), own.begin(), own.end());
  if (result.findings.empty()) result.findings.push_back({.kind = Kind::note, .words = "not in this run"});
  return result;
}

std::vector<ExperimentFindings> findings_of_run(const Rows& rows, const nlohmann::json& environment) {
  std::vector<ExperimentFindings> all;
  for (const std::string& name : rows.experiments()) {
    all.push_back(findings_of_experiment(rows, name, environment));
    all.back().words = words_for(rows, rows.of_experiment(name), name);
  }
  return all;
}

std::vector<Highlight> most_telling(const std::vector<ExperimentFindings>& all, std::size_t most) {
  std::vector<Highlight> remaining;
  std::size_t experiments = 0;
  for (const ExperimentFindings& found : all) {
    ++experiments;
    for (const Finding& finding : found.findings)
      if (finding.score > 0) remaining.push_back({found.experiment, finding});
  }
  const std::size_t of_one = experiments == 0 ? 0 : (most + experiments - 1) / experiments;
  std::map<std::string, std::size_t> of_experiment;
  std::map<Kind, std::size_t> of_kind;
  std::vector<Highlight> highlights;
  while (highlights.size() < most) {
    // The second of a kind counts half.
    const auto worth = [&](const Highlight& each) {
      if (of_kind[each.finding.kind] == 2 || of_experiment[each.experiment] >= of_one) return 0.0;
      return of_kind[each.finding.kind] == 1 ? each.finding.score / 2 : each.finding.score;
    };
    const auto best = std::ranges::max_element(remaining, {}, worth);
    if (best == remaining.end() || worth(*best) <= 0) break;
    ++of_kind[best->finding.kind];
    ++of_experiment[best->experiment];
    highlights.push_back(std::move(*best));
    remaining.erase(best);
  }
  return highlights;
}

std::string sentence(const Finding& finding) { return capitalize(finding.words) + "."; }

std::vector<std::string> sentences(const ExperimentFindings& found) {
  std::vector<std::string> all;
  for (const Finding& finding : found.findings) all.push_back(sentence(finding));
  return all;
}

}  // namespace occbench::findings
