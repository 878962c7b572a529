// SPDX-License-Identifier: MIT
#include "sandbox/file_access.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "sandbox/system_failure.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/platform/file_descriptor.hpp"

namespace tenon::isolated {
namespace {

// From include/uapi/linux/landlock.h of Linux 6.18: the headers of older systems lack a part. The
// three calls have these numbers on all architectures.
constexpr long create_ruleset_call = 444;
constexpr long add_rule_call = 445;
constexpr long restrict_self_call = 446;
constexpr unsigned create_ruleset_version = 1;
constexpr int rule_path_beneath = 1;

struct RulesetAttributes {
  std::uint64_t handled_files;
  std::uint64_t handled_network;
  std::uint64_t scoped;
};

struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent;
};

constexpr std::uint64_t execute = 1u << 0;
constexpr std::uint64_t write_file = 1u << 1;
constexpr std::uint64_t read_file = 1u << 2;
constexpr std::uint64_t read_directory = 1u << 3;
constexpr std::uint64_t of_version_1 = (1u << 13) - 1;
constexpr std::uint64_t refer = 1u << 13;
constexpr std::uint64_t truncate = 1u << 14;
constexpr std::uint64_t ioctl_device = 1u << 15;
constexpr std::uint64_t of_files = execute | write_file | read_file | truncate | ioctl_device;

// What is made in a directory that can be written: no devices and no sockets.
constexpr std::uint64_t make_character = 1u << 6;
constexpr std::uint64_t make_socket = 1u << 9;
constexpr std::uint64_t make_block = 1u << 11;

constexpr std::uint64_t network = 3;           // bind and connect of TCP, since version 4
constexpr std::uint64_t abstract_sockets = 1;  // since version 6
constexpr std::uint64_t signals = 2;

std::uint64_t known_file_rights(int version) {
  std::uint64_t rights = of_version_1;
  if (version >= 2) rights |= refer;
  if (version >= 3) rights |= truncate;
  if (version >= 5) rights |= ioctl_device;
  return rights;
}

/// Descriptors of what is in /proc stay open: without one the kernel forgets it, and with it that
/// it may be read.
bool must_stay_open(const std::string& path) { return path.starts_with("/proc/"); }

Status allow(int ruleset, const std::vector<std::string>& paths, std::uint64_t rights) {
  for (const std::string& path : paths) {
    host::FileDescriptor opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!opened.valid()) continue;
    struct stat found{};
    if (::fstat(opened.get(), &found) != 0) return system_failure(concat("Landlock: ", path));
    PathBeneath rule{.allowed = S_ISDIR(found.st_mode) ? rights : rights & of_files,
                     .parent = opened.get()};
    if (::syscall(add_rule_call, ruleset, rule_path_beneath, &rule, 0) != 0)
      return system_failure(concat("Landlock: ", path));
    if (must_stay_open(path)) static_cast<void>(opened.release());
  }
  return ok();
}

std::vector<std::string> missing_in(int version, const FileAccess& access) {
  std::vector<std::string> missing;
  const auto add = [&](int since, std::string_view what) {
    if (version < since) {
      missing.push_back(
          concat(what, " (needs version ", since, " of Landlock, found ", version, ")"));
    }
  };
  if (!access.any_file) add(5, "ioctl is not limited to the devices that are listed");
  add(landlock_with_signals, "other processes' abstract sockets");
  return missing;
}

}  // namespace

int landlock_version() noexcept {
  const long version = ::syscall(create_ruleset_call, nullptr, 0, create_ruleset_version);
  return version < 0 ? 0 : static_cast<int>(version);
}

Result<std::vector<std::string>> restrict_files(const FileAccess& access) {
  const int version = landlock_version();
  if (version == 0) {
    return error(Error::NotSupported,
                 "this kernel has no Landlock, which limits what files are "
                 "opened (Linux 5.13 with CONFIG_SECURITY_LANDLOCK, and landlock among lsm=)");
  }
  const std::uint64_t known = known_file_rights(version);
  RulesetAttributes attributes{};
  if (!access.any_file) {
    attributes.handled_files = known;
    if (version >= 4) attributes.handled_network = network;
  }
  if (version >= landlock_with_signals) attributes.scoped = abstract_sockets | signals;
  if (attributes.handled_files == 0 && attributes.scoped == 0) return missing_in(version, access);
  // An older kernel refuses a longer struct only when what it does not know is set.
  const host::FileDescriptor ruleset(
      static_cast<int>(::syscall(create_ruleset_call, &attributes, sizeof attributes, 0)));
  if (!ruleset.valid()) return system_failure("Landlock: no set of rules");
  if (!access.any_file) {
    const std::uint64_t reading = read_file | read_directory;
    const std::uint64_t writing =
        known & ~(execute | make_character | make_socket | make_block | ioctl_device);
    const std::uint64_t using_device = reading | write_file | (known & ioctl_device);
    TENON_RETURN_IF_ERROR(allow(ruleset.get(), access.readable, reading));
    TENON_RETURN_IF_ERROR(allow(ruleset.get(), access.listable, read_directory));
    TENON_RETURN_IF_ERROR(allow(ruleset.get(), access.writable, writing));
    TENON_RETURN_IF_ERROR(allow(ruleset.get(), access.devices, using_device));
    TENON_RETURN_IF_ERROR(
        allow(ruleset.get(), access.overwritable, reading | write_file | (known & truncate)));
    TENON_RETURN_IF_ERROR(allow(ruleset.get(), access.programs, reading | execute));
  }
  if (::syscall(restrict_self_call, ruleset.get(), 0) != 0) return system_failure("Landlock");
  return missing_in(version, access);
}

std::vector<std::string> loader_paths() {
  return {"/lib",
          "/lib64",
          "/usr/lib",
          "/usr/lib64",
          "/usr/local/lib",
          "/etc/ld.so.cache",
          "/etc/ld.so.preload",
          "/etc/localtime",
          "/usr/share/zoneinfo",
          "/usr/share/locale"};
}

std::vector<std::string> program_loaders() {
  return {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-x86_64.so.1",
          "/lib/ld-musl-aarch64.so.1"};
}

std::vector<std::string> processor_paths() {
  return {"/proc/self/auxv",
          "/proc/self/cgroup",
          "/proc/self/cmdline",
          "/proc/self/comm",
          "/proc/self/cpuset",
          "/proc/self/limits",
          "/proc/self/maps",
          "/proc/self/smaps",
          "/proc/self/stat",
          "/proc/self/statm",
          "/proc/self/status",
          "/proc/cpuinfo",
          "/proc/meminfo",
          "/proc/stat",
          "/proc/sys/vm",
          "/sys/devices/system",
          "/sys/kernel/mm/hugepages",
          "/sys/kernel/mm/transparent_hugepage",
          "/dev/urandom",
          "/dev/random",
          "/dev/null",
          "/dev/zero"};
}

std::vector<std::string> process_directories() { return {"/proc/self/fd", "/proc/self/task"}; }

std::vector<std::string> thread_directories() { return {"/proc/self/task"}; }

std::vector<std::string> driver_paths() {
  return {"/sys",
          "/proc/self",
          "/usr/share",
          "/usr/include",
          "/usr/local/cuda",
          "/usr/local/nvidia",
          "/opt/rocm",
          "/etc/OpenCL",
          "/etc/vulkan",
          "/etc/ld.so.conf.d",
          "/etc/os-release",
          "/etc/nvidia",
          "/run/udev/data",
          "/proc/devices",
          "/proc/driver",
          "/proc/modules",
          "/proc/version",
          "/proc/filesystems",
          "/proc/mounts"};
}

std::vector<std::string> accelerator_devices() {
  std::vector<std::string> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", failure)) {
    const std::string name = entry.path().filename().string();
    const bool is_one = name == "dri" || name == "kfd" || name == "accel" || name == "dma_heap" ||
                        name.starts_with("nvidia");
    if (is_one) found.push_back(entry.path().string());
  }
  return found;
}

}  // namespace tenon::isolated
