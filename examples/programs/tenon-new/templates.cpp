// SPDX-License-Identifier: MIT
#include "templates.hpp"

#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "program_path.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/environment.hpp"
#include "tenon/host/platform/list_directory.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"

namespace tenon::make_new {
namespace {

namespace fs = std::filesystem;
using host::path_of;
using host::path_text;

/// A template has a README, which says what it is.
Result<std::string> first_line_of(const fs::path& readme) {
  TENON_TRY(const std::string text, host::read_file(readme));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != '#' && line.front() != '<') return line;
  }
  return std::string();
}

}  // namespace

Result<fs::path> find_templates(const TemplatePlaces& places) {
  std::error_code failure;
  if (const auto chosen = host::environment_variable("TENON_TEMPLATES")) {
    if (fs::is_directory(path_of(*chosen), failure)) return path_of(*chosen);
    return error(Error::NotFound, "TENON_TEMPLATES is '", *chosen, "', which is no directory");
  }
  std::string tried;
  const fs::path own = program_path().parent_path();
  const fs::path next_to_it = own.empty() ? fs::path() : (own / places.from_bin);
  for (const fs::path& place : {host::normal_path(next_to_it), fs::path(places.installed)}) {
    if (place.empty()) continue;
    if (fs::is_directory(place, failure)) return place;
    tried += concat(tried.empty() ? "" : ", ", path_text(place));
  }
  return error(Error::NotFound, "there are no templates: TENON_TEMPLATES is not set, and there is ",
               "no directory ", tried);
}

Result<std::vector<Template>> list_templates(const fs::path& directory) {
  std::vector<Template> out;
  TENON_TRY(const std::vector<std::string> names, host::list_directory(directory));
  for (const std::string& name : names) {
    const fs::path readme = directory / path_of(name) / "README.md";
    std::error_code unreadable;
    if (!fs::is_regular_file(readme, unreadable)) continue;
    TENON_TRY(std::string description, first_line_of(readme));
    out.push_back({name, directory / path_of(name), std::move(description)});
  }
  if (out.empty()) {
    return error(Error::NotFound, path_text(directory),
                 ": holds no template: expected directories with a README.md");
  }
  return out;
}

Result<Template> find_template(const fs::path& directory, std::string_view name) {
  TENON_TRY(std::vector<Template> all, list_templates(directory));
  std::string known;
  for (Template& one : all) {
    if (one.name == name) return std::move(one);
    known += concat(known.empty() ? "" : ", ", one.name);
  }
  return error(Error::NotFound, "template '", name, "': ", path_text(directory), " has ", known);
}

}  // namespace tenon::make_new
