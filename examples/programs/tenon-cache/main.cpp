// SPDX-License-Identifier: MIT
//
// Lists what plugins prepared and a host keeps. docs/hosts/prepared.md describes it.
#include <filesystem>
#include <system_error>
#include <utility>

#include "arguments.hpp"
#include "report.hpp"
#include "tenon/host/prepared.hpp"
#include "terminate.hpp"
#include "tool.hpp"

namespace tenon::cache { namespace {

Result<Report> make_report(const Arguments& arguments) {
  Report out;
  out.directory = arguments.directory;
  if (out.directory.empty()) {
    TENON_TRY(out.directory, host::default_prepared_directory());
  }
  std::error_code none;
  // `PreparedCache::open` would create it.
  if (!std::filesystem::exists(out.directory, none)) return out;
  TENON_TRY(const host::PreparedCache cache, host::PreparedCache::open(out.directory));
  if (arguments.prune) {
    TENON_TRY(out.num_removed, cache.prune(*arguments.prune));
  }
  TENON_TRY(auto entries, cache.list());
  for (host::PreparedEntry& entry : entries) {
    Report::File file{std::move(entry), {}};
    if (arguments.verify) file.verified = cache.verify(file.entry.name);
    out.files.push_back(std::move(file));
  }
  return out;
}

tool::Outcome run(const Arguments& arguments) {
  auto report = make_report(arguments);
  if (!report.ok()) {
    return tool::Outcome::failed(tool::ExitCode::wrong_usage, std::move(report).status());
  }
  tool::Outcome outcome;
  outcome.output = arguments.json ? to_json(*report) : to_text(*report);
  for (const Report::File& file : report->files) {
    if (file.verified && !file.verified->ok()) outcome.code = tool::ExitCode::failed;
  }
  return outcome;
}

}}  // namespace tenon::cache

int main(int argc, char** argv) {
  return tenon::tool::main("tenon-cache", argc, argv, &tenon::cache::parse_arguments,
                           &tenon::cache::run);
}
