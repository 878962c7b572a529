// SPDX-License-Identifier: MIT
//
// Asynchronous runs: `Method::execute_async`, and an executor for applications that have none of
// their own.
#pragma once

#include "tenon/host/async/thread_executor.hpp"
#include "tenon/host/method/execute_async.hpp"
