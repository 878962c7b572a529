// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/devices/device_memory.hpp"
#include "tenon/host/layers/devices/impl/copy_kernels.hpp"
#include "tenon/host/layers/devices/impl/method_devices.hpp"
#include "tenon/host/layers/devices/impl/shared_devices.hpp"
#include "tenon/host/loader/impl/method/device_space.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/layer.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/program/program_view.hpp"
#include "tenon/host/schema/program_generated.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Whether a method of `program` with `plan` may have memory on a device or copies.
[[nodiscard]] inline bool may_need_devices(const Program& program,
                                           const schema::ExecutionPlan& plan) {
  if (program.names_devices()) return true;
  for (std::uint32_t i = 0; i < num_operators(plan); ++i) {
    if (plan.operators()->Get(i)->name()->string_view().starts_with("et_copy::")) return true;
  }
  return false;
}

/// The devices of one method, its memory there, and its kernels that copy.
class DevicesPart final : public PartOf<DevicesPart>, public DeviceSpace {
 public:
  Status before_memory(Loading& loading) override {
    MethodState& method = loading.method;
    if (method.devices) return ok();  // The layer is listed twice.
    method.devices = this;
    return find_devices(loading, memories_);
  }
  Result<const Kernel*> find_kernel(Loading&, const std::string& op,
                                    std::span<tenon_value* const>) override {
    return copies_.find(op);
  }
  Status after_load(Loading& loading, Status outcome) override {
    return outcome.ok() ? SharedDevices(memories_).check(loading.method.chains)
                        : std::move(outcome);
  }

  [[nodiscard]] bool has(tenon_dl_device device) const noexcept override {
    return memories_.find(device) != nullptr;
  }
  [[nodiscard]] bool can_copy(tenon_dl_device to, tenon_dl_device from) const noexcept override {
    return is_cpu(from) || memories_.find(to)->is_of_backend(from);
  }
  Result<void*> allocate(tenon_dl_device device, std::uint64_t nbytes,
                         std::uint64_t alignment) override {
    return memories_.find(device)->allocate(nbytes, alignment);
  }
  void free(tenon_dl_device device, void* block) noexcept override {
    memories_.find(device)->free(block);
  }
  Status copy(tenon_dl_device to_device, void* to, tenon_dl_device from_device, const void* from,
              std::uint64_t nbytes) const override {
    if (is_cpu(to_device)) return memories_.find(from_device)->copy_to_host(to, from, nbytes);
    const DeviceMemory& memory = *memories_.find(to_device);
    // From a device the host's memory is used only where the backend has no other way.
    return is_cpu(from_device) ? memory.copy_to_device(to, from, nbytes)
                               : memory.copy_on(nullptr, to, from_device, from, nbytes);
  }

 private:
  DeviceMemories memories_;
  CopyKernels copies_{memories_};
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
