// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tenon/abi/tensor.h"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/loader/impl/method/instructions.hpp"
#include "tenon/host/loader/impl/method/loaded_delegate.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Checks that each plugin may have the addresses in planned memory of devices that its calls get
/// (abi/extensions/devices.h).
class SharedDevices {
 public:
  explicit SharedDevices(const DeviceMemories& devices) noexcept : devices_(devices) {}

  /// errors: NotSupported for the first call that may not; a backend's own.
  [[nodiscard]] Status check(std::span<const Chain> chains) {
    return devices_.empty() ? ok() : check_calls(chains);
  }

 private:
  /// Apart, so that a load without devices has no call.
  [[nodiscard, gnu::cold]] Status check_calls(std::span<const Chain> chains) {
    for (const Chain& chain : chains) {
      for (const Instruction& at : chain) {
        const LoadedBackend* const backend = backend_of(at);
        for (std::uint32_t i = 0; backend && i < at.num_args; ++i) {
          if (Status may = check(*backend, *at.args[i]); !may.ok()) {
            return std::move(may).with_context(concat("instruction ", &chain - chains.data(), ":",
                                                      &at - chain.data(), ": argument ", i));
          }
        }
      }
    }
    return ok();
  }

  /// The plugin's backend that an instruction calls, or null.
  [[nodiscard]] static const LoadedBackend* backend_of(const Instruction& at) noexcept {
    if (at.kind == schema::InstructionArguments::DelegateCall)
      return at.delegate->use->backend.get();
    if (at.kind != schema::InstructionArguments::KernelCall) return nullptr;
    const BackendUse* const owner = at.kernel->owner;
    return owner ? owner->backend.get() : nullptr;
  }

  Status check(const LoadedBackend& backend, const tenon_value& value) {
    if (value.kind == TENON_VALUE_TENSOR) return check(backend, *value.as.tensor);
    if (value.kind != TENON_VALUE_TENSOR_LIST && value.kind != TENON_VALUE_OPTIONAL_TENSOR_LIST) {
      return ok();
    }
    const auto* elements = static_cast<const tenon_value* const*>(value.as.span.data);
    for (std::uint64_t i = 0; i < value.as.span.size; ++i) {
      if (elements[i]->kind != TENON_VALUE_TENSOR) continue;
      TENON_RETURN_IF_ERROR(check(backend, *elements[i]->as.tensor));
    }
    return ok();
  }

  Status check(const LoadedBackend& backend, const tenon_tensor& tensor) {
    if (is_cpu(tensor.dl.device)) return ok();
    if ((tensor.flags & TENON_TENSOR_MEMORY_PLANNED) == 0) return ok();  // The application's.
    const DeviceMemory* const memory = devices_.find(tensor.dl.device);
    const std::pair pair(&backend, memory);
    if (!memory || std::ranges::find(checked_, pair) != checked_.end()) return ok();
    checked_.push_back(pair);
    return memory->check_shared_with(backend);
  }

  const DeviceMemories& devices_;
  std::vector<std::pair<const LoadedBackend*, const DeviceMemory*>> checked_;  // A few.
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
