// SPDX-License-Identifier: MIT
//
// The application's threads: asynchronous runs (`Method::execute_async`), an executor and a pool
// for plugins (`ThreadPool`) for applications that have none of their own.
#pragma once

#include "tenon/host/layers/async/async.hpp"
#include "tenon/host/layers/async/execute_async.hpp"
#include "tenon/host/layers/async/thread_executor.hpp"
#include "tenon/host/layers/async/worker_pool.hpp"
#include "tenon/host/layers/scheduling/thread_pool.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Defined by <tenon/host/layers/async/implementation.hpp>, and so by the library tenon-host. A
/// linker that does not find it, or finds two, says with its name what to do.
void include_tenon_host_async_implementation_hpp_in_exactly_one_source() noexcept;

namespace detail {
[[gnu::used]] inline constexpr auto* needs_async_implementation =
    &include_tenon_host_async_implementation_hpp_in_exactly_one_source;
}

}}}  // namespace tenon::TENON_RELEASE::host
