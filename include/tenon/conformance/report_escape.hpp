// SPDX-License-Identifier: MIT
#pragma once

#include <flatbuffers/util.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Texts of a plugin, made fit for a place in a report. A plugin chooses its name, its error texts
/// and what it prints, so all of them are taken for hostile: nothing of it may end an element,
/// begin markup, drive a terminal or turn the direction of writing.
///
/// What cannot be shown is written as `\x1b` or `\u202e`, so that a reader still sees what it was.
namespace tenon::conformance::escape {

namespace detail {

/// Calls `use(code, bytes)` for each character of `text`. A byte that is no UTF-8 comes alone, with
/// code -1.
template <class Use>
void for_each_character(std::string_view view, Use&& use) {
  // The reader below looks for a zero at the end.
  const std::string text(view);
  const char* const end = text.c_str() + text.size();
  for (const char* next = text.c_str(); next != end;) {
    const char* const start = next;
    int code = flatbuffers::FromUTF8(&next);
    if (code < 0 || next > end) {
      code = -1;
      next = start + 1;
    }
    use(code, std::string_view(start, static_cast<std::size_t>(next - start)));
  }
}

inline void append_hex(std::string& out, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out.push_back("0123456789abcdef"[(value >> shift) & 0xf]);
  }
}

/// `\xff` for a byte, `\u202e` and `\U01fffe` for a character above 0xff.
inline void append_visible(std::string& out, int code, std::string_view bytes) {
  if (code < 0) code = static_cast<unsigned char>(bytes.front());
  out += code > 0xffff ? "\\U" : code > 0xff ? "\\u" : "\\x";
  append_hex(out, static_cast<std::uint32_t>(code), code > 0xffff ? 6 : code > 0xff ? 4 : 2);
}

/// Whether a character is a command for what shows it: C0, DEL and C1, line and paragraph
/// separators, marks and overrides of the direction of writing; or no character for XML.
[[nodiscard]] constexpr bool is_command(int code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff || (code & 0xffff) >= 0xfffe;
}

/// The entity of a character that means something in XML and HTML; empty for all others.
[[nodiscard]] constexpr std::string_view entity(int code) noexcept {
  switch (code) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

}  // namespace detail

/// `text` with each byte that is no UTF-8 as `\xff`. What is UTF-8 already stays as it is.
[[nodiscard]] inline std::string utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  detail::for_each_character(text, [&](int code, std::string_view bytes) {
    if (code < 0) return detail::append_visible(out, code, bytes);
    out += bytes;
  });
  return out;
}

/// `text` as one line for a terminal: a line feed or tab becomes a blank.
[[nodiscard]] inline std::string line(std::string_view text) {
  std::string out;
  detail::for_each_character(text, [&](int code, std::string_view bytes) {
    if (code == '\n' || code == '\t') {
      out.push_back(' ');
    } else if (detail::is_command(code)) {
      detail::append_visible(out, code, bytes);
    } else {
      out += bytes;
    }
  });
  return out;
}

/// `text` as lines for a terminal, each behind `indent`, and a line feed at the end of each.
[[nodiscard]] inline std::string block(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = text.find('\n');
    out += indent;
    out += line(text.substr(0, length));
    out.push_back('\n');
    text.remove_prefix(length == text.npos ? text.size() : length + 1);
  }
  return out;
}

/// `text` as content of an element or as the value of an attribute in HTML, and as content of an
/// element in XML 1.0. Line feeds and tabs stay.
[[nodiscard]] inline std::string markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  detail::for_each_character(text, [&](int code, std::string_view bytes) {
    if (const std::string_view entity = detail::entity(code); !entity.empty()) {
      out += entity;
    } else if (code != '\n' && code != '\t' && detail::is_command(code)) {
      detail::append_visible(out, code, bytes);
    } else {
      out += bytes;
    }
  });
  return out;
}

/// `text` as the value of an attribute in XML 1.0, whose readers turn line feeds into blanks when
/// they are not written as numbers.
[[nodiscard]] inline std::string xml_attribute(std::string_view text) {
  std::string out;
  for (const char c : markup(text)) {
    if (c == '\n') {
      out += "&#10;";
    } else if (c == '\t') {
      out += "&#9;";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

/// A sentence of a header, in which `names` stand between backticks. `name` and `other` make of
/// each piece what the place needs.
template <class Name, class Other>
[[nodiscard]] std::string with_names(std::string_view sentence, Name&& name, Other&& other) {
  std::string out;
  for (;;) {
    const std::size_t open = sentence.find('`');
    const std::size_t close = open == sentence.npos ? open : sentence.find('`', open + 1);
    if (close == sentence.npos) return out + other(sentence);
    out += other(sentence.substr(0, open));
    out += name(sentence.substr(open + 1, close - open - 1));
    sentence.remove_prefix(close + 1);
  }
}

/// `text` as one line of GitHub's Markdown, in a paragraph or a cell of a table: nothing in it is
/// markup, HTML, a formula or a link.
[[nodiscard]] inline std::string markdown(std::string_view text) {
  constexpr std::string_view marks = "\\`*_{}[]()#+!|~$";
  const std::string plain = line(text);
  std::string out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const std::string_view before = std::string_view(plain).substr(0, i);
    const std::string_view behind = std::string_view(plain).substr(i + 1);
    if (c == '<' || c == '&' || c == '>') {
      out += detail::entity(c);
    } else if (c == '@') {
      // A backslash does not keep GitHub from making a mention of a name.
      out += "&#64;";
    } else {
      const bool links = (c == ':' && behind.starts_with("//")) ||
                         (c == '.' && (before.ends_with("www") || before.ends_with("WWW")));
      if (links || marks.find(c) != marks.npos) out.push_back('\\');
      out.push_back(c);
    }
  }
  return out;
}

/// At most `longest` bytes of `text`, whole characters if it is UTF-8, and a line that says how
/// many were left out.
[[nodiscard]] inline std::string cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  std::size_t length = longest;
  const auto is_inside = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  while (length > 0 && longest - length < 3 && is_inside(length)) --length;
  std::string out(text.substr(0, length));
  out += "\n[";
  out += std::to_string(text.size() - length);
  out += " more bytes]";
  return out;
}

}  // namespace tenon::conformance::escape
