// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/platform/file_descriptor.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon::isolated {

/// A worker that was started: two connections, and a descriptor that is readable when its
/// supervisor has ended.
struct Launched {
  host::FileDescriptor supervisor;
  host::FileDescriptor service;
  host::FileDescriptor process;
};

/// The arguments and the environment of a program.
struct Start {
  std::vector<std::string> arguments;    ///< After its name.
  std::vector<std::string> environment;  ///< "NAME=value".
};

/// Starts the program at `path`, an absolute one, as the supervisor of a worker. It gets three
/// descriptors and no other, ends with this process, and is no child of it: no SIGCHLD, nothing
/// that `wait` of the application would see, whatever it does with SIGCHLD. (A process that adopts
/// orphans, as the first of a container, gets it as it gets any orphan.)
///
/// threads: any; the calling one waits until the program has begun. errors: as `open_file`;
/// OutOfResources, AccessFailed.
[[nodiscard]] Result<Launched> launch(const std::string& path, host::Trust trust,
                                      const Start& start);

}  // namespace tenon::isolated
