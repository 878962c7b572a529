// SPDX-License-Identifier: MIT
#pragma once

#include "restrict_worker.hpp"

/// The two processes between the application and the process of the plugin. They run nothing of the
/// plugin. The supervisor ends the plugin's process when the application has ended or closes the
/// connection, reports how it ended, and ends all that it had started. The guard, the supervisor's
/// parent, does so when the supervisor is killed, and the supervisor when the guard is. The guard
/// is no child of the application, whose SIGCHLD and `wait` thus see nothing of a worker.
namespace tenon::isolated {

// Its descriptors, as the application opens them.
inline constexpr int supervisor_socket = 3;  ///< To the application: `Ending` is sent here.
inline constexpr int worker_socket = 4;      ///< To the application: what `serve` takes.
inline constexpr int application_pidfd = 5;  ///< Readable when the application has ended.
inline constexpr int program_descriptor = 6;

/// The body of the worker: serves what comes through `socket` until it is closed. `has_profile`:
/// the process is restricted. Returns the exit code.
using Serve = int(int socket, bool has_profile);

/// Runs `serve` in a process that is restricted so, and returns when that has ended.
int supervise(const RestrictionRequest& restriction, Serve* serve);

}  // namespace tenon::isolated
