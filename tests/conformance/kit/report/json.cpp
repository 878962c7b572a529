// SPDX-License-Identifier: MIT
#include "kit/report/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "kit/report/escape.hpp"
#include "kit/report/view.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

// Keys stay in the order in which the schema lists them.
using Json = nlohmann::ordered_json;

/// JSON has no word for a number that is not finite.
[[nodiscard]] Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

[[nodiscard]] Json json_texts(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(escape::utf8(text));
  return out;
}

[[nodiscard]] Json json_test(const TestResult& test, bool with_times) {
  Json findings = Json::array(), measurements = Json::array(), crashes = Json::array();
  for (const Finding& finding : test.findings) {
    findings.push_back(
        {{"rule", escape::utf8(finding.rule)}, {"text", escape::utf8(finding.text)}});
  }
  for (const Measurement& each : test.measurements) {
    measurements.push_back({{"name", escape::utf8(each.name)},
                            {"value", json_number(each.value)},
                            {"unit", escape::utf8(each.unit)}});
  }
  for (const Crash& crash : test.crashes) {
    crashes.push_back({{"what", escape::utf8(crash.what)},
                       {"in", escape::utf8(crash.in)},
                       {"last_calls", json_texts(crash.last_calls)},
                       {"backtrace", json_texts(crash.backtrace)}});
  }
  return {{"id", escape::utf8(test.id)},
          {"name", escape::utf8(test.name)},
          {"suite", escape::utf8(test.suite)},
          {"level", test.level},
          {"backend", escape::utf8(test.backend)},
          {"case", escape::utf8(test.of_case)},
          {"repeat", test.repeat},
          {"rules", json_texts(test.rules)},
          {"outcome", outcome_name(test.outcome)},
          {"reason", escape::utf8(test.reason)},
          {"executed", test.executed},
          {"findings", std::move(findings)},
          {"measurements", std::move(measurements)},
          {"crashes", std::move(crashes)},
          {"output", escape::utf8(test.output)},
          {"seconds", with_times ? json_number(test.seconds) : Json(nullptr)}};
}

[[nodiscard]] Json json_subject(const SubjectReport& subject, bool with_times, bool is_shard) {
  Json tests = Json::array();
  for (const TestResult& test : subject.tests) tests.push_back(json_test(test, with_times));
  Json out = {{"path", escape::utf8(subject.path)},
              {"sha256", escape::utf8(subject.sha256)},
              {"name", escape::utf8(subject.name)},
              {"version", escape::utf8(subject.version)},
              {"vendor", escape::utf8(subject.vendor)},
              {"sdk_version", escape::utf8(subject.sdk_version)},
              {"backends", json_texts(subject.backends)},
              {"tests", std::move(tests)}};
  if (is_shard) out["planned"] = json_texts(subject.planned);
  return out;
}

[[nodiscard]] Json json_rules(const ReportView& view) {
  Json out = Json::array();
  for (const JudgedRule& rule : view.rules) {
    out.push_back({{"id", escape::utf8(rule.id)},
                   {"state", rule_state_name(rule.state)},
                   {"sentence", rule.sentence},
                   {"source", rule.source}});
  }
  return out;
}

}  // namespace

std::string to_json(const TestResult& test) { return json_test(test, true).dump(-1, ' ', true); }

std::string to_json(const Report& report, const ReportOptions& options) {
  const Report ready = prepared(report, options);
  const ReportView view = view_of(ready);
  Json counts = Json::object();
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    counts[std::string(outcome_name(static_cast<Outcome>(i)))] = view.outcomes[i];
  }
  const bool is_shard = ready.shard.of != 1;
  Json subjects = Json::array();
  for (const SubjectReport& subject : ready.subjects) {
    subjects.push_back(json_subject(subject, options.with_times, is_shard));
  }
  Json out = {{"format", report_format},
              {"kit_version", escape::utf8(ready.kit_version)},
              {"abi_version", escape::utf8(ready.abi_version)},
              {"started", options.with_times ? Json(escape::utf8(ready.started)) : Json(nullptr)},
              {"machine", escape::utf8(ready.machine)},
              {"seed", ready.seed},
              {"level", ready.level},
              {"all_tests", ready.all_tests},
              {"seconds", options.with_times ? json_number(ready.seconds) : Json(nullptr)},
              {"good", view.good},
              {"verdict", view.verdict},
              {"outcomes", std::move(counts)},
              {"rules", json_rules(view)},
              {"subjects", std::move(subjects)}};
  if (is_shard) {
    out["shard"] = {
        {"part", ready.shard.part}, {"of", ready.shard.of}, {"all_tests", ready.shard.all_tests}};
  }
  return out.dump(2, ' ', true) + "\n";
}

}}}  // namespace tenon::TENON_RELEASE::conformance
