// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Decides which variant of a method is loaded (docs/hosts/variants.md). Methods that are loaded
/// with a registry have one without a name; without this layer `Method::load` takes the plan of the
/// given name.
///
/// errors of a load: InvalidArgument when the method has no variant of the name; NotFound when none
/// can run here; otherwise as `Variants::of` and `choose_variant`.
class Variant final : public MethodLayer {
 public:
  /// The best of those that can run here (`choose_variant`).
  Variant() noexcept = default;
  /// The one with this name, which is not asked whether it can run; the best when it is empty. Of
  /// several names in one load the first counts.
  explicit Variant(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  std::string name_;
};

}}}  // namespace tenon::TENON_RELEASE::host
