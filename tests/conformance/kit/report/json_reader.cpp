// SPDX-License-Identifier: MIT
#include "kit/report/json_reader.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kit/report/json.hpp"
#include "tenon/core/json.hpp"
#include "tenon/core/json_limits.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::inline TENON_RELEASE::conformance {

namespace {

/// The output of a test is a part of the JSON.
constexpr JsonLimits report_limits{max_report_size, 10'000'000, 16};

/// One object of a document, and its place ("subjects[0].tests[3].outcome"), which every error
/// names.
///
/// Members for other readers, and members that a newer kit adds, are ignored: `format` changes when
/// that would be wrong.
class JsonObject {
 public:
  JsonObject(const nlohmann::json& json, std::string where)
      : json_(json), where_(std::move(where)) {}

  [[nodiscard]] Status check_is_object() const {
    if (json_.is_object()) return ok();
    return error(Error::InvalidArgument, "report: ", where_.empty() ? "" : where_ + ": ",
                 "expected an object, found ", json_.type_name());
  }

  [[nodiscard]] Status read(const char* key, std::string& out) const {
    TENON_TRY(const auto* value, member(key));
    if (!value->is_string()) return wrong(key, "a text", *value);
    out = value->get_ref<const std::string&>();
    return ok();
  }

  [[nodiscard]] Status read(
      const char* key, std::uint64_t& out,
      std::uint64_t largest = std::numeric_limits<std::uint64_t>::max()) const {
    TENON_TRY(const auto* value, member(key));
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() > largest) {
      return wrong(key, concat("a whole number from 0 to ", largest), *value);
    }
    out = value->get<std::uint64_t>();
    return ok();
  }

  [[nodiscard]] Status read(const char* key, std::uint32_t& out) const {
    std::uint64_t number = 0;
    TENON_RETURN_IF_ERROR(read(key, number, std::numeric_limits<std::uint32_t>::max()));
    out = static_cast<std::uint32_t>(number);
    return ok();
  }

  [[nodiscard]] Status read(const char* key, int& out) const {
    std::uint32_t number = 0;
    TENON_RETURN_IF_ERROR(read(key, number));
    if (number > static_cast<std::uint32_t>(std::numeric_limits<int>::max())) {
      return wrong(key, "a number of an int", json_[key]);
    }
    out = static_cast<int>(number);
    return ok();
  }

  [[nodiscard]] Status read(const char* key, double& out) const {
    TENON_TRY(const auto* value, member(key));
    if (value->is_number()) {
      out = value->get<double>();
    } else if (*value == "nan") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else if (*value == "inf" || *value == "-inf") {
      out = std::copysign(std::numeric_limits<double>::infinity(), *value == "inf" ? 1.0 : -1.0);
    } else {
      return wrong(key, "a number, \"nan\", \"inf\" or \"-inf\"", *value);
    }
    return ok();
  }

  [[nodiscard]] Status read(const char* key, bool& out) const {
    TENON_TRY(const auto* value, member(key));
    if (!value->is_boolean()) return wrong(key, "true or false", *value);
    out = value->get<bool>();
    return ok();
  }

  // Missing, which does not change `out`, in reports of kits before that member.
  template <class T>
  [[nodiscard]] Status read_if_present(const char* key, T& out) const {
    return json_.contains(key) ? read(key, out) : ok();
  }

  /// Null, which does not change `out`, in a report that was written without times.
  template <class T>
  [[nodiscard]] Status read_or_null(const char* key, T& out) const {
    TENON_TRY(const auto* value, member(key));
    return value->is_null() ? ok() : read(key, out);
  }

  [[nodiscard]] Status read(const char* key, std::vector<std::string>& out) const {
    TENON_TRY(const auto* value, member(key));
    if (!value->is_array()) return wrong(key, "a list of texts", *value);
    for (const auto& each : *value) {
      if (!each.is_string()) return wrong(key, "a list of texts; one is", each);
      out.push_back(each.get_ref<const std::string&>());
    }
    return ok();
  }

  /// One `T` from an object, if it is there; `fill` reads it.
  template <class T>
  [[nodiscard]] Status read_if_present(const char* key, T& out,
                                       Status (*fill)(const JsonObject&, T&)) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return ok();
    const JsonObject object(*found, place(key));
    TENON_RETURN_IF_ERROR(object.check_is_object());
    return fill(object, out);
  }

  /// Adds one `T` for each object of a list; `fill` reads it.
  template <class T>
  [[nodiscard]] Status read_list(const char* key, std::vector<T>& out,
                                 Status (*fill)(const JsonObject&, T&)) const {
    TENON_TRY(const auto* value, member(key));
    if (!value->is_array()) return wrong(key, "a list", *value);
    out.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i) {
      const JsonObject object((*value)[i], concat(place(key), "[", i, "]"));
      TENON_RETURN_IF_ERROR(object.check_is_object());
      TENON_RETURN_IF_ERROR(fill(object, out.emplace_back()));
    }
    return ok();
  }

  [[nodiscard]] Status complain(const char* key, std::string_view text) const {
    return error(Error::InvalidArgument, "report: ", place(key), ": ", text);
  }

 private:
  [[nodiscard]] std::string place(const char* key) const {
    return where_.empty() ? key : concat(where_, ".", key);
  }

  [[nodiscard]] Status wrong(const char* key, std::string_view expected,
                             const nlohmann::json& found) const {
    std::string what = found.type_name();
    if (found.is_number()) what += " " + found.dump();
    if (found.is_string()) what += " " + host::quoted(found.get_ref<const std::string&>());
    return complain(key, concat("expected ", expected, ", found ", what));
  }

  [[nodiscard]] Result<const nlohmann::json*> member(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return complain(key, "is missing");
    return &*found;
  }

  const nlohmann::json& json_;
  std::string where_;
};

[[nodiscard]] Status read_outcome(const JsonObject& from, Outcome& out) {
  std::string name;
  TENON_RETURN_IF_ERROR(from.read("outcome", name));
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    out = static_cast<Outcome>(i);
    if (outcome_name(out) == name) return ok();
  }
  return from.complain("outcome", "expected an outcome, found " + host::quoted(name));
}

[[nodiscard]] Status read_finding(const JsonObject& from, Finding& out) {
  TENON_RETURN_IF_ERROR(from.read("rule", out.rule));
  return from.read("text", out.text);
}

[[nodiscard]] Status read_measurement(const JsonObject& from, Measurement& out) {
  TENON_RETURN_IF_ERROR(from.read("name", out.name));
  TENON_RETURN_IF_ERROR(from.read("value", out.value));
  return from.read("unit", out.unit);
}

[[nodiscard]] Status read_crash(const JsonObject& from, Crash& out) {
  TENON_RETURN_IF_ERROR(from.read("what", out.what));
  TENON_RETURN_IF_ERROR(from.read("in", out.in));
  TENON_RETURN_IF_ERROR(from.read("last_calls", out.last_calls));
  return from.read("backtrace", out.backtrace);
}

[[nodiscard]] Status read_test(const JsonObject& from, TestResult& out) {
  TENON_RETURN_IF_ERROR(from.read_if_present("id", out.id));
  TENON_RETURN_IF_ERROR(from.read("name", out.name));
  TENON_RETURN_IF_ERROR(from.read("suite", out.suite));
  TENON_RETURN_IF_ERROR(from.read("level", out.level));
  TENON_RETURN_IF_ERROR(from.read("backend", out.backend));
  TENON_RETURN_IF_ERROR(from.read("case", out.of_case));
  TENON_RETURN_IF_ERROR(from.read("repeat", out.repeat));
  TENON_RETURN_IF_ERROR(from.read("rules", out.rules));
  TENON_RETURN_IF_ERROR(read_outcome(from, out.outcome));
  TENON_RETURN_IF_ERROR(from.read("reason", out.reason));
  TENON_RETURN_IF_ERROR(from.read_if_present("executed", out.executed));
  TENON_RETURN_IF_ERROR(from.read_list("findings", out.findings, read_finding));
  TENON_RETURN_IF_ERROR(from.read_list("measurements", out.measurements, read_measurement));
  TENON_RETURN_IF_ERROR(from.read_list("crashes", out.crashes, read_crash));
  TENON_RETURN_IF_ERROR(from.read("output", out.output));
  return from.read_or_null("seconds", out.seconds);
}

[[nodiscard]] Status read_subject(const JsonObject& from, SubjectReport& out) {
  const std::pair<const char*, std::string*> texts[] = {
      {"path", &out.path},       {"sha256", &out.sha256}, {"name", &out.name},
      {"version", &out.version}, {"vendor", &out.vendor}, {"sdk_version", &out.sdk_version}};
  for (const auto& [key, text] : texts) TENON_RETURN_IF_ERROR(from.read(key, *text));
  TENON_RETURN_IF_ERROR(from.read("backends", out.backends));
  TENON_RETURN_IF_ERROR(from.read_if_present("planned", out.planned));
  return from.read_list("tests", out.tests, read_test);
}

[[nodiscard]] Status read_shard(const JsonObject& from, ReportShard& out) {
  TENON_RETURN_IF_ERROR(from.read("part", out.part));
  TENON_RETURN_IF_ERROR(from.read("of", out.of));
  if (out.part < 1 || out.part > out.of) {
    return from.complain("part", concat("expected 1 to ", out.of, ", found ", out.part));
  }
  return from.read("all_tests", out.all_tests);
}

[[nodiscard]] Status read_report(const JsonObject& from, Report& out) {
  int format = 0;
  TENON_RETURN_IF_ERROR(from.read("format", format));
  if (format != report_format) {
    return from.complain("format", concat("is ", format, ", this kit reads ", report_format));
  }
  TENON_RETURN_IF_ERROR(from.read("kit_version", out.kit_version));
  TENON_RETURN_IF_ERROR(from.read("abi_version", out.abi_version));
  TENON_RETURN_IF_ERROR(from.read_or_null("started", out.started));
  TENON_RETURN_IF_ERROR(from.read("machine", out.machine));
  TENON_RETURN_IF_ERROR(from.read("seed", out.seed));
  TENON_RETURN_IF_ERROR(from.read("level", out.level));
  TENON_RETURN_IF_ERROR(from.read_if_present("all_tests", out.all_tests));
  TENON_RETURN_IF_ERROR(from.read_or_null("seconds", out.seconds));
  TENON_RETURN_IF_ERROR(from.read_if_present("shard", out.shard, read_shard));
  return from.read_list("subjects", out.subjects, read_subject);
}

/// Parses `text`; `read` fills a `T` from its outermost object.
template <class T>
[[nodiscard]] Result<T> from_json_text(std::string_view text,
                                       Status (*read)(const JsonObject&, T&)) {
  auto json = parse_json(text, report_limits);
  if (!json.ok()) return std::move(json).status().with_context("report");
  const JsonObject object(*json, "");
  TENON_RETURN_IF_ERROR(object.check_is_object());
  T out;
  TENON_RETURN_IF_ERROR(read(object, out));
  return out;
}

}  // namespace

Result<Report> report_from_json(std::string_view text) {
  return from_json_text<Report>(text, read_report);
}

Result<TestResult> test_from_json(std::string_view text) {
  return from_json_text<TestResult>(text, read_test);
}

}  // namespace tenon::inline TENON_RELEASE::conformance
