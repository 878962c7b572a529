// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/abi/extensions/events.h"
#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE {

/// The host's function for an event that is complete; to be called once, on any thread.
struct EventFunction {
  tenon_event_function function = nullptr;
  void* data = nullptr;
  void operator()() const noexcept { function(data); }
};

}}  // namespace tenon::TENON_RELEASE
