// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tenon/core/api.hpp"

/// Source lines of addresses in a library, from its debug information. A program of the machine
/// reads it, binutils' addr2line or LLVM's: a plugin chooses what its file says, and readers of
/// DWARF are large. That program is a process of its own, with limits of time, memory and output.
namespace tenon::conformance {

/// One place in the sources. Both members come from the file and may hold anything.
struct SourceLine {
  std::string function;  ///< Demangled; empty when it is unknown.
  std::string line;      ///< "/src/acme/execute.cpp:42"; empty when it is unknown.
};

struct SourceLineOptions {
  /// A program with the command line of addr2line; empty: there are no lines.
  std::filesystem::path tool;
  std::chrono::milliseconds time_limit{5000};
};

/// `addr2line`, or `llvm-addr2line`, in the absolute directories of PATH; empty when there is none.
[[nodiscard]] TENON_API std::filesystem::path find_addr2line();

/// The places of `addresses`, those that the library's segments have, in their order. All are
/// unknown for a file without debug information, and when the program cannot be run, fails or
/// reaches a limit.
///
/// threads: any.
[[nodiscard]] TENON_API std::vector<SourceLine> source_lines(
    const std::filesystem::path& library, std::span<const std::uint64_t> addresses,
    const SourceLineOptions& options);

}  // namespace tenon::conformance

#if TENON_CONFORMANCE_DEFINITIONS

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "tenon/core/concat.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::conformance {

namespace detail {

inline constexpr std::size_t max_source_line = 1024;

/// A program whose output is read. Its process ends with this object.
class OutputOfProgram {
 public:
  OutputOfProgram(const std::filesystem::path& program, std::vector<std::string> arguments) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    output_ = host::FileDescriptor(ends[0]);
    const host::FileDescriptor input(ends[1]);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, input.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    // Without the runner's variables: LLVM's program would ask servers for debug information.
    std::array<char*, 1> variables{nullptr};
    if (::posix_spawn(&pid_, program.c_str(), &files, &attributes, words.data(),
                      variables.data()) != 0) {
      pid_ = 0;
    }
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
#if defined(__linux__)
    const rlimit memory{rlim_t{2} << 30, rlim_t{2} << 30};
    if (pid_ != 0) ::prlimit(pid_, RLIMIT_AS, &memory, nullptr);
#endif
  }
  OutputOfProgram(const OutputOfProgram&) = delete;
  OutputOfProgram& operator=(const OutputOfProgram&) = delete;
  ~OutputOfProgram() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  /// The output up to its end; empty when that does not come in time, or it has more than `most`
  /// bytes.
  [[nodiscard]] std::string read(std::chrono::milliseconds time_limit, std::size_t most) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + time_limit;
    std::string out;
    std::array<char, 4096> part;
    while (pid_ != 0 && out.size() <= most) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
      if (left.count() <= 0) break;
      pollfd ready{output_.get(), POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(left.count())) <= 0) continue;
      const ::ssize_t size = ::read(output_.get(), part.data(), part.size());
      if (size == 0) return out;
      if (size > 0) out.append(part.data(), static_cast<std::size_t>(size));
      if (size < 0 && errno != EINTR) break;
    }
    return {};
  }

 private:
  host::FileDescriptor output_{-1};
  pid_t pid_ = 0;
};

/// Takes the first line off `text`; empty for an unknown name, "??".
inline std::string take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  line = line.substr(0, line.find(" (discriminator"));
  if (line.starts_with("??") || line.ends_with(":?") || line.ends_with(":0")) return {};
  return std::string(line.substr(0, max_source_line));
}

}  // namespace detail

TENON_API std::filesystem::path find_addr2line() {
  const char* const variable = std::getenv("PATH");
  for (const char* const name : {"addr2line", "llvm-addr2line"}) {
    std::string_view rest = variable ? variable : "";
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      const std::filesystem::path folder(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (folder.is_absolute() && ::access((folder / name).c_str(), X_OK) == 0) {
        return folder / name;
      }
    }
  }
  return {};
}

TENON_API std::vector<SourceLine> source_lines(const std::filesystem::path& library,
                                               std::span<const std::uint64_t> addresses,
                                               const SourceLineOptions& options) {
  std::vector<SourceLine> out(addresses.size());
  // A path that is not absolute could be read as an option.
  if (options.tool.empty() || addresses.empty() || !library.is_absolute()) return out;
  std::vector<std::string> arguments = {options.tool.native(), "-f", "-C", "-e", library.native()};
  for (const std::uint64_t address : addresses) {
    std::array<char, 16> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
    arguments.push_back(concat(
        "0x", std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data()))));
  }
  detail::OutputOfProgram program(options.tool, std::move(arguments));
  const std::string output =
      program.read(options.time_limit, addresses.size() * 4 * detail::max_source_line);
  std::string_view rest = output;
  for (SourceLine& place : out) {
    if (rest.empty()) break;
    place.function = detail::take_line(rest);
    place.line = detail::take_line(rest);
  }
  return out;
}

}  // namespace tenon::conformance

#endif  // TENON_CONFORMANCE_DEFINITIONS
