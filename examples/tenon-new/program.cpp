// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "create.hpp"
#include "names.hpp"
#include "templates.hpp"
#include "tenon/core/concat.hpp"
#include "tool.hpp"

namespace {

namespace fs = std::filesystem;
using namespace tenon::make_new;

using tenon::Error;
using tenon::ExitCode;
using tenon::Status;

constexpr std::string_view tool = "tenon-new";

ExitCode code_of(const Status& failure) {
  if (failure.error() == Error::AccessFailed) return ExitCode::failed;
  const bool is_usage =
      failure.error() == Error::InvalidArgument || failure.error() == Error::NotFound;
  return is_usage ? ExitCode::wrong_usage : ExitCode::invalid_file;
}

tenon::Result<std::string> list(const TemplatePlaces& places) {
  TENON_TRY(const fs::path folder, find_templates(places));
  TENON_TRY(const auto templates, list_templates(folder));
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
  TENON_TRY(const Names names, names_of(arguments.name));
  TENON_TRY(const fs::path folder, find_templates(places));
  TENON_TRY(const Template chosen, find_template(folder, arguments.template_name));
  const fs::path target = fs::path(arguments.folder) / names.snake;
  TENON_TRY(const std::size_t num_files, create(chosen.folder, target, names));
  const std::string shown = target.lexically_normal().native();
  return tenon::concat(shown, ": ", num_files, " files; the backend's id is ", names.pascal,
                       "Backend\nnext: make -C ", shown, " check\n");
}

ExitCode run(int argc, char** argv, const TemplatePlaces& places) {
  auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) return tenon::fail(tool, std::move(parsed).status(), ExitCode::wrong_usage);
  if (const auto* only = std::get_if<tenon::PrintAndExit>(&*parsed)) {
    return tenon::print(tool, only->text, ExitCode::success);
  }
  const auto& arguments = std::get<Arguments>(*parsed);
  auto text = arguments.list ? list(places) : make(arguments, places);
  if (!text.ok()) {
    const Status failure = std::move(text).status();
    return tenon::fail(tool, failure, code_of(failure));
  }
  return tenon::print(tool, *text, ExitCode::success);
}

}  // namespace

int tenon::make_new::run_program(int argc, char** argv, const TemplatePlaces& places) {
  try {
    return static_cast<int>(run(argc, argv, places));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-new: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::failed);
  }
}
