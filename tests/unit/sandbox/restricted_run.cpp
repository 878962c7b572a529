// SPDX-License-Identifier: MIT
//
// tenon-run in a process that was restricted before it read anything:
//
//   restricted-run PROFILE [read=PATH|write=PATH|program=PATH]... -- ARGUMENTS OF tenon-run
//
// Prints what was refused, and returns what tenon-run returned, or 100 when a call ended it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "../../../examples/programs/tenon-run/arguments.hpp"
#include "../../../examples/programs/tenon-run/report.hpp"
#include "../../../examples/programs/tenon-run/run.hpp"
#include "sandbox/sandbox.hpp"
#include "tool.hpp"

namespace {

using namespace tenon;

int run_program(int argc, char** argv) {
  const auto work = [](const run::Arguments& arguments) -> tool::Outcome {
    run::Report report = run::run(arguments);
    std::string text = report.failure.ok() ? to_text(report) : std::string();
    return {report.code, std::move(text), std::move(report.failure), std::move(report.warnings)};
  };
  return tool::main("restricted-run", argc, argv, &run::parse_arguments, work);
}

bool read_option(std::string_view argument, isolated::SandboxOptions& options) {
  const std::size_t end = argument.find('=');
  if (end == std::string_view::npos) return false;
  const std::string_view name = argument.substr(0, end);
  auto* const list = name == "read"      ? &options.readable
                     : name == "write"   ? &options.writable
                     : name == "program" ? &options.programs
                                         : nullptr;
  if (list == nullptr) return false;
  list->emplace_back(argument.substr(end + 1));
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const auto profile = isolated::profile_named(argv[1]);
  if (!profile) return 2;
  isolated::SandboxOptions options{.profile = *profile};
  int first = 2;
  while (first < argc && std::string_view(argv[first]) != "--") {
    if (!read_option(argv[first++], options)) return 2;
  }
  void* const memory = ::mmap(nullptr, sizeof(isolated::Violations), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  options.violations = new (memory) isolated::Violations{};
  const pid_t child = ::fork();
  if (child == 0) {
    const auto sandbox = isolated::restrict_process(options);
    if (!sandbox) {
      std::fprintf(stderr, "restricted-run: %s\n", std::string(sandbox.text()).c_str());
      ::_exit(77);  // Skipped.
    }
    const int code = run_program(argc - first, argv + first);
    std::fflush(nullptr);
    ::_exit(code);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return 2;
  for (const isolated::Violation& violation : isolated::read_violations(*options.violations)) {
    std::fprintf(stderr, "%s\n", isolated::describe(violation).c_str());
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
  return 100;
}
