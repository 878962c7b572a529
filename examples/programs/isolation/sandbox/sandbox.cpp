// SPDX-License-Identifier: MIT
#include "sandbox/sandbox.hpp"

#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sandbox/file_access.hpp"
#include "sandbox/filter.hpp"
#include "sandbox/system_failure.hpp"
#include "sandbox/violation_handler.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::isolated {
namespace {

Status check(const SandboxOptions& options) {
  const auto driver_alone = [&](std::string_view what, bool is_given) -> Status {
    if (options.profile == Profile::driver || !is_given) return ok();
    return error(Error::InvalidArgument, "profile ", profile_name(options.profile), " has no ",
                 what);
  };
  TENON_RETURN_IF_ERROR(driver_alone("directories that can be written", !options.writable.empty()));
  TENON_RETURN_IF_ERROR(driver_alone("devices", !options.devices.empty()));
  TENON_RETURN_IF_ERROR(driver_alone("programs", !options.programs.empty()));
  std::error_code failure;
  const std::filesystem::directory_iterator threads("/proc/self/task", failure);
  if (failure) {
    return error(Error::NotSupported,
                 "/proc, which says how many threads there are: ", failure.message());
  }
  const auto count = std::distance(begin(threads), end(threads));
  if (count != 1) {
    return error(Error::InvalidState, "a process is restricted before it has threads; found ",
                 count);
  }
  return ok();
}

// The type of a resource is another one in each C library.
Status limit(auto resource, std::string_view name, std::uint64_t value) {
  struct rlimit limits{};
  if (::getrlimit(resource, &limits) != 0) return system_failure(name);
  const auto wanted = std::min<rlim_t>(value, limits.rlim_max);
  limits = {.rlim_cur = wanted, .rlim_max = wanted};
  if (::setrlimit(resource, &limits) != 0) return system_failure(name);
  return ok();
}

/// The part of `resource` that the process has now; all when there is no limit.
std::uint64_t part_of(auto resource, std::uint64_t numerator, std::uint64_t denominator) {
  struct rlimit limits{};
  if (::getrlimit(resource, &limits) != 0 || limits.rlim_cur == RLIM_INFINITY) return RLIM_INFINITY;
  return limits.rlim_cur / denominator * numerator;
}

/// The kernel counts these for all processes of a user together, and compares the number with the
/// limit of the process that asks. A process with a lower limit leaves the rest to the others.
Status limit_what_users_share(const SandboxOptions& options) {
  // Also the descriptors that are on their way in sockets: at most the descriptors of one message
  // more.
  TENON_RETURN_IF_ERROR(limit(RLIMIT_NOFILE, "RLIMIT_NOFILE", options.open_files));
  const std::uint64_t queued = std::min<std::uint64_t>(256, part_of(RLIMIT_SIGPENDING, 1, 2));
  TENON_RETURN_IF_ERROR(limit(RLIMIT_SIGPENDING, "RLIMIT_SIGPENDING", queued));
  TENON_RETURN_IF_ERROR(limit(RLIMIT_MSGQUEUE, "RLIMIT_MSGQUEUE", part_of(RLIMIT_MSGQUEUE, 1, 2)));
  return limit(RLIMIT_NPROC, "RLIMIT_NPROC", part_of(RLIMIT_NPROC, 3, 4));
}

Status drop_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capset, &header, none) != 0)
    return system_failure("capabilities are not given up");
  return ok();
}

FileAccess access_of(const SandboxOptions& options) {
  FileAccess access;
  access.any_file = options.profile == Profile::open;
  access.readable = options.readable;
  const auto add = [](std::vector<std::string>& list, std::vector<std::string> more) {
    list.insert(list.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  };
  add(access.readable, loader_paths());
  add(access.readable, processor_paths());
  access.listable = process_directories();
  // Written to, and nothing is kept.
  access.devices = {"/dev/null"};
  if (options.profile != Profile::driver) return access;
  add(access.readable, driver_paths());
  add(access.devices, accelerator_devices());
  add(access.devices, options.devices);
  access.overwritable = thread_directories();
  access.writable = options.writable;
  access.programs = options.programs;
  // A program is started by its loader.
  if (!access.programs.empty()) add(access.programs, program_loaders());
  return access;
}

Status install_filter(const SandboxOptions& options) {
  std::vector<sock_filter> code = make_filter({
      .profile = options.profile,
      .programs = !options.programs.empty(),
      .process = static_cast<std::uint32_t>(::getpid()),
      .signals_are_scoped = landlock_version() >= landlock_with_signals,
  });
  const sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
    return error(Error::NotSupported,
                 "the filter of system calls: ", std::generic_category().message(errno),
                 " (Linux with CONFIG_SECCOMP_FILTER)");
  }
  return ok();
}

Result<std::vector<std::string>> limit_files(const SandboxOptions& options) {
  if (landlock_version() == 0 && (options.accept_open_files || options.profile == Profile::open)) {
    return std::vector<std::string>{
        "files that are opened, and other processes' abstract sockets (this kernel has no "
        "Landlock)"};
  }
  return restrict_files(access_of(options));
}

}  // namespace

Result<Sandbox> restrict_process(const SandboxOptions& options) {
  static Violations own_violations{};
  TENON_RETURN_IF_ERROR(check(options));
  if (options.descriptors) TENON_RETURN_IF_ERROR(close_other_descriptors(*options.descriptors));
  TENON_RETURN_IF_ERROR(limit(RLIMIT_CORE, "RLIMIT_CORE", 0));
  TENON_RETURN_IF_ERROR(limit_what_users_share(options));
  if (options.address_space != 0) {
    TENON_RETURN_IF_ERROR(limit(RLIMIT_AS, "RLIMIT_AS", options.address_space));
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return system_failure("PR_SET_NO_NEW_PRIVS");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return system_failure("PR_SET_DUMPABLE");
  TENON_TRY(auto not_enforced, limit_files(options));
  if (options.profile != Profile::open) TENON_RETURN_IF_ERROR(drop_capabilities());
  // The filter refuses to be asked.
  const int version = landlock_version();
  Violations& violations = options.violations ? *options.violations : own_violations;
  TENON_RETURN_IF_ERROR(install_violation_handler(violations));
  TENON_RETURN_IF_ERROR(install_filter(options));
  return Sandbox{.landlock_version = version,
                 .not_enforced = std::move(not_enforced),
                 .violations = &violations};
}

Status close_other_descriptors(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = 0;
  const auto close = [](unsigned from, unsigned to) {
    // The C library of some systems has no function for it.
    return from > to || ::syscall(SYS_close_range, from, to, 0) == 0;
  };
  for (const int descriptor : kept) {
    if (descriptor < 0) return error(Error::InvalidArgument, "descriptor ", descriptor);
    const auto number = static_cast<unsigned>(descriptor);
    if (number > first && !close(first, number - 1)) return system_failure("close_range");
    first = number + 1;
  }
  if (!close(first, UINT_MAX)) return system_failure("close_range");
  return ok();
}

}  // namespace tenon::isolated
