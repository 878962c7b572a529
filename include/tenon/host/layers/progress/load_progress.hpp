// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

namespace detail {
class ProgressPart;
}

/// How far the load of a method is, and which delegate made it fail: `.layers = {progress}`. For
/// one load at a time, which begins anew. Unlike other layers it may be destroyed when `load` has
/// returned. Threads: any, also during the load.
class LoadProgress final : public MethodLayer {
 public:
  LoadProgress() noexcept = default;
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;
  ~LoadProgress() override = default;

  /// The number of delegates that are loaded, for applications that show how far a long load is.
  [[nodiscard]] std::size_t num_loaded() const noexcept { return num_loaded_; }

  /// The number of the delegate that could not be loaded when that is why `load` failed: a
  /// backend's error comes back unchanged, so its code does not show where it comes from.
  [[nodiscard]] std::optional<std::size_t> failed_delegate() const noexcept {
    const std::size_t failed = failed_;
    return failed == none ? std::nullopt : std::optional(failed);
  }

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  friend class detail::ProgressPart;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // A load writes to the layer, which its options hold as a constant one.
  mutable std::atomic<std::size_t> num_loaded_ = 0;
  mutable std::atomic<std::size_t> failed_ = none;
};

}}}  // namespace tenon::TENON_RELEASE::host
