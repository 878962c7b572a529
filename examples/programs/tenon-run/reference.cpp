// SPDX-License-Identifier: MIT
//
// `run`: one session, or with --compare-layers two.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "layers.hpp"
#include "run.hpp"
#include "session.hpp"
#include "tenon/host/loader/plugin/peek.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"

namespace tenon::run {
namespace {

/// The command line of the run that `arguments` is compared with.
Arguments reference_of(const Arguments& arguments, bool& same_program) {
  Arguments out = arguments;
  for (std::string* unused :
       {&out.output, &out.labels, &out.trace, &out.compare_layers, &out.plot}) {
    unused->clear();
  }
  out.expected.clear();
  out.top = 0;
  out.repeat = 1;
  const auto plugin = host::peek(host::path_of(arguments.compare_layers));
  same_program = plugin.ok();
  if (!same_program) {
    out.model = arguments.compare_layers;
    out.options.clear();  // They are of the backends of the other program.
    return out;
  }
  const auto is_replaced = [&](const std::string& path) {
    const auto other = host::peek(host::path_of(path));
    return other.ok() && std::ranges::any_of(other->backends, [&](const auto& backend) {
             return std::ranges::any_of(plugin->backends,
                                        [&](const auto& own) { return own.id == backend.id; });
           });
  };
  std::erase_if(out.plugins, is_replaced);
  out.plugins.push_back(arguments.compare_layers);
  return out;
}

/// The run that `arguments` asks for, then its reference, and their layers.
Report run_with_reference(const Arguments& arguments) {
  RecordedRun found;
  RecordedRun expected;
  Report report = Session(arguments, &found).run();
  if (!report.failure.ok()) return report;
  bool same_program = false;
  const Arguments reference = reference_of(arguments, same_program);
  Report other = Session(reference, &expected).run();
  const auto fail = [&](ExitCode code, Status why) {
    report.code = code;
    report.failure = std::move(why).with_context("--compare-layers");
    return std::move(report);
  };
  if (!other.failure.ok()) return fail(other.code, std::move(other.failure));
  auto layers = compare_layers(found, expected, same_program, {arguments.rtol, arguments.atol});
  if (!layers.ok()) return fail(ExitCode::wrong_usage, std::move(layers).status());
  layers->reference = arguments.compare_layers;
  if (!arguments.plot.empty()) {
    const std::string svg = layers_svg(*layers);
    Status written =
        host::write_file(host::path_of(arguments.plot), {std::as_bytes(std::span(svg))});
    if (!written.ok()) return fail(ExitCode::wrong_usage, std::move(written));
    report.plot = arguments.plot;
  }
  if (layers->first) report.code = ExitCode::failed;
  report.layers = *std::move(layers);
  return report;
}

}  // namespace

Report run(const Arguments& arguments) {
  if (arguments.compare_layers.empty()) return Session(arguments).run();
  return run_with_reference(arguments);
}

}  // namespace tenon::run
