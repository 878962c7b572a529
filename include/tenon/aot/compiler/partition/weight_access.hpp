// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// How a plugin gets the elements of weights.
enum class WeightAccess : std::uint8_t {
  /// In memory that cannot be written: where they are when that is so already (a mapped file), else
  /// in a copy. A plugin that writes to them ends the process with a signal.
  read_only,
  /// In copies, all of them, which are compared afterwards: a plugin that writes is reported, for
  /// the price of a second copy of each weight.
  compared,
  /// Where they are, although that memory can be written: its whole pages are read-only until the
  /// call returns, for all threads, and a plugin that writes to them ends the process with a
  /// signal.
  /// The first and last page, which others may share, are compared and restored: a change there is
  /// reported. Weights below 64 KiB are copied, as `read_only` does. One call at a time; others
  /// wait.
  in_place,
};

}}}  // namespace tenon::TENON_RELEASE::aot
