// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "tenon/core/result.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Kernels of plugins, for operators that neither the application nor another layer has code for:
/// those that a program calls outside of its delegates, and those that delegates ask for
/// (abi/draft/kernel_lookup.h). Plugins are asked in the order of `find_kernel_backends`. None is
/// loaded as long as no kernel is missing, and none stays loaded whose kernels are not used.
///
/// `all_layers` has it, so that an application lists it for loads without a registry alone:
/// `{.backends = {backend}, .layers = {PluginKernels()}}`.
class PluginKernels final : public MethodLayer {
 public:
  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;
};

}}}  // namespace tenon::TENON_RELEASE::host
