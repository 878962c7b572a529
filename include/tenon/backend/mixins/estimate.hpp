// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>

#include "tenon/abi/extensions/estimate.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/memory_use.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Mixin: the backend says, without its device, how much memory a blob will take. The author adds
/// `Result<MemoryUses> estimate(InitContext&, Blob, CompileSpecs)`. A backend that can ask its
/// devices adds `Result<std::uint64_t> free_memory(tenon_dl_device)` too.
template <class Derived>
class WithEstimate {};

namespace detail {

template <class B>
concept HasEstimate =
    requires(B& backend, InitContext& context, Blob processed, CompileSpecs specs) {
      { backend.estimate(context, processed, specs) } -> std::same_as<Result<MemoryUses>>;
    };

template <class B>
concept HasFreeMemory = requires(B& backend, tenon_dl_device device) {
  { backend.free_memory(device) } -> std::same_as<Result<std::uint64_t>>;
};

template <class B>
struct EstimateExtension {
  static consteval bool check() {
    if constexpr (!HasEstimate<B>) {
      static_assert(always_false<B>,
                    "tenon: WithEstimate needs a public `tenon::Result<tenon::MemoryUses> "
                    "estimate(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs)`");
    }
    return HasEstimate<B>;
  }

  static tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                               tenon_memory_sink sink, void* sink_context) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      InitContext init_context(*context);
      TENON_TRY(const MemoryUses found,
                self<B>(backend).estimate(
                    init_context, Blob(context->processed),
                    CompileSpecs(context->compile_specs, context->num_compile_specs)));
      pass_uses(found, sink, sink_context);
      return ok();
    });
  }

  static tenon_status free_memory(tenon_backend* backend, tenon_dl_device device,
                                  std::uint64_t* nbytes) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      if constexpr (HasFreeMemory<B>) {
        TENON_TRY(*nbytes, self<B>(backend).free_memory(device));
        return ok();
      } else {
        return error(Error::NotSupported, "free_memory");
      }
    });
  }

  static constexpr tenon_estimate_v1 table = {sizeof(tenon_estimate_v1), 0, &estimate,
                                              HasFreeMemory<B> ? &free_memory : nullptr};
};

template <>
struct MixinOf<tenon_estimate_v1> : Mixin<WithEstimate, EstimateExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
