// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/abi/draft/external_memory.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/application/external_memory.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: memory that something else allocated becomes the bytes of tensors without a copy. The
/// author adds
///
///     static constexpr std::array memory_kinds{tenon::MemoryKind::MemFd};
///     using ImportedMemory = tenon::MappedMemory;  // movable; its destructor gives it back
///     Result<ImportedMemory> import_memory(const ExternalMemory&);
///
/// An `ImportedMemory` has a `void* data()`, where runs find the memory. MappedMemory, in
/// <tenon/backend/mapped_memory.hpp>, is the one for a processor. Optional are
///
///     static constexpr std::array fence_kinds{tenon::FenceKind::SyncFile};
///     Status wait_fence(Delegate&, const ExternalFence&);    // later runs begin after it
///     Status signal_fence(Delegate&, const ExternalFence&);  // when the runs so far are done
///
/// all three. A vendor's own kind is a text that begins with the vendor's name and a dot
/// ("acme.buffer"). Kinds that are not named are refused before the author's functions are called,
/// and so are ranges that overflow, and a handle where the kind is a descriptor. What an object
/// itself says, such as its size, is the author's to check. Descriptors and handles remain the
/// caller's.
///
/// Threads: any for `import_memory`; the others like `execute`.
template <class Derived>
class WithExternalMemory {};

namespace detail {

template <class B>
concept HasImportMemory =
    requires(B& backend, typename B::ImportedMemory& imported, const ExternalMemory& memory) {
      requires std::is_move_constructible_v<typename B::ImportedMemory>;
      requires std::is_nothrow_destructible_v<typename B::ImportedMemory>;
      { backend.import_memory(memory) } -> std::same_as<Result<typename B::ImportedMemory>>;
      { imported.data() } -> std::convertible_to<void*>;
      { B::memory_kinds.data() } -> std::same_as<const char* const*>;
    };
template <class B>
concept NamesFences =
    requires { B::fence_kinds; } || requires { &B::wait_fence; } || requires { &B::signal_fence; };
template <class B>
concept HasFences =
    requires(B& backend, typename B::Delegate& delegate, const ExternalFence& fence) {
      { backend.wait_fence(delegate, fence) } -> std::same_as<Status>;
      { backend.signal_fence(delegate, fence) } -> std::same_as<Status>;
      { B::fence_kinds.data() } -> std::same_as<const char* const*>;
    };

template <class B>
struct ExternalMemoryExtension {
  static consteval bool check() {
    if constexpr (!HasImportMemory<B>) {
      static_assert(always_false<B>,
                    "tenon: WithExternalMemory needs a public `static constexpr std::array "
                    "memory_kinds{tenon::MemoryKind::MemFd}`, a type `ImportedMemory`, movable, "
                    "with `void* data()`, and `tenon::Result<ImportedMemory> import_memory(const "
                    "tenon::ExternalMemory&)`");
    } else if constexpr (NamesFences<B> && !HasFences<B>) {
      static_assert(always_false<B>,
                    "tenon: fences need a public `static constexpr std::array "
                    "fence_kinds{tenon::FenceKind::SyncFile}`, `tenon::Status "
                    "wait_fence(Delegate&, const tenon::ExternalFence&)` and `signal_fence` like "
                    "it, all three");
    } else {
      return true;
    }
    return false;
  }

  static tenon_status import_memory(tenon_backend* backend, const tenon_external_memory* memory,
                                    tenon_imported_memory** out, void** address) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(const ExternalMemory checked, to_external_memory(memory, B::memory_kinds));
      TENON_TRY(auto imported, self<B>(backend).import_memory(checked));
      auto* const made = new typename B::ImportedMemory(std::move(imported));
      *address = made->data();
      *out = reinterpret_cast<tenon_imported_memory*>(made);
      return ok();
    });
  }

  static void release_memory(tenon_backend*, tenon_imported_memory* memory) noexcept {
    if (memory) delete reinterpret_cast<typename B::ImportedMemory*>(memory);
  }

  static tenon_status wait_fence(tenon_backend* backend, tenon_delegate* delegate,
                                 const tenon_external_fence* fence) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(const ExternalFence checked, to_external_fence(fence, B::fence_kinds));
      return self<B>(backend).wait_fence(*reinterpret_cast<typename B::Delegate*>(delegate),
                                         checked);
    });
  }
  static tenon_status signal_fence(tenon_backend* backend, tenon_delegate* delegate,
                                   const tenon_external_fence* fence) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      TENON_TRY(const ExternalFence checked, to_external_fence(fence, B::fence_kinds));
      return self<B>(backend).signal_fence(*reinterpret_cast<typename B::Delegate*>(delegate),
                                           checked);
    });
  }

  static constexpr tenon_external_memory_v1 make_table() {
    tenon_external_memory_v1 out{sizeof(tenon_external_memory_v1),
                                 0,
                                 static_cast<std::uint32_t>(B::memory_kinds.size()),
                                 0,
                                 B::memory_kinds.data(),
                                 nullptr,
                                 &import_memory,
                                 &release_memory,
                                 nullptr,
                                 nullptr};
    if constexpr (HasFences<B>) {
      out.num_fence_kinds = static_cast<std::uint32_t>(B::fence_kinds.size());
      out.fence_kinds = B::fence_kinds.data();
      out.wait_fence = &wait_fence;
      out.signal_fence = &signal_fence;
    }
    return out;
  }
  static constexpr tenon_external_memory_v1 table = make_table();
};

template <>
struct MixinOf<tenon_external_memory_v1> : Mixin<WithExternalMemory, ExternalMemoryExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
