// SPDX-License-Identifier: MIT
#pragma once

#include "fuzz/peers/choices.hpp"
#include "tenon/abi/backend.h"

namespace tenon::fuzz {

/// A plugin for a worker that is tried: it has all extensions, uses each service of its host, keeps
/// what it may keep, and reads and writes all bytes of its arguments. A script says what it does.
[[nodiscard]] const tenon_backend_api& guest_api() noexcept;

/// While it is there the plugin makes its choices from `choices`, and holds what it was given.
class GuestRun {
 public:
  explicit GuestRun(Choices& choices);
  GuestRun(const GuestRun&) = delete;
  GuestRun& operator=(const GuestRun&) = delete;
  /// Gives back what the worker's application has left.
  ~GuestRun();
};

}  // namespace tenon::fuzz
