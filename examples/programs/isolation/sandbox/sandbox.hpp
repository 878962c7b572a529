// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/profile.hpp"
#include "sandbox/violations.hpp"
#include "tenon/core/result.hpp"

namespace tenon::isolated {

struct SandboxOptions {
  Profile profile = Profile::strict;
  /// Files and directories that may be read, in addition to the dynamic loader's and the
  /// descriptions of the processor: the directories of the plugin and of what it needs.
  std::vector<std::string> readable;
  /// Directories that may be written to, such as a driver's cache. `driver` alone.
  std::vector<std::string> writable;
  /// Devices in addition to /dev/dri, /dev/nvidia*, /dev/kfd, /dev/accel and /dev/dma_heap.
  /// `driver` alone.
  std::vector<std::string> devices;
  /// Programs, or directories of them, that may be started: PoCL runs the linker. `driver` alone.
  /// With any, only the call that ends the process is recorded: programs have no handler for it.
  std::vector<std::string> programs;
  /// Descriptors that stay open, in any order; also 0, 1 and 2 stay only when they are listed. None
  /// may be a directory, a datagram socket, or a file that must not be read. Empty option: all
  /// stay.
  std::optional<std::vector<int>> descriptors;
  /// Bytes of address space; 0: as it is.
  std::uint64_t address_space = 0;
  /// Descriptors that can be open at once. The kernel counts the descriptors that all processes of
  /// a user have sent and not yet received: with more, a worker could stop an application whose
  /// limit is the usual 1024.
  std::uint64_t open_files = 512;
  /// Where refusals are written, zeroed memory that stays mapped: shared, so that it survives the
  /// process. Null: the process keeps them for itself.
  Violations* violations = nullptr;
  /// Without Landlock `driver` and `strict` are NotSupported, because files would stay open, unless
  /// this is set.
  bool accept_open_files = false;
};

/// The result of a restriction.
struct Sandbox {
  /// 0: the kernel has none.
  int landlock_version = 0;
  /// The parts of the profile that the running kernel cannot hold; empty with Linux 6.12 and later.
  std::vector<std::string> not_enforced;
  /// Where refusals are written.
  const Violations* violations = nullptr;
};

/// Takes privileges from the calling process, for ever: no new privileges, no capabilities (but
/// `open`), no core files, not readable by other processes of the user, closed descriptors, limits,
/// files by Landlock, calls by a filter. Call it before code runs that is not trusted: constructors
/// of a library run in `dlopen`.
///
/// [one thread] InvalidState when the process has others: Landlock would not hold for them.
/// InvalidArgument: an option that the profile does not have. NotSupported: the reason is in the
/// text. After another failure the process may be restricted in part: end it.
[[nodiscard]] Result<Sandbox> restrict_process(const SandboxOptions& options);

/// Whether a worker of `profile` gets the variable `name` of the environment. `open` gets all.
[[nodiscard]] bool passes_environment(std::string_view name, Profile profile) noexcept;

/// Closes all descriptors except `kept`.
[[nodiscard]] Status close_other_descriptors(std::vector<int> kept);

/// "strict", "driver", "open".
[[nodiscard]] std::string_view profile_name(Profile profile) noexcept;
[[nodiscard]] std::optional<Profile> profile_named(std::string_view name) noexcept;

}  // namespace tenon::isolated
