// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/method.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::string_view Method::variant() const noexcept {
  const ProgramVariant* const chosen = detail::state_of(*this).variant;
  return chosen ? chosen->name : std::string_view();
}

}}}  // namespace tenon::TENON_RELEASE::host
