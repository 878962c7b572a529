// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "tenon/host/platform/file_descriptor.hpp"

/// The processes below this one. A process that adopts orphans (PR_SET_CHILD_SUBREAPER) has all
/// that its children started, whatever group or session they made for themselves.
namespace tenon::isolated {

/// The parent of a process; -1 when there is no such process.
[[nodiscard]] inline pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  // The name, in parentheses, may be anything; state and parent follow.
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || end + 4 > line.size()) return -1;
  return static_cast<pid_t>(std::strtol(line.c_str() + end + 4, nullptr, 10));
}

/// The numbers of the children. Each is the same process until it is reaped here.
[[nodiscard]] inline std::vector<pid_t> children() {
  std::vector<pid_t> out;
  std::ifstream file("/proc/self/task/" + std::to_string(::getpid()) + "/children");
  for (pid_t child = 0; file >> child;) out.push_back(child);
  return out;
}

struct Descendant {
  pid_t process;
  pid_t parent;
};

/// Children, their children and so on, as far as /proc shows them.
[[nodiscard]] inline std::vector<Descendant> descendants() {
  std::vector<Descendant> all;
  if (DIR* const directory = ::opendir("/proc")) {
    while (const dirent* const entry = ::readdir(directory)) {
      const auto number = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
      if (number > 0) all.push_back({number, parent_of(number)});
    }
    ::closedir(directory);
  }
  std::vector<Descendant> out;
  std::vector<pid_t> parents{::getpid()};
  while (!parents.empty()) {
    std::ranges::sort(parents);
    const auto next = std::partition(all.begin(), all.end(), [&](const Descendant& each) {
      return !std::ranges::binary_search(parents, each.parent);
    });
    parents.clear();
    for (auto each = next; each != all.end(); ++each) parents.push_back(each->process);
    out.insert(out.end(), next, all.end());
    all.erase(next, all.end());
  }
  return out;
}

/// Signals a process, if it is still the process that was found: its parent may reap it, and the
/// kernel uses numbers again. An errno, 0 when it was done.
[[nodiscard]] inline int signal_descendant(const Descendant& which, int signal) {
  constexpr long pidfd_open_number = 434;
  constexpr long pidfd_send_signal_number = 424;
  const host::FileDescriptor opened(
      static_cast<int>(::syscall(pidfd_open_number, which.process, 0u)));
  if (!opened.valid()) return errno;
  // An orphan has been adopted by now.
  const pid_t parent = parent_of(which.process);
  if (parent != which.parent && parent != ::getpid()) return ESRCH;
  return ::syscall(pidfd_send_signal_number, opened.get(), signal, nullptr, 0u) == 0 ? 0 : errno;
}

/// Reaps what has ended. False when there is no child left.
inline bool reap() noexcept {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) != 0) return errno == EINTR;
    if (info.si_pid == 0) return true;
  }
}

/// Ends all descendants and reaps them. Some are left: those that this process may not signal, and
/// those that are in a call of the kernel for a minute.
inline void end_descendants() {
  constexpr int num_quick_rounds = 1000;
  constexpr int num_rounds = num_quick_rounds + 6000;
  for (int round = 0; round < num_rounds && reap(); ++round) {
    // A process that makes the next one and ends is not there when /proc was read: children at
    // once.
    bool is_refused = true;
    for (const pid_t child : children()) is_refused = ::kill(child, SIGKILL) != 0 && is_refused;
    // All others are stopped first. They start nothing then, and, unlike those that were ended,
    // make no room for other processes where the number of processes is limited.
    const std::vector<Descendant> found = descendants();
    for (const Descendant& each : found) static_cast<void>(signal_descendant(each, SIGSTOP));
    for (const Descendant& each : found) {
      is_refused = signal_descendant(each, SIGKILL) == EPERM && is_refused;
    }
    if (is_refused && !found.empty()) return;
    const timespec pause{0, 10'000'000};
    if (round >= num_quick_rounds) ::nanosleep(&pause, nullptr);
  }
}

}  // namespace tenon::isolated
