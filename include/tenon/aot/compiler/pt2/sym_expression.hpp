// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/pt2/sym_range.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/loader/files/quoted.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot::detail {

/// Ranges of symbols, by their names; of other expressions by their text.
using SymRanges = std::map<std::string, SymRange, std::less<>>;

/// A number that is known at run time only, as PyTorch's archive writes it: the text from which
/// sympy rebuilds the expression, "Mul(Integer(2), Symbol('s77', integer=True))".
/// torch/utils/_sympy/functions.py defines the functions; an unknown function keeps its name and
/// may be any number.
class SymExpression {
 public:
  /// InvalidProgram when `text` is not such an expression, or is nested deeper than 64 levels.
  [[nodiscard]] static Result<SymExpression> parse(std::string_view text);

  /// For people, and to compare: equal expressions have equal texts. "2*s77", "s77//2 + 1".
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// The numbers that it may be when its symbols are in their ranges. Symbols are taken to be
  /// independent of each other.
  [[nodiscard]] SymRange range(const SymRanges& ranges) const {
    SymRange out = own_range(ranges);
    // The exporter may know more about an expression than about its parts.
    if (const auto known = ranges.find(text_); known != ranges.end() && kind_ != Kind::Symbol) {
      out.min = std::max(out.min, known->second.min);
      out.max = std::min(out.max, known->second.max);
    }
    return out;
  }

 private:
  enum class Kind { Number, Symbol, Call };
  friend class SymParser;

  [[nodiscard]] SymRange own_range(const SymRanges& ranges) const;
  void write_text();

  /// As an operand of a product, quotient or power.
  [[nodiscard]] std::string operand_text() const {
    const bool is_atom = kind_ != Kind::Call || text_.starts_with(concat(name_, "("));
    return is_atom ? text_ : concat("(", text_, ")");
  }

  Kind kind_ = Kind::Number;
  std::string name_;  ///< Of the symbol or function; what is written, of a number.
  SymRange assumed_;  ///< Of a symbol: from its assumptions. Of an integer: itself.
  std::vector<SymExpression> arguments_;
  std::string text_;
};

/// Reads one expression from its beginning to its end.
class SymParser {
 public:
  explicit SymParser(std::string_view text) : whole_(text), rest_(text) {}

  [[nodiscard]] Result<SymExpression> parse() {
    TENON_TRY(SymExpression out, expression(0));
    if (!rest_.empty()) return wrong("continues with", rest_);
    return out;
  }

 private:
  [[nodiscard]] Status wrong(std::string_view what, std::string_view where) const {
    return error(Error::InvalidProgram, "expression ", host::quoted(whole_), " ", what, " ",
                 where.empty() ? std::string("nothing") : host::quoted(where));
  }

  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool accept(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    skip_spaces();
    return true;
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  std::string_view word() {
    std::size_t length = 0;
    while (length < rest_.size() && is_word(rest_[length])) ++length;
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }

  /// Characters of a number, with a sign: "-3", "1.5e-7".
  std::string_view digits() {
    std::size_t length = rest_.starts_with('-') ? 1 : 0;
    while (length < rest_.size() &&
           (is_word(rest_[length]) || rest_[length] == '.' ||
            (rest_[length] == '-' && (rest_[length - 1] == 'e' || rest_[length - 1] == 'E')))) {
      ++length;
    }
    const std::string_view out = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return out;
  }

  [[nodiscard]] Result<std::string> quoted_text() {
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end =
        quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) return wrong("expects a text at", rest_);
    std::string out(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return out;
  }

  [[nodiscard]] static SymExpression number(std::string_view text) {
    SymExpression out;
    out.kind_ = SymExpression::Kind::Number;
    std::int64_t integer = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), integer);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) {
      out.assumed_ = SymRange::only(integer);
    }
    out.name_ = text;
    out.write_text();
    return out;
  }

  [[nodiscard]] Result<SymExpression> expression(int depth) {
    constexpr int max_depth = 64;
    if (depth > max_depth) return wrong("is nested too deeply at", rest_);
    skip_spaces();
    const bool is_number = !rest_.empty() && (rest_.front() == '-' || rest_.front() == '.' ||
                                              (rest_.front() >= '0' && rest_.front() <= '9'));
    if (is_number) {
      const std::string_view text = digits();
      if (text == "-" || text == ".") return wrong("expects a number at", rest_);
      return number(text);
    }
    const std::string_view name = word();
    if (name.empty()) return wrong("expects a name or a number at", rest_);
    if (!accept('(')) return constant(name);
    if (name == "Symbol") return symbol();
    if (name == "Float") return real();
    SymExpression out;
    out.kind_ = SymExpression::Kind::Call;
    out.name_ = name;
    if (!accept(')')) {
      do {
        TENON_TRY(SymExpression argument, expression(depth + 1));
        out.arguments_.push_back(std::move(argument));
      } while (accept(','));
      if (!accept(')')) return wrong("expects ')' at", rest_);
    }
    // An integer is written as a call, too.
    if (name == "Integer" && out.arguments_.size() == 1 &&
        out.arguments_[0].kind_ == SymExpression::Kind::Number) {
      return std::move(out.arguments_[0]);
    }
    if ((name == "Add" || name == "Mul" || name == "Max" || name == "Min") &&
        out.arguments_.empty()) {
      return wrong("has a call without arguments before", rest_);
    }
    out.write_text();
    return out;
  }

  /// "true", "oo", "int_oo", "pi".
  [[nodiscard]] static SymExpression constant(std::string_view name) {
    SymExpression out = number(name);
    if (name == "oo" || name == "int_oo") out.assumed_ = SymRange::only(SymRange::highest);
    if (name == "true") out.assumed_ = SymRange::only(1);
    if (name == "false") out.assumed_ = SymRange::only(0);
    return out;
  }

  /// Reads the rest after "Symbol(": 's77', positive=True, integer=True)
  [[nodiscard]] Result<SymExpression> symbol() {
    SymExpression out;
    out.kind_ = SymExpression::Kind::Symbol;
    TENON_TRY(out.name_, quoted_text());
    while (accept(',')) {
      const std::string_view fact = word();
      if (!accept('=')) return wrong("expects '=' at", rest_);
      if (word() != "True") continue;
      if (fact == "positive") out.assumed_.min = 1;
      if (fact == "nonnegative") out.assumed_.min = std::max<std::int64_t>(out.assumed_.min, 0);
    }
    if (!accept(')')) return wrong("expects ')' at", rest_);
    out.write_text();
    return out;
  }

  /// Reads the rest after "Float(": '0.5', precision=53)
  [[nodiscard]] Result<SymExpression> real() {
    TENON_TRY(const std::string text, quoted_text());
    if (accept(',') && (word() != "precision" || !accept('=') || word().empty())) {
      return wrong("expects a precision at", rest_);
    }
    if (!accept(')')) return wrong("expects ')' at", rest_);
    SymExpression out = number(text);
    out.assumed_ = {};
    return out;
  }

  std::string_view whole_;
  std::string_view rest_;
};

inline Result<SymExpression> SymExpression::parse(std::string_view text) {
  return SymParser(text).parse();
}

inline SymRange SymExpression::own_range(const SymRanges& ranges) const {
  if (kind_ == Kind::Number) return assumed_;
  if (kind_ == Kind::Symbol) {
    const auto known = ranges.find(name_);
    return known != ranges.end() ? known->second : assumed_;
  }
  std::vector<SymRange> parts;
  for (const SymExpression& argument : arguments_) parts.push_back(argument.range(ranges));
  const auto fold = [&](auto&& join) {
    SymRange out = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) out = join(out, parts[i]);
    return out;
  };
  if (name_ == "Add") return fold([](const auto& a, const auto& b) { return a + b; });
  if (name_ == "Mul") return fold([](const auto& a, const auto& b) { return a * b; });
  if (name_ == "Max") return fold(largest_of);
  if (name_ == "Min") return fold(smallest_of);
  if (parts.size() == 1 && (name_ == "Identity" || name_ == "ToFloat")) return parts[0];
  if (parts.size() != 2) return {};
  if (name_ == "FloorDiv" || name_ == "CleanDiv") return floor_divide(parts[0], parts[1]);
  if (name_ == "Mod" || name_ == "PythonMod") return remainder(parts[0], parts[1]);
  if (name_ == "CeilDiv") {
    const SymRange negated = SymRange::only(-1) * parts[0];
    return SymRange::only(-1) * floor_divide(negated, parts[1]);
  }
  if (name_ == "Pow" || name_ == "PowByNatural") {
    constexpr std::int64_t largest_power = 64;
    const SymRange power = parts[1];
    if (parts[0].min < 0 || !power.is_one_number() || power.min < 1 || power.min > largest_power) {
      return {};
    }
    SymRange out = SymRange::only(1);
    for (std::int64_t i = 0; i < power.min; ++i) out = out * parts[0];
    return out;
  }
  return {};
}

inline void SymExpression::write_text() {
  if (kind_ != Kind::Call) {
    text_ = name_;
    return;
  }
  // Order does not matter to these. Numbers come first in a product and last in a sum.
  const bool is_sum = name_ == "Add";
  const bool is_product = name_ == "Mul";
  if (is_sum || is_product || name_ == "Max" || name_ == "Min") {
    const auto sorts_before = [&](const SymExpression& a, const SymExpression& b) {
      const bool a_is_number = a.kind_ == Kind::Number;
      const bool b_is_number = b.kind_ == Kind::Number;
      if (a_is_number != b_is_number) return is_sum ? b_is_number : a_is_number;
      return a.text_ < b.text_;
    };
    std::stable_sort(arguments_.begin(), arguments_.end(), sorts_before);
  }
  // sympy's names of comparisons.
  constexpr std::pair<std::string_view, std::string_view> comparisons[] = {
      {"Equality", " == "}, {"Unequality", " != "},       {"GreaterThan", " >= "},
      {"LessThan", " <= "}, {"StrictGreaterThan", " > "}, {"StrictLessThan", " < "},
  };
  std::string_view separator = ", ";
  if (is_sum) separator = " + ";
  if (is_product) separator = "*";
  const bool is_pair = arguments_.size() == 2;
  if (is_pair && (name_ == "FloorDiv" || name_ == "CleanDiv")) separator = "//";
  if (is_pair && (name_ == "Pow" || name_ == "PowByNatural")) separator = "**";
  for (const auto& [name, sign] : comparisons) {
    if (is_pair && name_ == name) separator = sign;
  }
  std::string joined;
  for (const SymExpression& argument : arguments_) {
    if (!joined.empty()) joined += separator;
    joined += is_sum || separator == ", " ? argument.text_ : argument.operand_text();
  }
  text_ = separator == ", " ? concat(name_, "(", joined, ")") : joined;
}

}}}  // namespace tenon::TENON_RELEASE::aot::detail
