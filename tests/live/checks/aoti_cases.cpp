// SPDX-License-Identifier: MIT
//
// Runs exported cases (a program, inputs, expected outputs) through plugins in this one process and
// compares. Other libraries can be loaded before, to show that they do not come between.

#include <dlfcn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <tenon/host.hpp>
#include <utility>
#include <vector>

#include "tenon/conformance/case.hpp"
#include "tenon/conformance/case_runner.hpp"

namespace {

namespace fs = std::filesystem;
using tenon::Error;
using tenon::Status;
using tenon::conformance::Case;
using tenon::conformance::CaseRunner;

struct Arguments {
  std::vector<std::string> plugins;
  std::string beside;
  std::vector<std::string> opened;
  std::vector<std::string> preload;
  std::vector<std::string> forbidden;
  std::vector<std::string> cases;
  int rounds = 1;
  std::int64_t threads = 0;  ///< Of CpuAotiBackend; 0: as many as it takes unasked.
};

/// The result of one case: the largest difference, or why it failed.
struct Outcome {
  Status status;
  std::size_t num_outputs = 0;
  double largest = 0;
};

tenon::Result<CaseRunner> load_case(const Case& of_case,
                                    const tenon::host::BackendRegistry& registry,
                                    std::int64_t threads) {
  tenon::host::MethodOptions options;
  options.registry = &registry;
  if (threads > 0) options.backend_options.push_back({"CpuAotiBackend", "threads", threads});
  return CaseRunner::load(of_case, std::move(options));
}

Status run_case(const Case& of_case, CaseRunner method, Outcome& outcome) {
  for (std::size_t run = 0; run < of_case.runs.size(); ++run) {
    TENON_TRY(const auto outputs, method.run(run, of_case.tolerances));
    for (const auto& output : outputs) {
      if (!output.equal) return tenon::error(Error::Internal, "run ", run, ": ", output.text);
      ++outcome.num_outputs;
      if (output.arrays.largest_absolute) {
        outcome.largest = std::max(outcome.largest, output.arrays.largest_absolute->absolute);
      }
    }
  }
  return tenon::ok();
}

/// Loads a case, and the same one through another plugin if there is one, and runs
/// both.
Status run_case(const fs::path& directory, const tenon::host::BackendRegistry& registry,
                const tenon::host::BackendRegistry* beside, std::int64_t threads,
                Outcome& outcome) {
  TENON_TRY(const Case of_case, tenon::conformance::read_case(directory));
  TENON_TRY(auto method, load_case(of_case, registry, threads));
  if (!beside) return run_case(of_case, std::move(method), outcome);
  TENON_TRY(auto other, load_case(of_case, *beside, threads));
  TENON_RETURN_IF_ERROR(run_case(of_case, std::move(method), outcome));
  return run_case(of_case, std::move(other), outcome);
}

/// Lines of this process's mappings that name one of `names`.
std::vector<std::string> mapped(const std::vector<std::string>& names) {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::string> out;
  for (std::string line; std::getline(maps, line);) {
    for (const std::string& name : names) {
      if (line.find(name) != std::string::npos) out.push_back(line);
    }
  }
  return out;
}

/// Runs all cases once and returns how many failed.
int run_cases(const Arguments& arguments, const tenon::host::BackendRegistry& registry,
              const tenon::host::BackendRegistry* beside) {
  int failed = 0;
  for (const std::string& directory : arguments.cases) {
    Outcome outcome;
    outcome.status = run_case(directory, registry, beside, arguments.threads, outcome);
    const std::string name = fs::path(directory).filename();
    if (outcome.status.ok()) {
      std::printf("ok      %-20s %2zu outputs, largest difference %.3g\n", name.c_str(),
                  outcome.num_outputs, outcome.largest);
    } else {
      ++failed;
      std::printf("FAILED  %-20s %s\n", name.c_str(), tenon::describe(outcome.status).c_str());
    }
    std::fflush(stdout);
  }
  return failed;
}

/// An open plugin, whether or not its device is available.
struct OpenPlugin {
  tenon::host::BackendRegistry registry;
  std::vector<tenon::host::BackendRef> backends;
};

tenon::Result<std::unique_ptr<OpenPlugin>> open_plugin(const std::string& path) {
  auto out = std::make_unique<OpenPlugin>();
  TENON_RETURN_IF_ERROR(out->registry.register_backend(fs::path(path)));
  for (const std::string& id : out->registry.list_backends({})) {
    TENON_TRY(auto backend, out->registry.lookup_backend(id));
    const Status available = backend->is_available();
    std::printf("opened  %-20s %s\n", id.c_str(),
                available.ok() ? "available" : std::string(available.text()).c_str());
    out->backends.push_back(std::move(backend));
  }
  return out;
}

int run(const Arguments& arguments) {
  const auto refuse = [](const Status& status) {
    std::fprintf(stderr, "aoti-cases: %s\n", tenon::describe(status).c_str());
    return 2;
  };
  for (const std::string& library : arguments.preload) {
    // Global, so that its symbols are the first that anybody would find.
    if (!::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      std::fprintf(stderr, "aoti-cases: cannot load %s: %s\n", library.c_str(), ::dlerror());
      return 2;
    }
  }
  tenon::host::BackendRegistry registry;
  for (const std::string& plugin : arguments.plugins) {
    if (const Status status = registry.register_backend(fs::path(plugin)); !status.ok()) {
      return refuse(status);
    }
  }
  tenon::host::BackendRegistry other;
  if (!arguments.beside.empty()) {
    const Status status = other.register_backend(fs::path(arguments.beside));
    if (!status.ok()) return refuse(status);
  }
  const auto* const beside = arguments.beside.empty() ? nullptr : &other;
  int failed = 0;
  for (int round = 0; round < arguments.rounds; ++round) {
    failed += run_cases(arguments, registry, beside);
    std::vector<std::unique_ptr<OpenPlugin>> opened;
    for (const std::string& path : arguments.opened) {
      auto plugin = open_plugin(path);
      if (!plugin.ok()) return refuse(std::move(plugin).status());
      opened.push_back(*std::move(plugin));
      failed += run_cases(arguments, registry, beside);
    }
    if (opened.empty()) continue;
    opened.clear();
    std::puts("closed");
    failed += run_cases(arguments, registry, beside);
  }
  for (const std::string& line : mapped(arguments.forbidden)) {
    ++failed;
    std::printf("FAILED  mapped: %s\n", line.c_str());
  }
  std::printf("%zu cases, %d failed\n", arguments.cases.size(), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs exported cases through plugins and compares with eager PyTorch.",
               "aoti-cases");
  app.add_option("--plugin", arguments.plugins, "plugin to use; may be repeated")
      ->required()
      ->allow_extra_args(false);
  app.add_option("--beside", arguments.beside, "another plugin that runs every case too");
  app.add_option(
         "--open", arguments.opened,
         "plugin to open after a pass over the cases; each is followed by another pass, and "
         "so is closing them; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--preload", arguments.preload, "library to load first, globally")
      ->allow_extra_args(false);
  app.add_option("--forbid", arguments.forbidden, "text that no mapping of the process may have")
      ->allow_extra_args(false);
  app.add_option("--rounds", arguments.rounds, "how often each case is loaded and run");
  app.add_option("--threads", arguments.threads, "threads that a run of CpuAotiBackend may use");
  app.add_option("CASE", arguments.cases, "directory of a case")->required();
  CLI11_PARSE(app, argc, argv);
  return run(arguments);
}
