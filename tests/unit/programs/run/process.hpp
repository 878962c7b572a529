// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/file_content.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/abi/version.h"

extern char** environ;

namespace test {

using tenon::test::TemporaryDirectory;

[[nodiscard]] inline std::string read_file(const std::string& path) {
  if (!std::ifstream(path)) throw std::runtime_error("cannot read " + path);
  return tenon::test::file_content(path);
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// How a program ended.
struct Outcome {
  int exit_code = -1;  ///< -1 when a signal ended it.
  std::string out;
  std::string err;
  std::uint64_t peak_bytes = 0;  ///< Of memory that it touched; at least the caller's.
};

/// Runs `program` without a shell and waits for it. `out_path` is where its standard output goes, a
/// file of its own by default.
[[nodiscard]] inline Outcome run_program(const std::string& program,
                                         std::vector<std::string> arguments,
                                         std::string out_path = {}) {
  const TemporaryDirectory directory;
  const bool keeps_out = out_path.empty();
  if (keeps_out) out_path = directory.file("out");
  const std::string err_path = directory.file("err");

  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_path.c_str(), flags, 0600);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path.c_str(), flags, 0600);
  pid_t child = 0;
  const int failed =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw std::runtime_error("cannot start " + program);

  int status = 0;
  struct rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child) throw std::runtime_error("wait4 failed");
#ifdef __APPLE__
  constexpr std::uint64_t unit = 1;
#else
  constexpr std::uint64_t unit = 1024;
#endif
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          keeps_out ? read_file(out_path) : std::string(), read_file(err_path),
          static_cast<std::uint64_t>(usage.ru_maxrss) * unit};
}

/// Checks what a program prints for --help and --version.
inline void check_help_and_version(const Outcome& help, const Outcome& version,
                                   const std::string& program) {
  CHECK(help.exit_code == 0);
  CHECK(help.err.empty());
  // One form for all: usage, what it does, options, the common ones last, examples and exit codes.
  std::size_t at = 0;
  for (const std::string& part :
       {"Usage: " + program, std::string("\nOptions:\n"), std::string("\n  -h,--help "),
        std::string("\n  --version "), std::string("\nExamples:\n"),
        std::string("\nExit codes:\n  0  ")}) {
    CAPTURE(part, help.out);
    const std::size_t found = help.out.find(part, at);
    REQUIRE(found != std::string::npos);
    if (at == 0) CHECK(found == 0);
    at = found + part.size();
  }
  CHECK(version.exit_code == 0);
  CHECK(version.out == program + " " TENON_VERSION_STRING "\n");
}

}  // namespace test
