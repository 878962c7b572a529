// SPDX-License-Identifier: MIT
#include "tenon/conformance/case.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "kit/case/settings_reader.hpp"
#include "tenon/host/layers/discovery/impl/glob.hpp"
#include "tenon/host/layers/discovery/impl/hand_written_json.hpp"
#include "tenon/host/loader/files/quoted.hpp"
#include "tenon/host/platform/list_directory.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

using namespace detail;
using namespace host::detail;

constexpr std::string_view case_file_name = "case.json";
constexpr std::string_view program_file_name = "model.pte";

/// Whether the directory `directory` holds a case.
[[nodiscard]] bool is_case_directory(const std::filesystem::path& directory) {
  std::error_code code;
  return std::filesystem::is_regular_file(directory / case_file_name, code) ||
         std::filesystem::is_regular_file(directory / program_file_name, code);
}

/// Names of the files in `directory` that end in `ending`, sorted.
[[nodiscard]] Result<std::vector<std::string>> list_files(const std::filesystem::path& directory,
                                                          std::string_view ending) {
  TENON_TRY(std::vector<std::string> out, host::list_directory(directory));
  std::erase_if(out, [&](const std::string& name) { return !name.ends_with(ending); });
  return out;
}

/// The files PREFIX_0.npy, PREFIX_1.npy, ... of `directory`. A missing number is an error: files
/// after it would not be read, and the test would do less than it seems to.
[[nodiscard]] Result<std::vector<CaseValue>> numbered_files(const std::filesystem::path& directory,
                                                            std::string_view prefix) {
  TENON_TRY(const auto names, list_files(directory, ".npy"));
  std::map<std::size_t, std::string> found;
  for (const std::string& name : names) {
    std::string_view number = name;
    if (!number.starts_with(prefix)) continue;
    number.remove_prefix(prefix.size());
    number.remove_suffix(std::string_view(".npy").size());
    std::size_t index = 0;
    const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (code != std::errc() || end != number.data() + number.size()) continue;
    found.emplace(index, name);
  }
  std::vector<CaseValue> out;
  for (const auto& [index, name] : found) {
    if (index != out.size()) {
      return error(Error::InvalidArgument, directory.string(), ": there is ", name, ", but no ",
                   prefix, out.size(), ".npy");
    }
    out.emplace_back(ArrayFile{directory / name});
  }
  return out;
}

/// Reads a case from its directory.
class CaseReader {
 public:
  explicit CaseReader(const std::filesystem::path& directory) : directory_(directory) {}

  /// `root` is what case.json holds.
  [[nodiscard]] Result<Case> read(const JsonAt& root) const {
    TENON_RETURN_IF_ERROR(
        check_keys(root, {"$schema", "name", "description", "program", "data", "method", "runs",
                          "tolerances", "runtime_specs", "made_by"}));
    Case out;
    TENON_TRY(out.name, read_name(root));
    out.directory = directory_;
    if (const auto at = root.find("description")) {
      TENON_TRY(out.description, printable_text(*at));
    }
    out.program = (directory_ / program_file_name).lexically_normal();
    if (const auto at = root.find("program")) {
      TENON_TRY(out.program, read_file_path(*at, directory_));
    } else if (std::error_code code; !std::filesystem::is_regular_file(out.program, code)) {
      return root.wrong("program: expected a file, found none at ",
                        host::quoted(out.program.string()));
    }
    TENON_TRY(out.data_files, read_data(root));
    if (const auto at = root.find("method")) {
      TENON_TRY(out.method, read_words(*at));
    }
    TENON_TRY(out.runs, read_runs(root));
    if (const auto at = root.find("tolerances")) {
      TENON_TRY(out.tolerances, read_tolerances(*at));
    }
    if (const auto at = root.find("runtime_specs")) {
      TENON_TRY(out.runtime_specs, read_runtime_specs(*at));
    }
    return out;
  }

 private:
  /// The name is part of the paths of tests, which reports show and globs match.
  Result<std::string> read_name(const JsonAt& root) const {
    const auto at = root.find("name");
    if (!at) return directory_.filename().string();
    TENON_TRY(std::string name, read_words(*at));
    if (name.find('/') != std::string::npos) return at->wrong_type("a text without '/'");
    return name;
  }

  Result<std::vector<std::filesystem::path>> read_data(const JsonAt& root) const {
    if (const auto at = root.find("data")) {
      return at->list<std::filesystem::path>(
          [&](const JsonAt& one) { return read_file_path(one, directory_); }, "an array of paths");
    }
    TENON_TRY(const auto names, list_files(directory_, ".ptd"));
    std::vector<std::filesystem::path> out;
    for (const std::string& name : names) out.push_back(directory_ / name);
    return out;
  }

  Result<std::vector<CaseRun>> read_runs(const JsonAt& root) const {
    if (const auto at = root.find("runs")) {
      TENON_RETURN_IF_ERROR(check_not_empty(*at));
      return at->list<CaseRun>([&](const JsonAt& one) { return read_run(one); });
    }
    std::vector<CaseRun> out(1);
    TENON_TRY(out[0].inputs, numbered_files(directory_, "input_"));
    TENON_TRY(out[0].expected, numbered_files(directory_, "expected_"));
    if (out[0].expected.empty()) {
      return root.wrong("runs: is missing, and so is expected_0.npy: nothing would be compared");
    }
    return out;
  }

  Result<CaseRun> read_run(const JsonAt& at) const {
    TENON_RETURN_IF_ERROR(check_keys(at, {"inputs", "expected", "fresh"}));
    CaseRun out;
    TENON_TRY(out.inputs, read_values(at, "inputs"));
    TENON_TRY(out.expected, read_values(at, "expected"));
    if (const auto fresh = at.find("fresh")) {
      TENON_TRY(out.fresh, fresh->boolean());
    }
    return out;
  }

  Result<std::vector<CaseValue>> read_values(const JsonAt& run, std::string_view key) const {
    constexpr std::string_view expected = "an array of files and numbers";
    TENON_TRY(const JsonAt at, run.member(key, expected));
    return at.list<CaseValue>([&](const JsonAt& one) { return read_value(one); }, expected);
  }

  Result<CaseValue> read_value(const JsonAt& at) const {
    const JsonAt::Json& value = at.json();
    if (value.is_null()) return CaseValue();
    if (value.is_boolean()) return CaseValue(value.get<bool>());
    if (value.is_number_float()) return CaseValue(value.get<double>());
    if (value.is_number_integer()) {
      TENON_TRY(const std::int64_t number, at.integer());
      return CaseValue(number);
    }
    if (value.is_string()) {
      TENON_TRY(std::filesystem::path path, read_file_path(at, directory_));
      return CaseValue(ArrayFile{std::move(path)});
    }
    const auto text_at = value.size() == 1 ? at.find("text") : std::nullopt;
    if (!text_at) {
      return at.wrong_type("a file, a number, true, false, null or {\"text\": \"...\"}");
    }
    TENON_TRY(const std::string_view text, text_at->characters());
    return CaseValue(std::string(text));
  }

  static Result<std::vector<host::BackendOption>> read_runtime_specs(const JsonAt& at) {
    std::vector<host::BackendOption> out;
    const auto read_specs = [&](const std::string& backend, const JsonAt& options) -> Status {
      TENON_RETURN_IF_ERROR(check_printable(at, "a key", backend));
      TENON_TRY(auto read, read_options(options));
      for (auto& [key, option] : read) {
        out.push_back({backend, std::move(key), std::move(option)});
      }
      return ok();
    };
    TENON_RETURN_IF_ERROR(at.each_member(read_specs, "an object of options by backend"));
    return out;
  }

  const std::filesystem::path& directory_;
};

/// The paths that match a pattern of glob(7), sorted.
[[nodiscard]] std::vector<std::filesystem::path> expand_glob(const std::filesystem::path& pattern) {
  std::vector<std::filesystem::path> out = {pattern.root_path()};
  for (const std::filesystem::path& part : pattern.relative_path()) {
    const std::string text = host::path_text(part);
    // A backslash takes the meaning from what follows it. On Windows it separates, and no part has
    // one.
    const bool is_pattern = text.find_first_of("*?[\\") != std::string::npos;
    std::vector<std::filesystem::path> next;
    for (const std::filesystem::path& directory : out) {
      if (!is_pattern) {
        next.push_back(directory / part);
        continue;
      }
      const auto names = host::list_directory(directory.empty() ? "." : directory);
      if (!names.ok()) continue;
      for (const std::string& name : *names) {
        const bool is_hidden = name.starts_with('.') && !text.starts_with('.');
        if (!is_hidden && host::matches_glob(text, name)) {
          next.push_back(directory / host::path_of(name));
        }
      }
    }
    out = std::move(next);
  }
  std::erase_if(out, [](const std::filesystem::path& path) {
    std::error_code failed;
    return !std::filesystem::exists(path, failed);
  });
  std::ranges::sort(out);
  return out;
}

}  // namespace

Result<Case> read_case(const std::filesystem::path& directory) {
  std::error_code code;
  // Also for a path that ends in "." or "/", the last part must be a name.
  std::filesystem::path where = std::filesystem::absolute(directory, code).lexically_normal();
  if (where.filename().empty()) where = where.parent_path();
  if (!std::filesystem::is_directory(where, code)) {
    return error(Error::AccessFailed, where.string(), ": expected the directory of a case, found ",
                 std::filesystem::exists(where, code) ? "a file" : "nothing");
  }
  const std::filesystem::path file = where / case_file_name;
  std::string text = "{}";
  if (std::filesystem::exists(file, code)) {
    TENON_TRY(text, detail::read_settings(file));
  }
  return parse_case(text, file.string(), where);
}

Result<Case> parse_case(std::string_view text, std::string_view name,
                        const std::filesystem::path& directory) {
  TENON_TRY(const auto json, parse_json_object(text, name, Error::InvalidArgument));
  return CaseReader(directory).read(JsonAt(json, name, Error::InvalidArgument));
}

Result<std::vector<Case>> read_cases(const std::filesystem::path& place) {
  std::error_code code;
  std::vector<std::filesystem::path> directories;
  for (const std::filesystem::path& path : expand_glob(place)) {
    if (is_case_directory(path)) {
      directories.push_back(path);
      continue;
    }
    if (!std::filesystem::is_directory(path, code)) continue;
    TENON_TRY(const std::vector<std::string> names, host::list_directory(path));
    for (const std::string& name : names) {
      if (is_case_directory(path / host::path_of(name)))
        directories.push_back(path / host::path_of(name));
    }
  }
  if (directories.empty()) {
    return error(Error::NotFound, place.string(), ": expected a directory with ", case_file_name,
                 " or ", program_file_name, ", found none");
  }
  std::vector<Case> out;
  for (const std::filesystem::path& directory : directories) {
    TENON_TRY(out.emplace_back(), read_case(directory));
  }
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
