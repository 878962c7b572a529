// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

/// `text` in a form that cannot drive a terminal: characters that it obeys, and bytes that are not
/// UTF-8, are escapes, as in the text of a Status. Of `text` at most `longest` bytes are shown, in
/// whole characters; "..." marks a text that was cut.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest);

namespace detail {
struct Quoted {
  [[nodiscard]] std::string operator()(std::string_view text) const;
};
}  // namespace detail

/// quoted(text) is `text` in single quotes for an error message. Text from a file may be long or
/// hold anything: it is cut after 80 bytes, or before the character that would exceed them, and
/// made `printable`, so that a message stays one line.
///
/// An object, because quoted(std::string) would choose std::quoted before a function.
inline constexpr detail::Quoted quoted{};

}}}  // namespace tenon::TENON_RELEASE::host
