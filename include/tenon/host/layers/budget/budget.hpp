// SPDX-License-Identifier: MIT
//
// The most memory that a method may take.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/layer.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// Limits the memory of a method by device: `.layers = {Budget({{{TENON_DL_CPU, 0}, 1 << 29}})}`. A
/// device that is not listed has no limit; without any device the layer does nothing.
///
/// The host's own memory counts exactly, and a backend's as the backend states it
/// (abi/extensions/estimate.h). The load adds both up before it allocates planned memory or calls
/// `init`. On the CPU, memory that a backend takes from the host's allocators beyond its statement
/// counts when the backend takes it, in runs too. Sessions count until they are destroyed. Bytes
/// that are used where a file is mapped do not count.
///
/// errors: the load, `execute` and `create_session` fail with OutOfResources above a limit; the
/// text
///         has the bytes and what needs them. The load fails with InvalidArgument for a device that
///         is listed twice or a method with two budgets, and with the errors of a backend's
///         `estimate`.
class Budget final : public MethodLayer {
 public:
  explicit Budget(std::vector<DeviceBytes> limits) noexcept : limits_(std::move(limits)) {}

  [[nodiscard]] Result<std::unique_ptr<detail::MethodPart>> attach(
      detail::LoadRequest& request) const override;

 private:
  std::vector<DeviceBytes> limits_;
};

}}}  // namespace tenon::TENON_RELEASE::host
