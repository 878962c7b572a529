// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenon/abi/draft/intermediates.h"
#include "tenon/backend/intermediate_recorder.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: a delegate gives the results of its steps to a host that looks for the layer that is
/// wrong. The author adds
///
///     std::vector<tenon::Intermediate> intermediates(const Delegate&);
///     tenon::IntermediateRecorder& recorder(Delegate& d) { return d.recorder; }
///
/// and a member `tenon::IntermediateRecorder recorder` of the delegate, on which `execute` calls
/// `give` after each step. `intermediates` is the same in each call; events and the map of debug
/// handles have the same handles. Neither is called while `execute` of the delegate runs.
template <class Derived>
class WithIntermediates {};

namespace detail {

template <class B>
concept HasIntermediates =
    requires(B& backend, typename B::Delegate& delegate, const typename B::Delegate& seen) {
      { backend.intermediates(seen) } -> std::same_as<std::vector<Intermediate>>;
      { backend.recorder(delegate) } -> std::same_as<IntermediateRecorder&>;
    };

template <class B>
struct IntermediatesExtension {
  static consteval bool check() {
    if constexpr (!HasIntermediates<B>) {
      static_assert(always_false<B>,
                    "tenon: WithIntermediates needs a public "
                    "`std::vector<tenon::Intermediate> intermediates(const Delegate&)` and "
                    "`tenon::IntermediateRecorder& recorder(Delegate&)`");
    }
    return HasIntermediates<B>;
  }

  static std::vector<Intermediate> of(tenon_backend* backend, tenon_delegate* delegate) {
    return self<B>(backend).intermediates(*reinterpret_cast<const typename B::Delegate*>(delegate));
  }

  static tenon_status list(tenon_backend* backend, tenon_delegate* delegate,
                           const tenon_intermediate_list* to) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      for (const Intermediate& one : of(backend, delegate)) {
        const tenon_intermediate raw = {sizeof raw, 0, one.handle, one.name.data(),
                                        one.name.size()};
        const tenon_status status = to->add(to, &raw);
        if (status != TENON_STATUS_OK) {
          return error(error_from_status(status), "the host did not take the name of intermediate ",
                       one.handle);
        }
      }
      return ok();
    });
  }

  static tenon_status record(tenon_backend* backend, tenon_delegate* delegate,
                             const std::int64_t* handles, std::uint64_t num_handles,
                             const tenon_intermediate_sink* sink) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      std::vector<std::int64_t> asked;
      asked.reserve(static_cast<std::size_t>(num_handles));
      if (num_handles != 0) {
        const std::vector<Intermediate> known = of(backend, delegate);
        for (std::uint64_t i = 0; i < num_handles; ++i) {
          bool is_known = false;
          for (const Intermediate& one : known) is_known = is_known || one.handle == handles[i];
          if (!is_known) {
            return error(Error::NotFound, "no intermediate has the handle ", handles[i],
                         "; the delegate has ", known.size());
          }
          asked.push_back(handles[i]);
        }
      }
      self<B>(backend).recorder(*reinterpret_cast<typename B::Delegate*>(delegate)) =
          IntermediateRecorder(std::move(asked), num_handles != 0 ? sink : nullptr);
      return ok();
    });
  }

  static constexpr tenon_intermediates_v1 table = {sizeof(tenon_intermediates_v1), 0, &list,
                                                   &record};
};

template <>
struct MixinOf<tenon_intermediates_v1> : Mixin<WithIntermediates, IntermediatesExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
