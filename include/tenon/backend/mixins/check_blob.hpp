// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "tenon/abi/extensions/check_blob.h"
#include "tenon/backend/context.hpp"
#include "tenon/backend/mixin.hpp"
#include "tenon/core/compile_specs.hpp"
#include "tenon/core/result.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// How well a blob fits this backend on this machine.
enum class Compatibility : std::uint32_t {
  Optimal = TENON_BLOB_OPTIMAL,
  Usable = TENON_BLOB_USABLE,
  Incompatible = TENON_BLOB_INCOMPATIBLE,
};

/// Outcome of `check_blob`, with the reason when it is not Optimal.
struct BlobVerdict {
  Compatibility compatibility = Compatibility::Optimal;
  std::string reason;
};

/// Mixin: the backend checks whether a blob fits, without its device. The author adds
/// `Result<BlobVerdict> check_blob(InitContext&, Blob, CompileSpecs)`.
template <class Derived>
class WithCheckBlob {};

namespace detail {

template <class B>
concept HasCheckBlob =
    requires(B& backend, InitContext& context, Blob processed, CompileSpecs specs) {
      { backend.check_blob(context, processed, specs) } -> std::same_as<Result<BlobVerdict>>;
    };

template <class B>
struct CheckBlobExtension {
  static consteval bool check() {
    if constexpr (!HasCheckBlob<B>) {
      static_assert(always_false<B>,
                    "tenon: WithCheckBlob needs a public `tenon::Result<tenon::BlobVerdict> "
                    "check_blob(tenon::InitContext&, tenon::Blob, tenon::CompileSpecs)`");
    }
    return HasCheckBlob<B>;
  }

  static tenon_status check_blob(tenon_backend* backend, const tenon_init_context* context,
                                 std::uint32_t* verdict) noexcept {
    return guard(host_of<B>(backend), [&]() -> Status {
      InitContext init_context(*context);
      TENON_TRY(const BlobVerdict found,
                self<B>(backend).check_blob(
                    init_context, Blob(context->processed),
                    CompileSpecs(context->compile_specs, context->num_compile_specs)));
      *verdict = static_cast<std::uint32_t>(found.compatibility);
      if (found.compatibility != Compatibility::Optimal) {
        report(context->host, Error::DelegateInvalidCompatibility, found.reason);
      }
      return ok();
    });
  }

  static constexpr tenon_check_blob_v1 table = {sizeof(tenon_check_blob_v1), 0, &check_blob};
};

template <>
struct MixinOf<tenon_check_blob_v1> : Mixin<WithCheckBlob, CheckBlobExtension> {};

}  // namespace detail
}}  // namespace tenon::TENON_RELEASE
