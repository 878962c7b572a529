// SPDX-License-Identifier: MIT
//
// Runs cases through CudaBackend in all the ways in which an application may, on the first CUDA
// device. tests/gpu/run_suite reads what it prints: a line for each check, with the outcome, the
// name and the details between tabs.
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "checks.hpp"

namespace {

using gpu_programs::Check;
using gpu_programs::Outcome;

class Lines final : public gpu_programs::Reporter {
 public:
  void report(const Check& check) override {
    constexpr const char* words[] = {"pass", "fail", "skip", "not available"};
    std::string detail = check.detail;
    for (char& letter : detail) {
      if (letter == '\n' || letter == '\t') letter = ' ';
    }
    std::printf("%s\t%s\t%s\n", words[static_cast<int>(check.outcome)], check.name.c_str(),
                detail.c_str());
    std::fflush(stdout);
    has_failed_ = has_failed_ || check.outcome == Outcome::fail;
    has_skipped_ = has_skipped_ || check.outcome == Outcome::skip;
  }
  [[nodiscard]] int exit_code() const { return has_failed_ ? 1 : has_skipped_ ? 77 : 0; }

 private:
  bool has_failed_ = false;
  bool has_skipped_ = false;
};

}  // namespace

/// Exit codes: 0 success, 1 a check failed, 2 nothing could be run, 77 results were not compared.
int main(int argc, char** argv) {
  const std::string_view option = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
  const bool is_memory = option == "--memory", is_times = option == "--times";
  const char* const* arguments = argv + (is_memory || is_times ? 2 : 1);
  if (arguments + 2 > argv + argc || arguments[0][0] == '-') {
    std::fputs("usage: cuda-programs [--memory | --times] PLUGIN CASE...\n", stderr);
    return 2;
  }
  const auto kind = is_memory  ? gpu_programs::Kind::memory
                    : is_times ? gpu_programs::Kind::times
                               : gpu_programs::Kind::results;
  const auto refuse = [](const tenon::Status& status) {
    std::fprintf(stderr, "cuda-programs: %s\n", tenon::describe(status).c_str());
    return 2;
  };
  auto driver = gpu_programs::Driver::open();
  if (!driver.ok()) return refuse(std::move(driver).status());
  Lines lines;
  for (const char* const* at = arguments + 1; at != argv + argc; ++at) {
    const auto status =
        gpu_programs::check_case(kind, *at, arguments[0], *driver, driver->computes(), lines);
    if (!status.ok()) return refuse(status);
  }
  if (const std::string misuses = driver->misuses(); !misuses.empty()) {
    lines.report({Outcome::fail, "calls of the driver", misuses});
  }
  return lines.exit_code();
}
