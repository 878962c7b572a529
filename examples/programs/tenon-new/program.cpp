// SPDX-License-Identifier: MIT
#include "program.hpp"

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
#include "tool.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tenon::make_new;

using tenon::Error;
using tenon::tool::ExitCode;

ExitCode code_of(Error error) {
  if (error == Error::AccessFailed || error == Error::OutOfResources) return ExitCode::failed;
  const bool is_usage = error == Error::InvalidArgument || error == Error::NotFound;
  return is_usage ? ExitCode::wrong_usage : ExitCode::invalid_file;
}

tenon::Result<std::string> list(const TemplatePlaces& places) {
  TENON_TRY(const fs::path directory, find_templates(places));
  TENON_TRY(const auto templates, list_templates(directory));
  std::size_t widest = 0;
  for (const Template& one : templates) widest = std::max(widest, one.name.size());
  std::string out;
  for (const Template& one : templates) {
    const std::string gap(widest - one.name.size() + 2, ' ');
    out += tenon::concat(one.name, gap, one.description, "\n");
  }
  return out;
}

tenon::Result<std::string> make(const Arguments& arguments, const TemplatePlaces& places) {
  TENON_TRY(const Names names, names_of(arguments.name, arguments.id));
  TENON_TRY(const fs::path directory, find_templates(places));
  TENON_TRY(const Template chosen, find_template(directory, arguments.template_name));
  const fs::path target = tenon::host::path_of(arguments.directory) / names.snake;
  TENON_TRY(const std::size_t num_files, create(chosen.directory, target, names));
  const std::string shown = tenon::host::path_text(tenon::host::normal_path(target));
  std::error_code unknown;
  const bool is_package = fs::is_regular_file(target / "pyproject.toml", unknown);
  const std::string next =
      is_package ? tenon::concat("pip install ", target.is_absolute() ? "" : "./", shown)
                 : tenon::concat("make -C ", shown, " check");
  return tenon::concat(shown, ": ", num_files, " files; the backend's id is ", names.id,
                       "\nnext: ", next, "\n");
}

}  // namespace

int tenon::make_new::run_program(int argc, char** argv, const TemplatePlaces& places) {
  const auto run = [&](const Arguments& arguments) -> tool::Outcome {
    auto text = arguments.list ? list(places) : make(arguments, places);
    if (text.ok()) return {.output = *std::move(text)};
    const ExitCode code = code_of(text.error());
    return tool::Outcome::failed(code, std::move(text).status());
  };
  return tool::main("tenon-new", argc, argv, &parse_arguments, run);
}
