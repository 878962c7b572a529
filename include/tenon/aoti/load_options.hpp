// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tenon/backend/mixins/options.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Options of `AotiBackend::load`, for one delegate.
struct LoadOptions {
  /// Models that can run at the same time, at least 1. Weights are shared, working memory is not.
  std::int64_t model_copies = 1;
  /// Use weights in the host's memory and share copies between delegates; otherwise each instance
  /// makes its own copy. On a device with memory of its own: share uploaded weights between
  /// delegates; the instances of one delegate always share them.
  bool share_weights = true;
  /// The device that models are created for and work on; none where there is only one.
  std::optional<std::int32_t> device_index{};
  /// Enqueue on one stream of the device, with all delegates that set this, if it has streams.
  bool share_stream = false;
  /// Settings of the backend itself, for its `open_device`.
  std::shared_ptr<const void> device_settings{};
};

/// Declaration of the option `model_copies`, for the `options` of a backend.
inline constexpr OptionSpec model_copies_option =
    OptionSpec{"model_copies", std::int64_t{1},
               "runs of one delegate at the same time, each with working memory"}
        .between(std::int64_t{1}, std::int64_t{64});

/// Declaration of the option `share_weights`, whose effect depends on the device.
[[nodiscard]] constexpr OptionSpec share_weights_option(const char* description) noexcept {
  return {"share_weights", true, description};
}

/// Reads both options from a backend's `option_values`.
/// errors: as `OptionValues::get`.
template <class Values>
[[nodiscard]] Result<LoadOptions> read_load_options(const Values& values) {
  LoadOptions out;
  TENON_TRY(out.share_weights, values.template get<bool>("share_weights"));
  TENON_TRY(out.model_copies, values.template get<std::int64_t>("model_copies"));
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::aoti
