// SPDX-License-Identifier: MIT
#include "tenon/conformance/subject.hpp"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "kit/case/settings_reader.hpp"
#include "tenon/abi/backend.h"
#include "tenon/conformance/case.hpp"
#include "tenon/core/lists.hpp"
#include "tenon/host/files/quoted.hpp"

namespace tenon::inline TENON_RELEASE::conformance {

namespace {

/// Converts JSON to a subject. Paths are relative to the directory of the file.
class SubjectReader : private detail::SettingsReader {
 public:
  SubjectReader(std::string_view name, const std::filesystem::path& directory)
      : SettingsReader(name), directory_(directory) {}

  [[nodiscard]] Result<Subject> read(std::string_view text) const {
    TENON_TRY(const Json root, parse_object(text));
    TENON_RETURN_IF_ERROR(
        check_keys(root, "",
                   {"$schema", "plugin", "backends", "unsupported", "expected_failure",
                    "left_files", "printed_lines", "environment"}));
    Subject out;
    if (const Json* value = find(root, "plugin")) {
      TENON_TRY(out.plugin, read_file_path(*value, "plugin", directory_));
    }
    if (const Json* value = find(root, "backends")) {
      TENON_RETURN_IF_ERROR(check_object(*value, "backends", "an object of backends by id"));
      for (const auto& [id, backend] : value->items()) {
        TENON_RETURN_IF_ERROR(check_printable(id, "a key of backends"));
        TENON_TRY(out.backends.emplace_back(), read_backend(id, backend));
      }
    }
    TENON_TRY(out.unsupported_tests, read_declarations(root, "unsupported"));
    TENON_TRY(out.expected_failure_tests, read_declarations(root, "expected_failure"));
    TENON_TRY(out.left_files, read_patterns<LeftFiles>(root, "left_files"));
    TENON_TRY(out.printed_lines, read_patterns<PrintedLines>(root, "printed_lines"));
    TENON_TRY(out.environment, read_environment(root));
    return out;
  }

 private:
  Result<SubjectBackend> read_backend(const std::string& id, const Json& value) const {
    const std::string where = member("backends", id);
    if (id.empty() || id.size() >= TENON_ID_SIZE) {
      return wrong(where, "the id has ", id.size(), " bytes, expected 1 to ", TENON_ID_SIZE - 1);
    }
    TENON_RETURN_IF_ERROR(check_object(value, where, "an object"));
    TENON_RETURN_IF_ERROR(
        check_keys(value, where,
                   {"options", "runtime_specs", "cases", "no_cases", "tolerances", "deterministic",
                    "max_threads", "steady_allocations", "cancel_ms", "estimate_factor",
                    "fallback_kernels", "init_ms", "seconds_per_test"}));
    SubjectBackend out;
    out.id = id;
    if (const Json* options = find(value, "options")) {
      TENON_TRY(out.options, read_options(*options, where + ".options"));
    }
    if (const Json* specs = find(value, "runtime_specs")) {
      TENON_TRY(out.runtime_specs, read_options(*specs, where + ".runtime_specs"));
    }
    if (const Json* cases = find(value, "cases")) {
      TENON_TRY(out.cases, read_case_list(*cases, where + ".cases"));
    }
    if (const Json* reason = find(value, "no_cases")) {
      TENON_TRY(out.no_cases, read_words(*reason, where + ".no_cases"));
      if (!out.cases.empty()) return wrong(where, "it has both cases and no_cases");
    }
    if (const Json* limits = find(value, "tolerances")) {
      TENON_TRY(out.tolerances, read_tolerances(*limits, where + ".tolerances"));
    }
    if (const Json* deterministic = find(value, "deterministic")) {
      TENON_TRY(out.deterministic, read_bool(*deterministic, where + ".deterministic"));
    }
    if (const Json* threads = find(value, "max_threads")) {
      TENON_TRY(out.max_threads, read_count(*threads, where + ".max_threads"));
    }
    if (const Json* allocations = find(value, "steady_allocations")) {
      TENON_TRY(out.steady_allocations, read_count(*allocations, where + ".steady_allocations"));
    }
    if (const Json* limit = find(value, "cancel_ms")) {
      TENON_TRY(out.cancel_ms, read_count(*limit, where + ".cancel_ms"));
    }
    if (const Json* factor = find(value, "estimate_factor")) {
      const std::string at = where + ".estimate_factor";
      if (!factor->is_number() || !(factor->get<double>() >= 1 && factor->get<double>() <= 1e6)) {
        return wrong(at, "expected a number from 1 to 1000000");
      }
      out.estimate_factor = factor->get<double>();
    }
    if (const Json* init = find(value, "init_ms")) {
      TENON_TRY(out.init_ms, read_count(*init, where + ".init_ms"));
    }
    if (const Json* seconds = find(value, "seconds_per_test")) {
      if (!out.init_ms) return wrong(where, "seconds_per_test needs init_ms");
      TENON_TRY(out.seconds_per_test, read_count(*seconds, where + ".seconds_per_test"));
    }
    if (const Json* kernels = find(value, "fallback_kernels")) {
      TENON_TRY(const std::filesystem::path file,
                read_file_path(*kernels, where + ".fallback_kernels", directory_));
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

  Result<std::vector<Case>> read_case_list(const Json& value, const std::string& where) const {
    TENON_RETURN_IF_ERROR(check_array(value, where, "an array of paths"));
    std::vector<Case> out;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string at = concat(where, "[", i, "]");
      TENON_TRY(const std::filesystem::path place, read_path(value[i], at, directory_));
      auto cases = read_cases(place);
      if (!cases.ok()) return std::move(cases).status().with_context(concat(name(), ": ", at));
      for (Case& of_place : *cases) {
        const auto same = std::find_if(out.begin(), out.end(),
                                       [&](const Case& one) { return one.name == of_place.name; });
        if (same != out.end()) {
          return wrong(at, "there are two cases with the name ", host::quoted(of_place.name), ": ",
                       same->directory.string(), " and ", of_place.directory.string());
        }
        out.push_back(std::move(of_place));
      }
    }
    return out;
  }

  /// A member of `item` that must be there, by its name, and the text to read it into.
  using NamedText = std::pair<const char*, std::string*>;

  /// Reads `item`, an object of texts that are not empty and of nothing else.
  Status read_texts(const Json& item, const std::string& where,
                    std::initializer_list<NamedText> members,
                    std::initializer_list<const char*> others = {}) const {
    TENON_RETURN_IF_ERROR(check_object(item, where, "an object"));
    std::vector<std::string> keys(others.begin(), others.end());
    for (const auto& [name, text] : members) keys.emplace_back(name);
    TENON_RETURN_IF_ERROR(check_keys(item, where, keys));
    for (const auto& [name, text] : members) {
      const std::string at = member(where, name);
      const Json* const found = find(item, name);
      if (!found) return wrong(at, "is missing, expected a text that is not empty");
      TENON_TRY(*text, read_words(*found, at));
    }
    return ok();
  }

  /// Calls `read(item, where)` for each object of the array `key`, which may be absent.
  template <class Read>
  Status read_items(const Json& root, const char* key, const Read& read) const {
    const Json* const value = find(root, key);
    if (!value) return ok();
    TENON_RETURN_IF_ERROR(check_array(*value, key, "an array of objects"));
    for (std::size_t i = 0; i < value->size(); ++i) {
      TENON_RETURN_IF_ERROR(read((*value)[i], concat(std::string_view(key), "[", i, "]")));
    }
    return ok();
  }

  Result<std::vector<Declaration>> read_declarations(const Json& root, const char* key) const {
    std::vector<Declaration> out;
    TENON_RETURN_IF_ERROR(read_items(root, key, [&](const Json& item, const std::string& where) {
      Declaration& one = out.emplace_back();
      one.where = where;
      return read_texts(item, where, {{"test", &one.test}, {"reason", &one.reason}});
    }));
    return out;
  }

  template <class Pattern>
  Result<std::vector<Pattern>> read_patterns(const Json& root, const char* key) const {
    std::vector<Pattern> out;
    TENON_RETURN_IF_ERROR(read_items(root, key, [&](const Json& item, const std::string& where) {
      Pattern& one = out.emplace_back();
      one.where = where;
      return read_texts(item, where, {{"pattern", &one.pattern}, {"reason", &one.reason}});
    }));
    return out;
  }

  Result<std::vector<TestVariable>> read_environment(const Json& root) const {
    std::vector<TestVariable> out;
    const auto read = [&](const Json& item, const std::string& where) -> Status {
      TestVariable one;
      TENON_RETURN_IF_ERROR(
          read_texts(item, where, {{"name", &one.name}, {"reason", &one.reason}}, {"value"}));
      const std::string at = member(where, "value");
      const Json* const value = find(item, "value");
      if (!value) return wrong(at, "is missing, expected a text");
      TENON_TRY(one.value, read_text(*value, at));
      TENON_RETURN_IF_ERROR(check_variable(one, where, out));
      out.push_back(std::move(one));
      return ok();
    };
    TENON_RETURN_IF_ERROR(read_items(root, "environment", read));
    return out;
  }

  /// The kit chooses the directory for temporary files, and how a host behaves.
  Status check_variable(const TestVariable& one, const std::string& where,
                        const std::vector<TestVariable>& others) const {
    const std::string at = member(where, "name");
    if (one.name.find('=') != std::string::npos) {
      return wrong(at, "expected a name without '=', found ", host::quoted(one.name));
    }
    if (one.name == "TMPDIR" || one.name == "TEMP" || one.name == "TMP" ||
        one.name.starts_with("TENON_")) {
      return wrong(at, "expected a variable of the plugin, found ", host::quoted(one.name),
                   ", which the kit decides about");
    }
    const bool is_twice = std::ranges::any_of(
        others, [&](const TestVariable& other) { return other.name == one.name; });
    return is_twice ? wrong(at, "there are two variables ", host::quoted(one.name)) : ok();
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
  return SubjectReader(name, directory).read(text);
}

}  // namespace tenon::inline TENON_RELEASE::conformance
