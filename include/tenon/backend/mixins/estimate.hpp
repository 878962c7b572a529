// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/abi/extensions/estimate.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon::inline TENON_RELEASE {

/// Bytes that a delegate needs on one device. What they are and what is not counted is in
/// abi/extensions/estimate.h.
struct MemoryNeed {
  /// In place of a number that only a run can show.
  static constexpr std::uint64_t unknown = TENON_MEMORY_UNKNOWN;

  std::uint64_t weights = 0;    ///< Constants and code, which sessions share.
  std::uint64_t workspace = 0;  ///< All else that a delegate holds.
  std::uint64_t session = 0;    ///< Of each further session.
  tenon_dl_device device{TENON_DL_CPU, 0};
};

/// One entry for each device: `return tenon::MemoryEstimate{{.workspace = 4096}};`
using MemoryEstimate = std::vector<MemoryNeed>;

/// Mixin: the backend says, without its device, how much memory a blob will take. The author adds
/// `Result<MemoryEstimate> estimate(InitContext&, Blob, CompileSpecs)`. A backend that can ask its
/// devices adds `Result<std::uint64_t> free_memory(tenon_dl_device)` too.
template <class Derived>
class WithEstimate {};

namespace detail {

template <class B>
concept HasEstimate =
    requires(B& backend, InitContext& context, Blob processed, CompileSpecs specs) {
      { backend.estimate(context, processed, specs) } -> std::same_as<Result<MemoryEstimate>>;
    };

template <class B>
concept HasFreeMemory = requires(B& backend, tenon_dl_device device) {
  { backend.free_memory(device) } -> std::same_as<Result<std::uint64_t>>;
};

template <class B>
struct EstimateExtension {
  static constexpr std::string_view id = TENON_EXTENSION_ESTIMATE;

  static consteval bool check() {
    if constexpr (!HasEstimate<B>) {
      static_assert(always_false<B>,
                    "tenon: WithEstimate needs a public `tenon::Result<tenon::MemoryEstimate> "
                    "estimate(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs)`");
    }
    return HasEstimate<B>;
  }

  static tenon_status estimate(tenon_backend* backend, const tenon_init_context* context,
                               tenon_memory_sink sink, void* sink_context) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      InitContext init_context(*context);
      TENON_TRY(const MemoryEstimate found,
                self<B>(backend).estimate(
                    init_context, Blob(context->processed),
                    CompileSpecs(context->compile_specs, context->num_compile_specs)));
      for (const MemoryNeed& need : found) {
        const auto pass = [&](std::uint32_t kind, std::uint64_t nbytes) {
          if (nbytes == 0) return;
          const tenon_memory_need one{sizeof(tenon_memory_need), kind, need.device, nbytes};
          sink(sink_context, &one);
        };
        pass(TENON_MEMORY_WEIGHTS, need.weights);
        pass(TENON_MEMORY_WORKSPACE, need.workspace);
        pass(TENON_MEMORY_SESSION, need.session);
      }
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
}  // namespace tenon::inline TENON_RELEASE
