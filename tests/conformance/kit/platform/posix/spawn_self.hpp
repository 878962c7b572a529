// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kit/platform/process_command.hpp"
#include "tenon/core/result.hpp"

extern "C" char** environ;

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::platform {

/// The number of the first file that a process gets from the runner: above the descriptors that the
/// runner has open, and those that a plugin will open.
inline constexpr int first_given = 100;
/// The number of a server's socket, which its processes have while they take their files.
inline constexpr int number_of_socket = 110;

/// A file of this process, and its number in the new one.
struct InheritedFile {
  int here;
  int there;
};

/// Starts this program anew, without the variables of the runner and with an empty standard input.
/// errors: AccessFailed.
[[nodiscard]] inline Result<pid_t> spawn_self(std::vector<std::string> arguments,
                                              const std::vector<InheritedFile>& inherited) {
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  for (const InheritedFile& file : inherited) {
    ::posix_spawn_file_actions_adddup2(&files, file.here, file.there);
  }
  std::vector<std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    if (!variable.starts_with(variables_of_runner)) variables.emplace_back(variable);
  }
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  };
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &files, nullptr,
                                   pointers(arguments).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&files);
  if (failed == 0) return pid;
  return error(Error::AccessFailed,
               "no process for a test: ", std::generic_category().message(failed));
}

}}}  // namespace tenon::TENON_RELEASE::conformance::platform
