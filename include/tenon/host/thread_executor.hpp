// SPDX-License-Identifier: MIT
//
// An executor for `Method::execute_async`, for applications that have none of their own.
#pragma once

#include "tenon/host/async/thread_executor.hpp"
