// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kit/platform/system.hpp"
#include "tenon/conformance/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

/// The state that all parts of a process share, and that a plugin must not change (TN-PRC-1 to 4).
/// Taken before a call and compared after it, which takes some microseconds. Reading the mask for
/// new files sets it for a moment, so do not use this while other threads run.
class ProcessState {
 public:
  /// `with_mask`: false where setting the mask for new files for a moment could disturb others.
  explicit ProcessState(bool with_mask = true) : with_mask_(with_mask) { take(); }

  /// Takes the state anew. Allocates only when texts grew.
  void take();

  /// The differences of `later`, each with its rule.
  [[nodiscard]] std::vector<Finding> differences(const ProcessState& later) const;

  /// Whether `later` has other variables in the environment.
  [[nodiscard]] bool has_other_environment(const ProcessState& later) const noexcept {
    return later.environment_ != environment_;
  }

  /// Restores locale, signals, floating point, directory and mask to the state that was taken, so
  /// that one broken rule does not look like others.
  void restore() const;

 private:
  std::string locale_, directory_, environment_;
  platform::SignalState signals_;
  std::uint32_t control_ = 0;
  unsigned new_file_mask_ = 0;
  bool with_mask_;
};

}}}  // namespace tenon::TENON_RELEASE::conformance
