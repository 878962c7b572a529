// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/core/device_allocator.h>

#include <array>
#include <cstddef>

#include "tenon/core/result.hpp"
#include "tenon/executorch/error.hpp"
#include "tenon/executorch/version.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// An allocator that gives nothing and notes which of its virtual functions was called. Behind the
/// functions of the headers it has more, where a library with a longer class calls.
class AllocatorProbe : public et::DeviceAllocator {
 public:
  /// The last call; null for none.
  [[nodiscard]] const char* called() const noexcept { return called_; }

  et::Result<void*> allocate(std::size_t, et::etensor::DeviceIndex, std::size_t) override {
    called_ = "allocate";
    return et::Error::NotSupported;
  }
  void deallocate(void*, et::etensor::DeviceIndex) override { called_ = "deallocate"; }
  et::Error copy_host_to_device(void*, const void*, std::size_t,
                                et::etensor::DeviceIndex) override {
    return note("copy_host_to_device");
  }
  et::Error copy_device_to_host(void*, const void*, std::size_t,
                                et::etensor::DeviceIndex) override {
    return note("copy_device_to_host");
  }
  [[nodiscard]] et::etensor::DeviceType device_type() const override {
    called_ = device_type_name;
    return et::etensor::DeviceType::CUDA;
  }
  virtual et::etensor::DeviceType later_1() const { return note_later(); }
  virtual et::etensor::DeviceType later_2() const { return note_later(); }
  virtual et::etensor::DeviceType later_3() const { return note_later(); }
  virtual et::etensor::DeviceType later_4() const { return note_later(); }

  static constexpr const char* device_type_name = "device_type";

 private:
  et::etensor::DeviceType note_later() const {
    called_ = "a function behind the headers' last";
    return et::etensor::DeviceType::CUDA;
  }
  /// As a type of device, this is the CPU: the library ends the process for a type that it lacks.
  et::Error note(const char* name) {
    called_ = name;
    return et::Error::Ok;
  }

  mutable const char* called_ = nullptr;
};

/// How a library takes an allocator: `DeviceAllocatorRegistry::register_allocator`, which asks it
/// for its type of device.
using RegisterAllocator = void (*)(et::DeviceAllocatorRegistry&, et::DeviceAllocator*);

/// Checks that the library calls `device_type` of an allocator where the headers have it: it is the
/// last function, so that a function that another version has in front of it shows (as
/// `copy_device_to_device` of ExecuTorch after 1.5). The registry is one of its own, that nothing
/// else sees. Nothing that is not a function of the probe is called.
///
/// errors: NotSupported, naming what was called instead.
inline Status check_device_allocator(RegisterAllocator register_allocator =
                                         [](et::DeviceAllocatorRegistry& registry,
                                            et::DeviceAllocator* allocator) {
                                           registry.register_allocator(allocator);
                                         }) {
  // The registry's constructor is private: an array of pointers that are null, and room for more.
  constexpr std::size_t room = 512;
  alignas(et::DeviceAllocatorRegistry) std::array<std::byte, room> storage{};
  static_assert(sizeof(et::DeviceAllocatorRegistry) <= room);
  AllocatorProbe probe;
  register_allocator(reinterpret_cast<et::DeviceAllocatorRegistry&>(storage), &probe);
  if (probe.called() == AllocatorProbe::device_type_name) return ok();
  return error(Error::NotSupported,
               "DeviceAllocator is laid out otherwise in the loaded ExecuTorch than in the headers "
               "that this bridge was compiled with, ExecuTorch ",
               compiled_version().text, ": for device_type it calls ",
               probe.called() ? probe.called() : "nothing");
}

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
