// SPDX-License-Identifier: MIT
//
// Lists the backends that a host would find. docs/tenon-list.md describes it.
#include <cstdio>
#include <new>
#include <string>
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

ExitCode fail(const tenon::Status& why) {
  std::fputs(tenon::error_line("tenon-list", why).c_str(), stderr);
  return ExitCode::wrong_usage;
}

// Standard output may be a file on a full disk: what cannot be written is not success.
ExitCode print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return ExitCode::success;
  return fail(tenon::error(tenon::Error::AccessFailed, "standard output cannot be written"));
}

std::string list(const Arguments& arguments) {
  tenon::host::BackendRegistry registry;
  registry.add_search(tenon::host::discovery());
  const Listing listing = make_listing(registry, arguments.tags);
  if (arguments.json) return to_json(listing);
  return to_text(listing, {.all = arguments.all,
                           .places = arguments.places,
                           .color = tenon::use_color(arguments.color)});
}

ExitCode run(int argc, char** argv) {
  const auto parsed = parse_arguments(argc, argv);
  if (!parsed.ok()) return fail(tenon::error(parsed.error(), parsed.text()));
  if (const auto* only = std::get_if<PrintAndExit>(&*parsed)) return print(only->text);
  return print(list(std::get<Arguments>(*parsed)));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return static_cast<int>(run(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fputs("tenon-list: MemoryAllocationFailed (0x21): out of memory\n", stderr);
    return static_cast<int>(ExitCode::wrong_usage);
  }
}
