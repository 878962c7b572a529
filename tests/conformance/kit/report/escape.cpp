// SPDX-License-Identifier: MIT
#include "kit/report/escape.hpp"

#include <cstdint>

#include "tenon/core/visible.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace conformance::escape {

namespace {

/// Takes the characters of a text one by one.
class Characters {
 public:
  explicit Characters(std::string_view text) : rest_(text) {}

  /// False at the end.
  bool next() {
    if (rest_.empty()) return false;
    std::size_t size = 0;
    code = tenon::detail::decode_utf8(rest_, size);
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::int32_t code = -1;  ///< -1 for a byte that is not UTF-8; it comes alone.
  std::string_view bytes;

 private:
  std::string_view rest_;
};

/// The entity of a character that has a meaning in XML and HTML; empty for all others.
[[nodiscard]] constexpr std::string_view entity_of(int code) noexcept {
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

}  // namespace

std::string utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (Characters each(text); each.next();) {
    if (each.code < 0) {
      tenon::detail::append_escape(out, each.code, each.bytes.front());
    } else {
      out += each.bytes;
    }
  }
  return out;
}

std::string line(std::string_view text) {
  std::string out;
  for (Characters each(text); each.next();) {
    if (each.code == '\n' || each.code == '\t') {
      out.push_back(' ');
    } else if (tenon::detail::is_terminal_control(each.code)) {
      tenon::detail::append_escape(out, each.code, each.bytes.front());
    } else {
      out += each.bytes;
    }
  }
  return out;
}

std::string block(std::string_view text, std::string_view indent) {
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

std::string markup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (Characters each(text); each.next();) {
    if (const std::string_view entity = entity_of(each.code); !entity.empty()) {
      out += entity;
    } else if (each.code != '\n' && each.code != '\t' &&
               tenon::detail::is_terminal_control(each.code)) {
      tenon::detail::append_escape(out, each.code, each.bytes.front());
    } else {
      out += each.bytes;
    }
  }
  return out;
}

std::string xml_attribute(std::string_view text) {
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

std::string with_names(std::string_view text, Escape name, Escape other) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find('`');
    const std::size_t close = open == text.npos ? open : text.find('`', open + 1);
    if (close == text.npos) return out + other(text);
    out += other(text.substr(0, open));
    out += name(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

std::string markdown(std::string_view text) {
  constexpr std::string_view marks = "\\`*_{}[]()#+!|~$";
  const std::string plain = line(text);
  std::string out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    const std::string_view before = std::string_view(plain).substr(0, i);
    const std::string_view behind = std::string_view(plain).substr(i + 1);
    if (c == '<' || c == '&' || c == '>') {
      out += entity_of(c);
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

std::string cut(std::string_view text, std::size_t longest) {
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

}}}  // namespace tenon::TENON_RELEASE::conformance::escape
