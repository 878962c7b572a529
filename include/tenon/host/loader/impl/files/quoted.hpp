// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/loader/files/quoted.hpp"

#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

std::string printable(std::string_view text, std::size_t longest) {
  return tenon::detail::visible_part(text, longest);
}

std::string detail::Quoted::operator()(std::string_view text) const {
  constexpr std::size_t longest = 80;
  std::string out(1, '\'');
  out += printable(text, longest);
  out += '\'';
  return out;
}

}}}  // namespace tenon::TENON_RELEASE::host
