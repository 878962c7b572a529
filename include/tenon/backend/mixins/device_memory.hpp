// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "tenon/abi/extensions/device_memory.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/backend/mixins/devices.hpp"
#include "tenon/backend/mixins/streams.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin, together with WithDevices: memory on the devices that `devices()` lists. The author adds
///
///     Result<void*> allocate_device(tenon_dl_device, std::size_t nbytes, std::size_t alignment);
///     void free_device(tenon_dl_device, void* block) noexcept;
///     Status copy_to_device(tenon_dl_device, void* to, const void* from, std::size_t nbytes);
///     Status copy_to_host(tenon_dl_device, void* to, const void* from, std::size_t nbytes);
///
/// Each may be called at any time from any thread. `nbytes` is never 0, `alignment` a power of two,
/// `block` never null. A device that is not listed is InvalidArgument, lack of memory is
/// MemoryAllocationFailed. A copy runs after the work that earlier calls of `execute` enqueued on
/// the device, and is complete when it returns. Optional is
///
///     Status copy_on(void* stream, tenon_dl_device to_device, void* to,
///                    tenon_dl_device from_device, const void* from, std::size_t nbytes);
///
/// for copies from device to device that do not take the way over the host: of one device or two.
/// With a stream of the application, which is one of `to_device`, the copy is enqueued there; with
/// null it is like the others. A backend without WithStreams gets null alone.
template <class Derived>
class WithDeviceMemory {};

namespace detail {

template <class B>
concept HasDeviceMemory =
    requires(B& backend, tenon_dl_device device, void* to, const void* from, std::size_t size) {
      { backend.allocate_device(device, size, size) } -> std::same_as<Result<void*>>;
      { backend.free_device(device, to) } noexcept -> std::same_as<void>;
      { backend.copy_to_device(device, to, from, size) } -> std::same_as<Status>;
      { backend.copy_to_host(device, to, from, size) } -> std::same_as<Status>;
    };

template <class B>
concept HasCopyOn =
    requires(B& backend, void* stream, tenon_dl_device device, void* to, const void* from) {
      { backend.copy_on(stream, device, to, device, from, std::size_t{}) } -> std::same_as<Status>;
    };
/// Whether there is a function of that name, with whatever parameters.
template <class B>
concept NamesCopyOn = requires { &B::copy_on; };

template <class B>
struct DeviceMemoryExtension {
  static consteval bool check() {
    if constexpr (!HasMixin<B, tenon_devices_v1>) {
      static_assert(always_false<B>,
                    "tenon: WithDeviceMemory needs WithDevices, which lists the devices that have "
                    "the memory");
    } else if constexpr (!HasDeviceMemory<B>) {
      static_assert(
          always_false<B>,
          "tenon: WithDeviceMemory needs a public `tenon::Result<void*> "
          "allocate_device(tenon_dl_device, std::size_t, std::size_t)`, `void "
          "free_device(tenon_dl_device, void*) noexcept`, `tenon::Status "
          "copy_to_device(tenon_dl_device, void*, const void*, std::size_t)` and `copy_to_host` "
          "like it");
    } else if constexpr (NamesCopyOn<B> && !HasCopyOn<B>) {
      static_assert(always_false<B>,
                    "tenon: `copy_on` of WithDeviceMemory is a public `tenon::Status copy_on(void* "
                    "stream, tenon_dl_device to_device, void* to, tenon_dl_device from_device, "
                    "const void* from, std::size_t nbytes)`");
    } else {
      return true;
    }
    return false;
  }

  static tenon_status allocate_device(tenon_backend* backend, tenon_dl_device device,
                                      std::uint64_t nbytes, std::uint64_t alignment,
                                      void** out) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if (nbytes == 0 || !std::has_single_bit(alignment)) {
        return error(Error::InvalidArgument, "device memory of ", nbytes, " bytes aligned to ",
                     alignment, ": expected 1 byte or more and a power of two (TN-DEV-4)");
      }
      TENON_TRY(void* const block,
                self<B>(backend).allocate_device(device, static_cast<std::size_t>(nbytes),
                                                 static_cast<std::size_t>(alignment)));
      *out = block;
      return ok();
    });
  }

  static void free_device(tenon_backend* backend, tenon_dl_device device, void* block) noexcept {
    if (block) self<B>(backend).free_device(device, block);
  }

  static tenon_status copy_to_device(tenon_backend* backend, tenon_dl_device device, void* to,
                                     const void* from, std::uint64_t nbytes) noexcept {
    if (nbytes == 0) return TENON_STATUS_OK;
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).copy_to_device(device, to, from, static_cast<std::size_t>(nbytes));
    });
  }

  static tenon_status copy_to_host(tenon_backend* backend, tenon_dl_device device, void* to,
                                   const void* from, std::uint64_t nbytes) noexcept {
    if (nbytes == 0) return TENON_STATUS_OK;
    return guard(host_of<B>(backend), [&] {
      return self<B>(backend).copy_to_host(device, to, from, static_cast<std::size_t>(nbytes));
    });
  }

  static tenon_status copy_on(tenon_backend* backend, void* stream, tenon_dl_device to_device,
                              void* to, tenon_dl_device from_device, const void* from,
                              std::uint64_t nbytes) noexcept {
    if (nbytes == 0) return TENON_STATUS_OK;
    return guard(host_of<B>(backend), [&]() -> Status {
      if constexpr (!HasMixin<B, tenon_streams_v1>) {
        if (stream) {
          return error(Error::NotSupported, "backend ", B::id,
                       " copies on no stream of the application (extension " TENON_EXTENSION_STREAMS
                       ")");
        }
      }
      return self<B>(backend).copy_on(stream, to_device, to, from_device, from,
                                      static_cast<std::size_t>(nbytes));
    });
  }

  static constexpr tenon_device_memory_v1 make_table() {
    tenon_device_memory_v1 out{sizeof(tenon_device_memory_v1),
                               0,
                               &allocate_device,
                               &free_device,
                               &copy_to_device,
                               &copy_to_host,
                               nullptr};
    if constexpr (HasCopyOn<B>) out.copy_on = &copy_on;
    return out;
  }
  static constexpr tenon_device_memory_v1 table = make_table();
};

template <>
struct MixinOf<tenon_device_memory_v1> : Mixin<WithDeviceMemory, DeviceMemoryExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
