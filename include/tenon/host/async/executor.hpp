// SPDX-License-Identifier: MIT
//
// What `Method::execute_async` runs on, and its bookkeeping: the entry of this directory. Nothing
// in it knows of methods.
#pragma once

#include <functional>

#include "tenon/core/result.hpp"

namespace tenon::inline TENON_RELEASE::host {

/// The application's way to run a task: a thread pool, an event loop, a thread of its own. It calls
/// `task` once, on any thread, later or at once, and returns Ok; or it never calls it and returns
/// why not. A task may wait for a device, and needs the stack of `Method::execute`.
///
/// A task that is destroyed without having been called is noticed: its run fails.
using Executor = std::function<Status(std::function<void()> task)>;

/// Receives the outcome of one asynchronous run.
using Completion = std::function<void(Status outcome)>;

}  // namespace tenon::inline TENON_RELEASE::host
