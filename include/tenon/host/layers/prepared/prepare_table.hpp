// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tenon/abi/backend.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/host/loader/plugin/calls.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Answers `open` of "tenon.prepare/1" for one call of `init`, whose service it is.
class PreparedOpener {
 public:
  static constexpr char key = 0;

  [[nodiscard]] virtual tenon_status open(const tenon_init_context& context, const void* identity,
                                          std::uint64_t identity_size,
                                          tenon_prepared** out) const noexcept = 0;

 protected:
  ~PreparedOpener() = default;
};

/// The function of "tenon.prepare/1" (abi/extensions/prepare.h).
[[nodiscard]] inline const tenon_prepare_v1& prepare_table() noexcept {
  static constexpr tenon_prepare_v1 table = {
      sizeof(tenon_prepare_v1), 0,
      [](const tenon_init_context* context, const void* identity, std::uint64_t identity_size,
         tenon_prepared** out) -> tenon_status {
        const auto* opener =
            static_cast<const PreparedOpener*>(find_service(context, &PreparedOpener::key));
        if (!opener) return TENON_STATUS_NOT_SUPPORTED;
        return opener->open(*context, identity, identity_size, out);
      }};
  return table;
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
