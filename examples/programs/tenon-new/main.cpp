// SPDX-License-Identifier: MIT
//
// Makes a directory with a new backend out of a template. docs/getting-started/tenon-new.md
// describes it.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "arguments.hpp"
#include "create.hpp"
#include "names.hpp"
#include "templates.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/normal_path.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::make_new { namespace {

namespace fs = std::filesystem;
using tool::ExitCode;

constexpr TemplatePlaces places = {TENON_TEMPLATES_FROM_BIN, TENON_TEMPLATES_INSTALLED};

ExitCode code_of(Error error) {
  if (error == Error::AccessFailed || error == Error::OutOfResources) return ExitCode::failed;
  const bool is_usage = error == Error::InvalidArgument || error == Error::NotFound;
  return is_usage ? ExitCode::wrong_usage : ExitCode::invalid_file;
}

Result<std::string> list() {
  TENON_TRY(const fs::path directory, find_templates(places));
  TENON_TRY(const auto templates, list_templates(directory));
  std::size_t widest = 0;
  for (const Template& one : templates) widest = std::max(widest, one.name.size());
  std::string out;
  for (const Template& one : templates) {
    const std::string gap(widest - one.name.size() + 2, ' ');
    out += concat(one.name, gap, one.description, "\n");
  }
  return out;
}

Result<std::string> make(const Arguments& arguments) {
  TENON_TRY(const Names names, names_of(arguments.name, arguments.id));
  TENON_TRY(const fs::path directory, find_templates(places));
  TENON_TRY(const Template chosen, find_template(directory, arguments.template_name));
  const fs::path target = host::path_of(arguments.directory) / names.snake;
  TENON_TRY(const std::size_t num_files, create(chosen.directory, target, names));
  const std::string shown = host::path_text(host::normal_path(target));
  std::error_code unknown;
  const bool is_package = fs::is_regular_file(target / "pyproject.toml", unknown);
  const std::string next = is_package
                               ? concat("pip install ", target.is_absolute() ? "" : "./", shown)
                               : concat("make -C ", shown, " check");
  return concat(shown, ": ", num_files, " files; the backend's id is ", names.id, "\nnext: ", next,
                "\n");
}

tool::Outcome run(const Arguments& arguments) {
  auto text = arguments.list ? list() : make(arguments);
  if (text.ok()) return {.output = *std::move(text)};
  const ExitCode code = code_of(text.error());
  return tool::Outcome::failed(code, std::move(text).status());
}

}}  // namespace tenon::make_new

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-new", argc, argv, &tenon::make_new::parse_arguments,
                           &tenon::make_new::run);
}
