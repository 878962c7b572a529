// SPDX-License-Identifier: MIT
#include "test_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "temporary_folder.hpp"
#include "tenon/conformance/process/backtrace.hpp"
#include "tenon/conformance/process/breadcrumbs.hpp"
#include "tenon/conformance/process/channel.hpp"
#include "tenon/host/files/read_at.hpp"
#include "tenon/host/files/write_at.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

extern "C" char** environ;

namespace tenon::conformance {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Above the descriptors that the runner has open, and those that a plugin will open.
constexpr int channel_of_child = 100;
constexpr int crumbs_of_child = 101;
constexpr std::size_t max_output = std::size_t{64} << 10;

host::FileDescriptor memory_file(const char* name) {
  return host::FileDescriptor(static_cast<int>(::syscall(SYS_memfd_create, name, MFD_CLOEXEC)));
}

/// The text that a test wrote. A failure is of this machine, and none of the test.
Result<std::string> read_all(int descriptor, std::size_t most) {
  std::string out;
  out.resize(most);
  const ::ssize_t size = host::read_at(descriptor, std::as_writable_bytes(std::span(out)), 0);
  if (size < 0) {
    return error(Error::AccessFailed,
                 "the output of a test cannot be read: ", std::generic_category().message(errno));
  }
  out.resize(static_cast<std::size_t>(size));
  return out;
}

/// The processes of one test: a group of their own.
class ProcessGroup {
 public:
  static Result<ProcessGroup> start(std::vector<std::string> arguments,
                                    std::vector<std::string> variables, int output, int channel,
                                    int crumbs) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, channel, channel_of_child);
    ::posix_spawn_file_actions_adddup2(&files, crumbs, crumbs_of_child);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> out;
      for (std::string& text : texts) out.push_back(text.data());
      out.push_back(nullptr);
      return out;
    };
    for (char** entry = environ; *entry; ++entry) {
      if (std::strncmp(*entry, "TMPDIR=", 7) != 0 &&
          std::strncmp(*entry, "TENON_CONFORMANCE_", 18) != 0) {
        variables.emplace_back(*entry);
      }
    }
    pid_t pid = 0;
    const int failed = ::posix_spawn(&pid, "/proc/self/exe", &files, &attributes,
                                     pointers(arguments).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    if (failed != 0) {
      return error(Error::AccessFailed,
                   "no process for a test: ", std::generic_category().message(failed));
    }
    return ProcessGroup(pid);
  }
  ProcessGroup(ProcessGroup&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ProcessGroup& operator=(ProcessGroup&&) = delete;
  ~ProcessGroup() {
    if (pid_ != 0) end();
  }

  /// How the first process ended, or nothing if it still runs at `deadline`. It stays a zombie, so
  /// that no other process can get the id of its group.
  [[nodiscard]] std::optional<siginfo_t> wait_until(Clock::time_point deadline) const {
    milliseconds pause(1);
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_) {
        return info;
      }
      if (Clock::now() >= deadline) return std::nullopt;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause + milliseconds(1), milliseconds(20));
    }
  }

  /// Ends the rest of the group. Returns whether it had a process besides the first.
  bool end() {
    // The zombie is in the group as well; others are seen once it is reaped.
    ::kill(-pid_, SIGSTOP);
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    const bool others = ::kill(-std::exchange(pid_, 0), SIGKILL) == 0;
    return others;
  }

 private:
  explicit ProcessGroup(pid_t pid) noexcept : pid_(pid) {}
  pid_t pid_;
};

/// The names of all that is in a directory, separated by commas.
std::string content_of(const std::filesystem::path& folder) {
  std::string out;
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed)) {
    out += concat(out.empty() ? "" : ", ", entry.path().filename().native());
  }
  return out;
}

/// A test that did not come to its end: the broken rule, and what is known of the crash.
void describe_end(const TestCommand& command, const siginfo_t& info, const ChannelContent& content,
                  const Breadcrumbs& crumbs, TestResult& result) {
  Crash crash;
  crash.in = crumbs.running();
  Finding finding;
  const std::string rule(crumbs.rule_of_a_crash());
  if (content.crashed) {
    finding = content.crash_finding;
    if (finding.rule == "TN-BCK-7") finding.rule = rule;
  } else if (info.si_code == CLD_EXITED) {
    finding = {rule, concat("exit(", info.si_status, ")")};
  } else {
    finding = {rule, concat("signal ", info.si_status, " ended the process")};
  }
  // `is_available` has a rule of its own.
  if (finding.rule == "TN-BCK-7" && crash.in.starts_with("is_available ")) {
    finding.rule = "TN-BCK-6";
  }
  crash.what = finding.text;
  finding.text +=
      crash.in.empty() ? ", while no function of the plugin was called" : concat(", in ", crash.in);
  crash.last_calls = crumbs.last(20);
  static const SourceLineOptions lines{find_addr2line()};
  crash.backtrace = name_frames(content.backtrace, content.maps, command.plugin, lines);
  result.findings.push_back(std::move(finding));
  result.crashes.push_back(std::move(crash));
}

void describe_hang(const TestCommand& command, const Breadcrumbs& crumbs, TestResult& result) {
  const auto seconds = static_cast<std::int64_t>(command.timeout.count());
  Crash crash;
  crash.in = crumbs.running();
  crash.what = concat("no answer in ", seconds, " s");
  crash.last_calls = crumbs.last(20);
  if (crash.in.empty()) {
    result.outcome = Outcome::kit_error;
    result.reason = concat("no end in ", seconds, " s, while no function of the plugin was called");
  } else {
    result.findings.push_back({"TN-BCK-8", concat(crash.in, ": ", crash.what)});
  }
  result.crashes.push_back(std::move(crash));
}

}  // namespace

Status run_in_process_of_its_own(const TestCommand& command, TestResult& result) {
  TENON_TRY(const TemporaryFolder folder, TemporaryFolder::at(command.folder));
  const host::FileDescriptor channel = memory_file("tenon-channel");
  const host::FileDescriptor output = memory_file("tenon-output");
  TENON_TRY(const Breadcrumbs shared, Breadcrumbs::create());
  TENON_TRY(const std::string secret, make_channel_secret());
  if (!channel.valid() || !output.valid() ||
      !host::write_at(channel.get(), std::as_bytes(std::span(secret)), 0)) {
    return error(Error::AccessFailed, "no memory for the output of a test");
  }
  std::vector<std::string> arguments = {"tenon-conformance"};
  arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
  arguments.push_back(concat("--channel=", channel_of_child));
  arguments.push_back(concat("--crumbs=", crumbs_of_child));

  const Clock::time_point start = Clock::now();
  TENON_TRY(ProcessGroup group,
            ProcessGroup::start(std::move(arguments), {concat("TMPDIR=", command.folder.native())},
                                output.get(), channel.get(), shared.descriptor()));
  const std::optional<siginfo_t> ended =
      group.wait_until(start + std::chrono::duration_cast<Clock::duration>(command.timeout));
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const bool others = group.end();

  // What the plugin could write to is copied before anything in it is looked at.
  TENON_TRY(const Breadcrumbs crumbs, shared.copy());
  TENON_TRY(const std::string written, read_all(channel.get(), std::size_t{16} << 20));
  TENON_TRY(result.output, read_all(output.get(), max_output));
  ChannelContent content = read_channel(written, secret);
  result.findings = std::move(content.findings);
  result.measurements = std::move(content.measurements);
  result.outcome = content.outcome;
  result.reason = std::move(content.reason);
  if (!ended) {
    describe_hang(command, crumbs, result);
  } else if (!content.done) {
    describe_end(command, *ended, content, crumbs, result);
  } else {
    if (content.changed) {
      result.findings.push_back(
          {"TN-PRC-5", "wrote to a descriptor that it did not open: the kit's own was changed"});
    }
    if (others) result.findings.push_back({"TN-BCK-5", "a process of the plugin still runs"});
    if (const std::string left = content_of(folder.path()); !left.empty()) {
      result.findings.push_back({"TN-BCK-5", concat("files left in TMPDIR: ", left)});
    }
  }
  if (!result.findings.empty()) result.outcome = Outcome::failed;
  return ok();
}

}  // namespace tenon::conformance
