// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/conformance/report_json.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/quoted.hpp"

/// Reading back what report_json.hpp writes.
namespace tenon::conformance {

namespace detail {

/// One object of a document, and where it is. Every complaint names the place
/// ("subjects[0].tests[3].outcome").
///
/// Members that a report has for its other readers, and members that a newer kit adds, are passed
/// over: `format` says when that would be wrong.
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

  template <std::unsigned_integral Number>
  [[nodiscard]] Status read(const char* key, Number& out) const {
    TENON_TRY(const auto* value, member(key));
    constexpr std::uint64_t largest = std::numeric_limits<Number>::max();
    if (!value->is_number_unsigned() || value->template get<std::uint64_t>() > largest) {
      return wrong(key, concat("a whole number from 0 to ", largest), *value);
    }
    out = value->template get<Number>();
    return ok();
  }

  [[nodiscard]] Status read(const char* key, int& out) const {
    std::uint32_t number = 0;
    TENON_CHECK(read(key, number));
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

  /// Null where a report was written without what differs from run to run; `out` stays then.
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

  /// Adds one `T` for each object of a list; `fill(object, out)` reads it.
  template <class T, class Fill>
  [[nodiscard]] Status read_list(const char* key, std::vector<T>& out, Fill&& fill) const {
    TENON_TRY(const auto* value, member(key));
    if (!value->is_array()) return wrong(key, "a list", *value);
    out.reserve(value->size());
    for (std::size_t i = 0; i < value->size(); ++i) {
      const JsonObject object((*value)[i], concat(place(key), "[", i, "]"));
      TENON_CHECK(object.check_is_object());
      TENON_CHECK(fill(object, out.emplace_back()));
    }
    return ok();
  }

  template <class... Pieces>
  [[nodiscard]] Status complain(const char* key, const Pieces&... pieces) const {
    return error(Error::InvalidArgument, "report: ", place(key), ": ", pieces...);
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
    return complain(key, "expected ", expected, ", found ", what);
  }

  [[nodiscard]] Result<const nlohmann::json*> member(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return complain(key, "is missing");
    return &*found;
  }

  const nlohmann::json& json_;
  std::string where_;
};

[[nodiscard]] inline Status read_outcome(const JsonObject& from, Outcome& out) {
  std::string name;
  TENON_CHECK(from.read("outcome", name));
  for (std::size_t i = 0; i < num_outcomes; ++i) {
    out = static_cast<Outcome>(i);
    if (outcome_name(out) == name) return ok();
  }
  return from.complain("outcome", "expected an outcome, found ", host::quoted(name));
}

[[nodiscard]] inline Status read_finding(const JsonObject& from, Finding& out) {
  TENON_CHECK(from.read("rule", out.rule));
  return from.read("text", out.text);
}

[[nodiscard]] inline Status read_measurement(const JsonObject& from, Measurement& out) {
  TENON_CHECK(from.read("name", out.name));
  TENON_CHECK(from.read("value", out.value));
  return from.read("unit", out.unit);
}

[[nodiscard]] inline Status read_crash(const JsonObject& from, Crash& out) {
  TENON_CHECK(from.read("what", out.what));
  TENON_CHECK(from.read("in", out.in));
  TENON_CHECK(from.read("last_calls", out.last_calls));
  return from.read("backtrace", out.backtrace);
}

[[nodiscard]] inline Status read_test(const JsonObject& from, TestResult& out) {
  TENON_CHECK(from.read("name", out.name));
  TENON_CHECK(from.read("suite", out.suite));
  TENON_CHECK(from.read("level", out.level));
  TENON_CHECK(from.read("backend", out.backend));
  TENON_CHECK(from.read("case", out.of_case));
  TENON_CHECK(from.read("repeat", out.repeat));
  TENON_CHECK(from.read("rules", out.rules));
  TENON_CHECK(read_outcome(from, out.outcome));
  TENON_CHECK(from.read("reason", out.reason));
  TENON_CHECK(from.read_list("findings", out.findings, read_finding));
  TENON_CHECK(from.read_list("measurements", out.measurements, read_measurement));
  TENON_CHECK(from.read_list("crashes", out.crashes, read_crash));
  TENON_CHECK(from.read("output", out.output));
  return from.read_or_null("seconds", out.seconds);
}

[[nodiscard]] inline Status read_subject(const JsonObject& from, SubjectReport& out) {
  TENON_CHECK(from.read("path", out.path));
  TENON_CHECK(from.read("sha256", out.sha256));
  TENON_CHECK(from.read("name", out.name));
  TENON_CHECK(from.read("version", out.version));
  TENON_CHECK(from.read("vendor", out.vendor));
  TENON_CHECK(from.read("sdk_version", out.sdk_version));
  TENON_CHECK(from.read("backends", out.backends));
  return from.read_list("tests", out.tests, read_test);
}

[[nodiscard]] inline Status read_report(const JsonObject& from, Report& out) {
  int format = 0;
  TENON_CHECK(from.read("format", format));
  if (format != report_format) {
    return from.complain("format", "is ", format, ", this kit reads ", report_format);
  }
  TENON_CHECK(from.read("kit_version", out.kit_version));
  TENON_CHECK(from.read("abi_version", out.abi_version));
  TENON_CHECK(from.read_or_null("started", out.started));
  TENON_CHECK(from.read("machine", out.machine));
  TENON_CHECK(from.read("seed", out.seed));
  TENON_CHECK(from.read("level", out.level));
  TENON_CHECK(from.read_or_null("seconds", out.seconds));
  return from.read_list("subjects", out.subjects, read_subject);
}

/// Parses `text` and lets `read` fill a `T` from its outermost object.
template <class T, class Read>
[[nodiscard]] Result<T> from_json_text(std::string_view text, Read&& read) {
  nlohmann::json json;
  try {
    json = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    constexpr std::size_t longest = 200;
    return error(Error::InvalidArgument,
                 "report: not JSON: ", host::detail::printable(failure.what(), longest));
  }
  const JsonObject object(json, "");
  TENON_CHECK(object.check_is_object());
  T out;
  TENON_CHECK(read(object, out));
  return out;
}

}  // namespace detail

/// The report that `to_json` wrote as `text`. InvalidArgument, with the place, for anything else:
/// such a file comes from elsewhere and may hold anything.
[[nodiscard]] inline Result<Report> report_from_json(std::string_view text) {
  return detail::from_json_text<Report>(text, detail::read_report);
}

/// The test that `to_json` wrote as `text`.
[[nodiscard]] inline Result<TestResult> test_from_json(std::string_view text) {
  return detail::from_json_text<TestResult>(text, detail::read_test);
}

}  // namespace tenon::conformance
