// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace detail {

/// Reports a failure to the host: passes its text, returns its number.
inline tenon_status report(const tenon_host* host, const Status& status) noexcept {
  if (status.ok()) [[likely]]
    return TENON_STATUS_OK;
  const std::string_view text = status.text();
  host->set_last_error(host, to_status(status.error()), text.data(), text.size());
  return to_status(status.error());
}

inline tenon_status report(const tenon_host* host, Error error, std::string_view text) noexcept {
  host->set_last_error(host, to_status(error), text.data(), text.size());
  return to_status(error);
}

/// Runs the author's code and lets no exception cross the boundary (rule TN-BCK-1). Out of memory
/// has an error of its own, because a host may retry after freeing some.
template <class Body>
tenon_status guard(const tenon_host* host, Body&& body) noexcept {
#if defined(__cpp_exceptions)
  try {
    return report(host, std::forward<Body>(body)());
  } catch (const std::bad_alloc&) {
    return report(host, Error::MemoryAllocationFailed, "out of memory (std::bad_alloc)");
  } catch (const std::exception& exception) {
    const char* what = exception.what();
    return report(host, Error::Internal, what ? what : "std::exception without a text");
  } catch (...) {
    return report(host, Error::Internal, "an exception that is not a std::exception");
  }
#else
  return report(host, std::forward<Body>(body)());
#endif
}

}}}  // namespace tenon::TENON_RELEASE::detail
