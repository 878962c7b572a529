// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/host/loader/plugin/calls.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Of the service whose value is the flag of a method whose runs can be cancelled.
inline constexpr char cancel_flag_key = 0;

/// The function of "tenon.cancel_flag/1" (abi/extensions/cancel.h).
[[nodiscard]] inline const tenon_cancel_flag_v1& cancel_flag_table() noexcept {
  static constexpr tenon_cancel_flag_v1 table = {
      sizeof(tenon_cancel_flag_v1), 0, [](const tenon_execution_context* context) {
        return static_cast<const std::uint32_t*>(find_service(context, &cancel_flag_key));
      }};
  return table;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
