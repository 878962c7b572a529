// SPDX-License-Identifier: MIT
#include "tenon/conformance/subject.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kit/case/settings_reader.hpp"
#include "tenon/abi/backend.h"
#include "tenon/conformance/case.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/layers/discovery/impl/hand_written_json.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

using namespace detail;
using namespace host::detail;

/// Converts JSON to a subject. Paths are relative to the directory of the file.
class SubjectReader {
 public:
  explicit SubjectReader(const std::filesystem::path& directory) : directory_(directory) {}

  [[nodiscard]] Result<Subject> read(const JsonAt& root) const {
    TENON_RETURN_IF_ERROR(
        check_keys(root, {"$schema", "plugin", "backends", "unsupported", "expected_failure",
                          "left_files", "printed_lines", "environment"}));
    Subject out;
    if (const auto at = root.find("plugin")) {
      TENON_TRY(out.plugin, read_file_path(*at, directory_));
    }
    if (const auto backends = root.find("backends")) {
      const auto read_one = [&](const std::string& id, const JsonAt& at) -> Status {
        TENON_RETURN_IF_ERROR(check_printable(*backends, "a key", id));
        TENON_TRY(out.backends.emplace_back(), read_backend(id, at));
        return ok();
      };
      TENON_RETURN_IF_ERROR(backends->each_member(read_one, "an object of backends by id"));
    }
    TENON_TRY(out.unsupported_tests, read_reasons<Declaration>(root, "unsupported", "test"));
    TENON_TRY(out.expected_failure_tests,
              read_reasons<Declaration>(root, "expected_failure", "test"));
    TENON_TRY(out.left_files, read_reasons<LeftFiles>(root, "left_files", "pattern"));
    TENON_TRY(out.printed_lines, read_reasons<PrintedLines>(root, "printed_lines", "pattern"));
    TENON_TRY(out.environment, read_environment(root));
    return out;
  }

 private:
  Result<SubjectBackend> read_backend(const std::string& id, const JsonAt& at) const {
    if (id.empty() || id.size() >= TENON_ID_SIZE) {
      return at.wrong("the id has ", id.size(), " bytes, expected 1 to ", TENON_ID_SIZE - 1);
    }
    TENON_RETURN_IF_ERROR(
        check_keys(at, {"options", "runtime_specs", "cases", "no_cases", "tolerances",
                        "deterministic", "max_threads", "steady_allocations", "cancel_ms",
                        "estimate_factor", "fallback_kernels", "init_ms", "seconds_per_test"}));
    SubjectBackend out;
    out.id = id;
    if (const auto options = at.find("options")) {
      TENON_TRY(out.options, read_options(*options));
    }
    if (const auto specs = at.find("runtime_specs")) {
      TENON_TRY(out.runtime_specs, read_options(*specs));
    }
    if (const auto cases = at.find("cases")) {
      TENON_TRY(out.cases, read_case_list(*cases));
    }
    if (const auto reason = at.find("no_cases")) {
      TENON_TRY(out.no_cases, read_words(*reason));
      if (!out.cases.empty()) return at.wrong("it has both cases and no_cases");
    }
    if (const auto limits = at.find("tolerances")) {
      TENON_TRY(out.tolerances, read_tolerances(*limits));
    }
    if (const auto deterministic = at.find("deterministic")) {
      TENON_TRY(out.deterministic, deterministic->boolean());
    }
    if (const auto threads = at.find("max_threads")) {
      TENON_TRY(out.max_threads, threads->count());
    }
    if (const auto allocations = at.find("steady_allocations")) {
      TENON_TRY(out.steady_allocations, allocations->count());
    }
    if (const auto limit = at.find("cancel_ms")) {
      TENON_TRY(out.cancel_ms, limit->count());
    }
    if (const auto factor = at.find("estimate_factor")) {
      const auto number = factor->real();
      if (!number.ok() || !(*number >= 1 && *number <= 1e6)) {
        return factor->wrong_type("a number from 1 to 1000000");
      }
      out.estimate_factor = *number;
    }
    if (const auto init = at.find("init_ms")) {
      TENON_TRY(out.init_ms, init->count());
    }
    if (const auto seconds = at.find("seconds_per_test")) {
      if (!out.init_ms) return at.wrong("seconds_per_test needs init_ms");
      TENON_TRY(out.seconds_per_test, seconds->count());
    }
    if (const auto kernels = at.find("fallback_kernels")) {
      TENON_TRY(const std::filesystem::path file, read_file_path(*kernels, directory_));
      TENON_TRY(const std::string text, detail::read_settings(file));
      out.fallback_kernels = functions_in(text);
    }
    return out;
  }

  /// Lines that are names of C functions. Other lines of such a list are comments, and operators by
  /// PyTorch's own names.
  static std::vector<std::string> functions_in(std::string_view text) {
    std::vector<std::string> out;
    for (std::string_view line : split(text, '\n')) {
      line = line.substr(0, line.find_first_of(" \t\r#"));
      if (line.starts_with("aoti_torch_")) out.emplace_back(line);
    }
    return out;
  }

  Result<std::vector<Case>> read_case_list(const JsonAt& list) const {
    std::vector<Case> out;
    TENON_RETURN_IF_ERROR(list.each_element(
        [&](const JsonAt& at) -> Status {
          TENON_TRY(const std::filesystem::path place, read_path(at, directory_));
          auto cases = read_cases(place);
          if (!cases.ok()) return std::move(cases).status().with_context(at.place());
          for (Case& of_place : *cases) {
            const auto same = std::ranges::find(out, of_place.name, &Case::name);
            if (same != out.end()) {
              return at.wrong("there are two cases with the name ", host::quoted(of_place.name),
                              ": ", same->directory.string(), " and ", of_place.directory.string());
            }
            out.push_back(std::move(of_place));
          }
          return ok();
        },
        "an array of paths"));
    return out;
  }

  /// Reads the member `key` of `item`, a text that is not empty.
  static Status read_member(const JsonAt& item, std::string_view key, std::string& out) {
    TENON_TRY(const JsonAt at, item.member(key, "a text that is not empty"));
    TENON_TRY(out, read_words(at));
    return ok();
  }

  /// One `T` from each object of the array `key`, which may be absent: what the member `of` names,
  /// and the reason.
  template <class T>
  static Result<std::vector<T>> read_reasons(const JsonAt& root, std::string_view key,
                                             std::string_view of) {
    const auto list = root.find(key);
    if (!list) return std::vector<T>();
    return list->list<T>(
        [&](const JsonAt& item) -> Result<T> {
          TENON_RETURN_IF_ERROR(check_keys(item, {std::string(of), "reason"}));
          T one;
          one.where = item.where();
          TENON_RETURN_IF_ERROR(read_member(item, of, named_by(one)));
          TENON_RETURN_IF_ERROR(read_member(item, "reason", one.reason));
          return one;
        },
        "an array of objects");
  }
  static std::string& named_by(Declaration& one) { return one.test; }
  template <class Pattern>
  static std::string& named_by(Pattern& one) {
    return one.pattern;
  }

  static Result<std::vector<TestVariable>> read_environment(const JsonAt& root) {
    std::vector<TestVariable> out;
    const auto list = root.find("environment");
    if (!list) return out;
    const auto read_variable = [&](const JsonAt& item) -> Status {
      TENON_RETURN_IF_ERROR(check_keys(item, {"name", "reason", "value"}));
      TestVariable one;
      TENON_RETURN_IF_ERROR(read_member(item, "name", one.name));
      TENON_RETURN_IF_ERROR(read_member(item, "reason", one.reason));
      TENON_TRY(const JsonAt value, item.member("value", "a text"));
      TENON_TRY(one.value, printable_text(value));
      TENON_TRY(const JsonAt name, item.member("name"));
      TENON_RETURN_IF_ERROR(check_variable(one, name, out));
      out.push_back(std::move(one));
      return ok();
    };
    TENON_RETURN_IF_ERROR(list->each_element(read_variable, "an array of objects"));
    return out;
  }

  /// The kit chooses the directory for temporary files, and how a host behaves.
  static Status check_variable(const TestVariable& one, const JsonAt& at,
                               const std::vector<TestVariable>& others) {
    if (one.name.find('=') != std::string::npos) {
      return at.wrong("expected a name without '=', found ", host::quoted(one.name));
    }
    if (one.name == "TMPDIR" || one.name == "TEMP" || one.name == "TMP" ||
        one.name.starts_with("TENON_")) {
      return at.wrong("expected a variable of the plugin, found ", host::quoted(one.name),
                      ", which the kit decides about");
    }
    const bool is_twice = std::ranges::any_of(
        others, [&](const TestVariable& other) { return other.name == one.name; });
    return is_twice ? at.wrong("there are two variables ", host::quoted(one.name)) : ok();
  }

  const std::filesystem::path& directory_;
};

}  // namespace

Result<Subject> read_subject(const std::filesystem::path& path) {
  std::error_code code;
  const std::filesystem::path file = std::filesystem::absolute(path, code).lexically_normal();
  TENON_TRY(const std::string text, detail::read_settings(file));
  auto out = parse_subject(text, file.string(), file.parent_path());
  if (out.ok()) out->file = file;
  return out;
}

Result<Subject> parse_subject(std::string_view text, std::string_view name,
                              const std::filesystem::path& directory) {
  TENON_TRY(const auto json, parse_json_object(text, name, Error::InvalidArgument));
  return SubjectReader(directory).read(JsonAt(json, name, Error::InvalidArgument));
}

}}}  // namespace tenon::TENON_RELEASE::conformance
