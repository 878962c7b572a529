// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/abi/draft/sequence.h"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// One part of the state of a delegate.
struct StatePart {
  std::string name;  ///< No two of a delegate have the same.
  /// Where it is until the delegate is destroyed. With a null address, the size alone counts, and
  /// the backend reads and writes the part.
  std::span<std::byte> bytes;
};

/// Mixin: a host can copy the state that a delegate keeps from one run to the next, put it back,
/// and store it, so that it can return to an earlier run, and branch. The author adds
///
///     std::vector<tenon::StatePart> state(Delegate&);
///
/// with the same parts for each delegate of a blob. They are all that `execute` leaves for the next
/// call, and their bytes mean the same to each delegate: no addresses. Optional are
///
///     Status state_written(Delegate&);  // The host wrote to parts.
///     Status read_state(Delegate&, std::size_t part, std::size_t offset, std::span<std::byte> to);
///     Status write_state(Delegate&, std::size_t part, std::size_t offset,
///                        std::span<const std::byte> from);
///
/// the last two for parts without an address: they copy the bytes from `offset` on, and fail with
/// InvalidArgument for a range that is not inside of the part. None of them is called while
/// `execute` of the delegate runs.
template <class Derived>
class WithSequence {};

namespace detail {

template <class B>
concept HasState = requires(B& backend, typename B::Delegate& delegate) {
  { backend.state(delegate) } -> std::same_as<std::vector<StatePart>>;
};
template <class B>
concept HasStateWritten = requires(B& backend, typename B::Delegate& delegate) {
  { backend.state_written(delegate) } -> std::same_as<Status>;
};
template <class B>
concept HasFarState = requires(B& backend, typename B::Delegate& delegate, std::size_t number,
                               std::span<std::byte> to, std::span<const std::byte> from) {
  { backend.read_state(delegate, number, number, to) } -> std::same_as<Status>;
  { backend.write_state(delegate, number, number, from) } -> std::same_as<Status>;
};

template <class B>
struct SequenceExtension {
  static consteval bool check() {
    if constexpr (!HasState<B>) {
      static_assert(always_false<B>,
                    "tenon: WithSequence needs a public "
                    "`std::vector<tenon::StatePart> state(Delegate&)`");
    }
    return HasState<B>;
  }

  static auto& delegate_of(tenon_delegate* delegate) noexcept {
    return *reinterpret_cast<typename B::Delegate*>(delegate);
  }

  static tenon_status list(tenon_backend* backend, tenon_delegate* delegate,
                           const tenon_state_list* to) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      for (const StatePart& part : self<B>(backend).state(delegate_of(delegate))) {
        const tenon_state_part raw = {sizeof raw,        0,
                                      part.name.data(),  part.name.size(),
                                      part.bytes.data(), part.bytes.size()};
        const tenon_status status = to->add(to, &raw);
        if (status != TENON_STATUS_OK) {
          return error(error_from_status(status), "the host did not take part '",
                       std::string_view(part.name), "' of the state");
        }
      }
      return ok();
    });
  }

  static tenon_status read(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                           std::uint64_t offset, std::uint64_t nbytes, void* to) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      return self<B>(backend).read_state(
          delegate_of(delegate), static_cast<std::size_t>(part), static_cast<std::size_t>(offset),
          {static_cast<std::byte*>(to), static_cast<std::size_t>(nbytes)});
    });
  }
  static tenon_status write(tenon_backend* backend, tenon_delegate* delegate, std::uint64_t part,
                            std::uint64_t offset, std::uint64_t nbytes, const void* from) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      return self<B>(backend).write_state(
          delegate_of(delegate), static_cast<std::size_t>(part), static_cast<std::size_t>(offset),
          {static_cast<const std::byte*>(from), static_cast<std::size_t>(nbytes)});
    });
  }
  static tenon_status written(tenon_backend* backend, tenon_delegate* delegate) noexcept {
    return guard(host_of<B>(backend),
                 [&]() -> Status { return self<B>(backend).state_written(delegate_of(delegate)); });
  }

  static constexpr tenon_sequence_v1 make_table() {
    tenon_sequence_v1 out{sizeof(tenon_sequence_v1), 0, &list, nullptr, nullptr, nullptr};
    if constexpr (HasFarState<B>) {
      out.read = &read;
      out.write = &write;
    }
    if constexpr (HasStateWritten<B>) out.written = &written;
    return out;
  }

  static constexpr tenon_sequence_v1 table = make_table();
};

template <>
struct MixinOf<tenon_sequence_v1> : Mixin<WithSequence, SequenceExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
