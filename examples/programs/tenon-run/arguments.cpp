// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "budget.hpp"
#include "parse_command_line.hpp"
#include "tenon/host/layers/isolation/worker_settings.hpp"

namespace tenon::run {
namespace {

constexpr const char* footer =
    "Examples:\n"
    "  tenon-run model.pte --plugin libmy_backend.so --input x.npy\n"
    "  tenon-run model.pte --plugin libmy_backend.so --input x.npy --expect y.npy --rtol 1e-3\n"
    "  tenon-run model.pte --plugin libmy_backend.so --input x.npy --output results --json\n"
    "  tenon-run model.pte --plugin libmy_backend.so --input x.npy --repeat 100 --trace run.json\n"
    "  tenon-run model.pte --plugin libmy_backend.so --option MyBackend.threads=4 --input x.npy\n"
    "  tenon-run model.pte --plugin libmy_backend.so --embedded-code=deny --input x.npy\n"
    "  tenon-run model.pte --limit run_milliseconds=1000 --limit planned_bytes=2G --input x.npy\n"
    "  tenon-run npu.pte --plugin libnpu.so --input x.npy --compare-layers cpu.pte --plot x.svg\n"
    "  tenon-run model.pte --budget cpu=512M --memory --input x.npy\n"
    "  TENON_PLUGIN_PATH=/opt/acme/plugins tenon-run model.pte --input x.npy\n"
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  outputs or layers differ\n"
    "  2  wrong usage\n"
    "  3  the program or a plugin is not valid\n"
    "  4  no backend, init failed, or the program's native code is denied\n"
    "  5  execute failed\n";

// Each time takes a number in memory, for the median.
constexpr std::uint32_t max_repeat = 10'000'000;
constexpr std::uint32_t max_threads = 1024;

// A tolerance must be a number that something can be compared with.
std::string check_tolerance(const std::string& text) {
  double value = 0;
  if (!CLI::detail::lexical_cast(text, value) || !std::isfinite(value) || value < 0) {
    return "expected a number not below 0, found " + text;
  }
  return {};
}

// The limit has 64 bits of milliseconds; a year is enough for each run.
std::string check_timeout(const std::string& text) {
  double value = 0;
  constexpr double year = 365.0 * 24 * 3600;
  if (!CLI::detail::lexical_cast(text, value) || !(value >= 0.001 && value <= year)) {
    return "expected seconds from 0.001 to 31536000, found " + text;
  }
  return {};
}

}  // namespace

Result<std::variant<Arguments, PrintAndExit>> parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  CLI::App app("Runs one method of an ExecuTorch program (.pte) with the given plugins.",
               "tenon-run");
  app.add_option("MODEL", arguments.model, "The program")->required();
  app.add_option("--method", arguments.method,
                 "Name of the method (default: forward, or the only one)");
  app.add_option("--variant", arguments.variant,
                 "Variant of the method (default: the best that can run here, see "
                 "docs/hosts/variants.md)")
      ->type_name("NAME");
  app.add_option("--without-cpu-features", arguments.without_cpu_features,
                 "Choose plugins and variants as on a CPU that lacks these features (avx2,fma)")
      ->type_name("LIST");
  add_list(app, "--plugin", arguments.plugins, "FILE",
           "Plugin to use before all found plugins; repeatable");
  app.add_option("--isolate", arguments.isolate,
                 "Run each --plugin in a separate process with this profile: none, open, driver "
                 "or strict (Linux, see docs/hosts/isolation.md)")
      ->type_name("PROFILE")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(host::worker_profile_names),
                                                     std::end(host::worker_profile_names))));
  add_list(app, "--data", arguments.data, "FILE.ptd", "External data of the program; repeatable");
  add_list(app, "--input", arguments.inputs, "FILE.npy",
           "Input of the method, in order; once for each input");
  add_list(app, "--expect", arguments.expected, "FILE.npy",
           "Expected output, in order; once for each of the first outputs");
  app.add_option("--rtol", arguments.rtol,
                 "Relative tolerance for --expect and --compare-layers (default: by dtype, see "
                 "docs/tools/tenon-run.md)")
      ->check(CLI::Validator(check_tolerance, ""));
  app.add_option("--atol", arguments.atol,
                 "Absolute tolerance for --expect and --compare-layers (default: by dtype)")
      ->check(CLI::Validator(check_tolerance, ""));
  app.add_option("--output", arguments.output,
                 "Write output0.npy, output1.npy, ... to DIR, which is made if it is missing")
      ->type_name("DIR");
  add_list(app, "--option", arguments.options, "BACKEND.KEY=VALUE",
           "Option of a backend for this load; repeatable");
  std::string embedded_code = "allow";
  app.add_option("--embedded-code", embedded_code,
                 "Whether native code that the program carries may run: allow, deny or "
                 "sha256:HASH,... (default: allow)")
      ->type_name("POLICY");
  std::vector<std::string> limits;
  add_list(app, "--limit", limits, "NAME=VALUE",
           "Limit of the program, such as planned_bytes=2G; repeatable (see "
           "docs/hosts/limits.md)");
  std::vector<std::string> budget;
  add_list(app, "--budget", budget, "DEVICE=BYTES",
           "The most memory that the method may take on a device, such as cpu=2G or cuda:0=8G; "
           "repeatable (see docs/hosts/memory.md)");
  app.add_flag("--memory", arguments.memory,
               "Print the memory that the method holds after its runs");
  double timeout = 0;
  app.add_option("--timeout", timeout,
                 "End a run after S seconds, as --limit run_milliseconds does: between "
                 "instructions, and inside backends that can be cancelled")
      ->check(CLI::Validator(check_timeout, ""))
      ->type_name("S");
  app.add_option("--threads", arguments.threads,
                 "Give backends a pool of N threads (default: their own threads, see "
                 "docs/hosts/threads.md)")
      ->check(CLI::Range(std::uint32_t{1}, max_threads).description(""))
      ->type_name("N");
  app.add_flag("--prepared", arguments.prepared,
               "Cache what backends prepare from the program in TENON_PREPARED_DIR or the user's "
               "cache directory, for later loads (see docs/hosts/prepared.md)");
  const auto add_hint = [&app]<class Hint>(const char* name, Hint& to, const char* description,
                                           const std::map<std::string, Hint>& values) {
    std::vector<std::string> names;
    for (const auto& [text, value] : values) names.push_back(text);
    app.add_option_function<std::string>(
           name, [&to, values](const std::string& given) { to = values.at(given); }, description)
        ->check(CLI::IsMember(std::move(names)).description(""))
        ->type_name("HINT");
  };
  add_hint("--priority", arguments.scheduling.priority,
           "Priority on the device: low, normal or high (see docs/hosts/scheduling.md)",
           {{"low", Priority::Low}, {"normal", Priority::Normal}, {"high", Priority::High}});
  add_hint("--goal", arguments.scheduling.goal, "Goal of scheduling: latency or throughput",
           {{"latency", Goal::Latency}, {"throughput", Goal::Throughput}});
  add_hint("--power", arguments.scheduling.power, "Use of power: low, balanced or high",
           {{"low", Power::Low}, {"balanced", Power::Balanced}, {"high", Power::High}});
  app.add_option("--top", arguments.top,
                 "Print the N largest elements of each row of each floating-point output, as a "
                 "classifier's classes")
      ->check(CLI::Range(std::uint32_t{1}, max_repeat).description(""))
      ->type_name("N");
  app.add_option("--labels", arguments.labels, "Names of the classes for --top, one per line")
      ->type_name("FILE");
  app.add_option("--repeat", arguments.repeat, "Number of times to execute (default: 1)")
      ->check(CLI::Range(std::uint32_t{1}, max_repeat).description(""))
      ->type_name("N");
  app.add_option("--trace", arguments.trace, "Write a trace for Perfetto or chrome://tracing")
      ->type_name("FILE");
  app.add_option("--compare-layers", arguments.compare_layers,
                 "Run REFERENCE as well, another program for the same model or a plugin to use "
                 "instead, and report the first layer whose result differs")
      ->type_name("REFERENCE");
  app.add_option("--plot", arguments.plot, "Draw the differences of --compare-layers as SVG")
      ->needs("--compare-layers")
      ->type_name("FILE");
  app.add_flag("--json", arguments.json, "Print one JSON object instead of text");
  TENON_TRY(auto instead, parse_command_line(app, footer, argc, argv));
  if (instead) return std::variant<Arguments, PrintAndExit>(*std::move(instead));
  auto policy = host::EmbeddedCodePolicy::parse(embedded_code);
  if (!policy.ok()) return std::move(policy).status().with_context("--embedded-code");
  arguments.embedded_code = *std::move(policy);
  for (const std::string& limit : limits) {
    if (Status set = arguments.limits.set(limit); !set.ok()) {
      return std::move(set).with_context("--limit");
    }
  }
  for (const std::string& text : budget) {
    auto entry = tool::parse_budget(text);
    if (!entry.ok()) return std::move(entry).status().with_context("--budget");
    arguments.budget.push_back(*entry);
  }
  if (timeout != 0) {
    arguments.limits.of_host.run_milliseconds =
        static_cast<std::uint64_t>(std::llround(timeout * 1000));
  }
  return std::variant<Arguments, PrintAndExit>(std::move(arguments));
}

}  // namespace tenon::run
