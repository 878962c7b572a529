// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "color.hpp"
#include "tenon/core/concat.hpp"
#include "tool.hpp"

namespace tenon { inline namespace TENON_RELEASE {

/// Text of titles with indented lines under them. All of it passes through `printable`, as it comes
/// from files and plugins.
class Sections {
 public:
  explicit Sections(bool color) : color_(color) {}

  void title(std::string_view text) {
    out_ += concat(styled(printable(text), Style::title, color_), "\n");
  }
  template <class... Pieces>
  void line(const Pieces&... pieces) {
    out_ += concat("  ", printable(concat(pieces...)), "\n");
  }
  /// A line whose first word has a style.
  void styled_line(std::string_view word, Style style, std::string_view text) {
    out_ += concat("  ", styled(printable(word), style, color_), "  ", printable(text), "\n");
  }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  std::string out_;
  bool color_;
};

}}  // namespace tenon::TENON_RELEASE
