// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tenon/abi/version.h"

/// Texts of a plugin, made safe for a report. A plugin chooses its name, its error texts and its
/// output, so all of them are untrusted: none may end an element, begin markup, control a terminal
/// or change the direction of writing.
///
/// Characters that cannot be shown are written as `\x1b` or `\u202e`, so that a reader still sees
/// them.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance::escape {

/// `text` with each byte that is not UTF-8 as `\xff`. Valid UTF-8 is not changed.
[[nodiscard]] std::string utf8(std::string_view text);

/// `text` as one line for a terminal: a line feed or tab becomes a blank.
[[nodiscard]] std::string line(std::string_view text);

/// `text` as lines for a terminal, each after `indent` and with a line feed at its end.
[[nodiscard]] std::string block(std::string_view text, std::string_view indent);

/// `text` as content of an element or as the value of an attribute in HTML, and as content of an
/// element in XML 1.0. Line feeds and tabs stay.
[[nodiscard]] std::string markup(std::string_view text);

/// `text` as the value of an attribute in XML 1.0, whose readers turn line feeds into blanks unless
/// they are written as numbers.
[[nodiscard]] std::string xml_attribute(std::string_view text);

/// Makes of a piece of text what its place in a report needs.
using Escape = std::string (*)(std::string_view);

/// The text of a rule, with `name` applied to each name between backticks and `other` to the
/// rest.
[[nodiscard]] std::string with_names(std::string_view text, Escape name, Escape other);

/// `text` as one line of GitHub's Markdown, in a paragraph or a cell of a table: nothing in it is
/// markup, HTML, a formula or a link.
[[nodiscard]] std::string markdown(std::string_view text);

/// At most `longest` bytes of `text`, whole characters if it is UTF-8, and a line with the number
/// of bytes that were left out.
[[nodiscard]] std::string cut(std::string_view text, std::size_t longest);

}}}  // namespace tenon::TENON_RELEASE::conformance::escape
