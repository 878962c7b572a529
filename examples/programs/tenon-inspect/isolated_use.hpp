// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/platform/opened_file.hpp"

namespace tenon::inspect {

/// A trial of a plugin in a process with a profile of a worker.
struct ProfileTrial {
  std::string profile;  ///< "strict", "driver", "open".
  /// Whether it did what it does without one.
  bool runs = false;
  std::string reason;  ///< Why not.
  /// The calls that were refused, also those that the plugin did without.
  std::vector<std::string> refusals;
};

/// The use that a plugin made of the system, in processes of its own: it was loaded, each of its
/// backends was opened, and each method of a program, if there was one, was run once.
struct IsolatedUse {
  /// Why there is no report, or what the plugin failed with, also without a profile.
  Status failure;
  /// How often each system call was made, by its name, with the host's own calls.
  std::map<std::string, std::uint64_t> calls;
  struct File {
    std::string path;
    bool is_written = false;
  };
  std::vector<File> files;           ///< Opened files without devices, sorted.
  std::vector<File> devices;         ///< Files in /dev.
  std::vector<ProfileTrial> trials;  ///< The strictest first.

  /// The strictest profile in which it runs; nothing when it needs to run without.
  [[nodiscard]] std::optional<std::string> narrowest() const {
    for (const ProfileTrial& each : trials) {
      if (each.runs) return each.profile;
    }
    return std::nullopt;
  }
};

/// Finds out what the plugin in `file` uses. The code of the plugin runs in children of this
/// process; a child that takes longer than a minute is ended. `program` may be null.
///
/// [one thread] failures: NotSupported on a system without profiles (other than Linux on x86-64 and
/// arm64), and on a system that does not report calls; the plugin's failures.
[[nodiscard]] IsolatedUse examine_isolated(const host::OpenedFile& file,
                                           const std::shared_ptr<const host::Program>& program);

}  // namespace tenon::inspect
