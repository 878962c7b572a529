// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "color.hpp"
#include "listing.hpp"
#include "report.hpp"
#include "tenon/host/discovery.hpp"
#include "tool.hpp"

namespace {

using namespace tenon::list;

using tenon::ExitCode;

constexpr std::string_view tool = "tenon-list";

std::string list(const Arguments& arguments, const char* installed) {
  tenon::host::BackendRegistry registry;
  registry.add_search(tenon::host::discovery({.installed = installed}));
  const Listing listing = make_listing(registry, arguments.tags);
  if (arguments.json) return to_json(listing);
  return to_text(listing, {.all = arguments.all,
                           .places = arguments.places,
                           .color = tenon::use_color(arguments.color)});
}

ExitCode run(int argc, char** argv, const char* installed) {
  auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) return tenon::fail(tool, std::move(parsed).status(), ExitCode::wrong_usage);
  if (const auto* only = std::get_if<tenon::PrintAndExit>(&*parsed)) {
    return tenon::print(tool, only->text, ExitCode::success);
  }
  return tenon::print(tool, list(std::get<Arguments>(*parsed), installed), ExitCode::success);
}

}  // namespace

int tenon::list::run_program(int argc, char** argv, const char* installed) {
  try {
    return static_cast<int>(run(argc, argv, installed));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-list: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::wrong_usage);
  }
}
