// SPDX-License-Identifier: MIT
#include "kit/report/json_reader.hpp"

#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kit/report/json.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/json_limits.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

/// The output of a test is a part of the JSON.
constexpr JsonLimits report_limits{max_report_size, 10'000'000, 16};

// Members for other readers, and members that a newer kit adds, are ignored: `format` changes when
// that would be wrong.

// Reads a value into `out`, whose type says what it must be.
[[nodiscard]] Status read(const JsonAt& from, Outcome& out);
[[nodiscard]] Status read(const JsonAt& from, Finding& out);
[[nodiscard]] Status read(const JsonAt& from, Measurement& out);
[[nodiscard]] Status read(const JsonAt& from, Crash& out);
[[nodiscard]] Status read(const JsonAt& from, TestResult& out);
[[nodiscard]] Status read(const JsonAt& from, SubjectReport& out);
[[nodiscard]] Status read(const JsonAt& from, ReportShard& out);
[[nodiscard]] Status read(const JsonAt& at, std::string& out) {
  TENON_TRY(out, at.characters());
  return ok();
}
template <std::integral Number>
[[nodiscard]] Status read(const JsonAt& at, Number& out) {
  TENON_TRY(out, at.count<Number>());
  return ok();
}
[[nodiscard]] Status read(const JsonAt& at, bool& out) {
  TENON_TRY(out, at.boolean());
  return ok();
}
[[nodiscard]] Status read(const JsonAt& at, double& out) {
  using Limits = std::numeric_limits<double>;
  if (at.json().is_number()) {
    out = at.json().get<double>();
  } else if (at.json() == "nan") {
    out = Limits::quiet_NaN();
  } else if (at.json() == "inf" || at.json() == "-inf") {
    out = at.json() == "inf" ? Limits::infinity() : -Limits::infinity();
  } else {
    return at.wrong_type("a number, \"nan\", \"inf\" or \"-inf\"");
  }
  return ok();
}
template <class T>
[[nodiscard]] Status read(const JsonAt& at, std::vector<T>& out) {
  return at.each_element([&](const JsonAt& one) { return read(one, out.emplace_back()); });
}

template <class T>
[[nodiscard]] Status read(const JsonAt& from, std::string_view key, T& out) {
  TENON_TRY(const JsonAt at, from.member(key));
  return read(at, out);
}

// Missing, which does not change `out`, in reports of kits before that member.
template <class T>
[[nodiscard]] Status read_if_present(const JsonAt& from, std::string_view key, T& out) {
  const auto at = from.find(key);
  return at ? read(*at, out) : ok();
}

// Null, which does not change `out`, in a report that was written without times.
template <class T>
[[nodiscard]] Status read_or_null(const JsonAt& from, std::string_view key, T& out) {
  TENON_TRY(const JsonAt at, from.member(key));
  return at.json().is_null() ? ok() : read(at, out);
}

Status read(const JsonAt& from, Outcome& out) {
  TENON_TRY(const std::string_view name, from.characters());
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    out = static_cast<Outcome>(i);
    if (outcome_name(out) == name) return ok();
  }
  return from.wrong_type("an outcome");
}

Status read(const JsonAt& from, Finding& out) {
  TENON_RETURN_IF_ERROR(read(from, "rule", out.rule));
  return read(from, "text", out.text);
}

Status read(const JsonAt& from, Measurement& out) {
  TENON_RETURN_IF_ERROR(read(from, "name", out.name));
  TENON_RETURN_IF_ERROR(read(from, "value", out.value));
  return read(from, "unit", out.unit);
}

Status read(const JsonAt& from, Crash& out) {
  TENON_RETURN_IF_ERROR(read(from, "what", out.what));
  TENON_RETURN_IF_ERROR(read(from, "in", out.in));
  TENON_RETURN_IF_ERROR(read(from, "last_calls", out.last_calls));
  return read(from, "backtrace", out.backtrace);
}

Status read(const JsonAt& from, TestResult& out) {
  TENON_RETURN_IF_ERROR(read_if_present(from, "id", out.id));
  TENON_RETURN_IF_ERROR(read(from, "name", out.name));
  TENON_RETURN_IF_ERROR(read(from, "suite", out.suite));
  TENON_RETURN_IF_ERROR(read(from, "level", out.level));
  TENON_RETURN_IF_ERROR(read(from, "backend", out.backend));
  TENON_RETURN_IF_ERROR(read(from, "case", out.of_case));
  TENON_RETURN_IF_ERROR(read(from, "repeat", out.repeat));
  TENON_RETURN_IF_ERROR(read(from, "rules", out.rules));
  TENON_RETURN_IF_ERROR(read(from, "outcome", out.outcome));
  TENON_RETURN_IF_ERROR(read(from, "reason", out.reason));
  TENON_RETURN_IF_ERROR(read_if_present(from, "executed", out.executed));
  TENON_RETURN_IF_ERROR(read(from, "findings", out.findings));
  TENON_RETURN_IF_ERROR(read(from, "measurements", out.measurements));
  TENON_RETURN_IF_ERROR(read(from, "crashes", out.crashes));
  TENON_RETURN_IF_ERROR(read(from, "output", out.output));
  return read_or_null(from, "seconds", out.seconds);
}

Status read(const JsonAt& from, SubjectReport& out) {
  const std::pair<const char*, std::string*> texts[] = {
      {"path", &out.path},       {"sha256", &out.sha256}, {"name", &out.name},
      {"version", &out.version}, {"vendor", &out.vendor}, {"sdk_version", &out.sdk_version}};
  for (const auto& [key, text] : texts) TENON_RETURN_IF_ERROR(read(from, key, *text));
  TENON_RETURN_IF_ERROR(read(from, "backends", out.backends));
  TENON_RETURN_IF_ERROR(read_if_present(from, "planned", out.planned));
  return read(from, "tests", out.tests);
}

Status read(const JsonAt& from, ReportShard& out) {
  TENON_TRY(const JsonAt part, from.member("part"));
  TENON_RETURN_IF_ERROR(read(part, out.part));
  TENON_RETURN_IF_ERROR(read(from, "of", out.of));
  if (out.part < 1 || out.part > out.of) return part.wrong_type(concat("1 to ", out.of));
  return read(from, "all_tests", out.all_tests);
}

Status read(const JsonAt& from, Report& out) {
  TENON_TRY(const JsonAt format_at, from.member("format"));
  TENON_TRY(const int format, format_at.count<int>());
  if (format != report_format) {
    return format_at.wrong("is ", format, ", this kit reads ", report_format);
  }
  TENON_RETURN_IF_ERROR(read(from, "kit_version", out.kit_version));
  TENON_RETURN_IF_ERROR(read(from, "abi_version", out.abi_version));
  TENON_RETURN_IF_ERROR(read_or_null(from, "started", out.started));
  TENON_RETURN_IF_ERROR(read(from, "machine", out.machine));
  TENON_RETURN_IF_ERROR(read(from, "seed", out.seed));
  TENON_RETURN_IF_ERROR(read(from, "level", out.level));
  TENON_RETURN_IF_ERROR(read_if_present(from, "all_tests", out.all_tests));
  TENON_RETURN_IF_ERROR(read_or_null(from, "seconds", out.seconds));
  TENON_RETURN_IF_ERROR(read_if_present(from, "shard", out.shard));
  return read(from, "subjects", out.subjects);
}

template <class T>
[[nodiscard]] Result<T> read_text(std::string_view text) {
  constexpr std::string_view name = "report";
  TENON_TRY(const auto json, parse_json_object(text, name, Error::InvalidArgument, report_limits));
  T out;
  TENON_RETURN_IF_ERROR(read(JsonAt(json, name, Error::InvalidArgument), out));
  return out;
}

}  // namespace

Result<Report> report_from_json(std::string_view text) { return read_text<Report>(text); }

Result<TestResult> test_from_json(std::string_view text) { return read_text<TestResult>(text); }

}}}  // namespace tenon::TENON_RELEASE::conformance
