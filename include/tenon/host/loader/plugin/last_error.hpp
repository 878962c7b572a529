// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/host.h"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {

/// The last error that a plugin set on this thread through `tenon_host.set_last_error`.
struct LastError {
  const tenon_host* host = nullptr;
  tenon_status status = TENON_STATUS_OK;
  std::string text;  ///< At most `max_error_text` bytes.
};

inline LastError& last_error() noexcept {
  thread_local LastError error;
  return error;
}

}  // namespace detail

/// The failure of a call into a plugin: number `status`, with the text that the plugin set on this
/// thread for that number, in one line. A plugin that set none violates rule TN-ERR-2, and the text
/// says so. A number that is not an error of ExecuTorch becomes Internal (TN-ERR-1).
[[nodiscard, gnu::cold]] inline Status take_last_error(const tenon_host* host,
                                                       tenon_status status) {
  detail::LastError& last = detail::last_error();
  const bool theirs = last.host == host && last.status == status;
  std::string text = theirs ? std::move(last.text) : "the plugin gave no reason";
  last = {};
  if (error_name(static_cast<Error>(status)).empty()) {
    text = concat("the plugin returned ", status, ", which is not a status number: ", text);
  }
  const Error error = error_from_status(status);
  return tenon::error(error == Error::Ok ? Error::Internal : error, text);
}

}}}  // namespace tenon::TENON_RELEASE::host
