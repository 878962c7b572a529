// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/rules/rulebook.hpp"

/// Finds the rules that tests name in their tags.
namespace tenon::rulebook {

/// `TENON_CONFORMANCE_TEST("suite/id", "name", "[suite][level-3][case][TN-EXE-2]")` in a suite.
struct ConformanceTest {
  std::string id;  ///< The compiler checks its form (is_test_id in tenon/conformance/test.hpp).
  std::string name;
  std::vector<std::string> tags;  ///< Without their brackets, in their order.
  std::string file;               ///< "tests/conformance/kit/suites/arguments.cpp".
  std::size_t line = 0;

  [[nodiscard]] std::vector<std::string> rules() const {
    std::vector<std::string> out;
    for (const std::string& tag : tags) {
      if (tag.starts_with("TN-")) out.push_back(tag);
    }
    return out;
  }
};

/// Tests of a suite, and those that could not be read.
struct ConformanceTests {
  std::vector<ConformanceTest> tests;
  std::vector<Problem> problems;
};

/// Files by the rules that their tests name: "TN-SES-3" ->
/// "tests/unit/host/method/device_memory_test.cpp".
using TaggedFiles = std::map<std::string, std::set<std::string>>;

namespace detail {

struct Token {
  enum class Kind { word, text, mark } kind = Kind::mark;
  std::string value;  ///< Of a text: the part between its quotes, unescaped.
  std::size_t line = 0;
};

/// Words, texts and marks of a C++ source, without its comments and white space.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  [[nodiscard]] std::vector<Token> read() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (is_word(c)) {
        read_word();
      } else if (source_.substr(at_, 2) == "//") {
        skip_to("\n");
      } else if (source_.substr(at_, 2) == "/*") {
        skip_to("*/");
      } else if (c == '"') {
        read_text('"', true);
      } else if (c == '\'') {
        read_text('\'', false);
      } else {
        if (c != ' ' && c != '\n' && c != '\t') add(Token::Kind::mark, std::string(1, c));
        step(1);
      }
    }
    return std::move(tokens_);
  }

 private:
  void step(std::size_t count) {
    for (; count > 0 && at_ < source_.size(); --count) line_ += source_[at_++] == '\n' ? 1 : 0;
  }

  void skip_to(std::string_view end) {
    const std::size_t found = source_.find(end, at_ + 1);
    step(found == std::string_view::npos ? source_.size() : found + end.size() - at_);
  }

  void add(Token::Kind kind, std::string value) { tokens_.push_back({kind, value, line_}); }

  void read_word() {
    const std::size_t begin = at_;
    const auto is_separator = [&] {  // As in 1'000.
      return source_[at_] == '\'' && source_[begin] >= '0' && source_[begin] <= '9';
    };
    while (at_ < source_.size() && (is_word(source_[at_]) || is_separator())) step(1);
    const std::string_view word = source_.substr(begin, at_ - begin);
    if (word.ends_with('R') && word.size() <= 3 && source_.substr(at_, 1) == "\"") {
      const std::size_t open = source_.find('(', at_);
      if (open == std::string_view::npos) return;
      const std::string end = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
      const std::size_t close = std::min(source_.find(end, open), source_.size());
      add(Token::Kind::text, std::string(source_.substr(open + 1, close - open - 1)));
      step(close + end.size() - at_);
      return;
    }
    add(Token::Kind::word, std::string(word));
  }

  void read_text(char quote, bool keep) {
    const std::size_t line = line_;
    std::string value;
    for (step(1); at_ < source_.size() && source_[at_] != quote; step(1)) {
      if (source_[at_] == '\\') step(1);
      if (at_ < source_.size()) value.push_back(source_[at_]);
    }
    step(1);
    if (keep) tokens_.push_back({Token::Kind::text, std::move(value), line});
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// Joins adjacent texts from `at` on, and moves `at` to the token after them.
[[nodiscard]] inline std::string read_texts(const std::vector<Token>& tokens, std::size_t& at) {
  std::string out;
  for (; at < tokens.size() && tokens[at].kind == Token::Kind::text; ++at) out += tokens[at].value;
  return out;
}

[[nodiscard]] inline bool is_mark(const std::vector<Token>& tokens, std::size_t at, char mark) {
  return at < tokens.size() && tokens[at].kind == Token::Kind::mark && tokens[at].value[0] == mark;
}

/// "[a][b]" -> a, b. Empty for any other text.
[[nodiscard]] inline std::vector<std::string> split_tags(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find(']');
    if (text[0] != '[' || end == std::string_view::npos) return {};
    out.emplace_back(text.substr(1, end - 1));
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace detail

/// The tests of one suite.
[[nodiscard]] inline ConformanceTests read_suite(std::string_view file, std::string_view text) {
  ConformanceTests out;
  const std::vector<detail::Token> tokens = detail::Tokenizer(text).read();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].value != "TENON_CONFORMANCE_TEST") continue;
    if (tokens[i].kind != detail::Token::Kind::word) continue;
    std::size_t at = i + 2;
    ConformanceTest test{.id = detail::read_texts(tokens, at),
                         .name = {},
                         .tags = {},
                         .file = std::string(file),
                         .line = tokens[i].line};
    bool is_good = detail::is_mark(tokens, i + 1, '(') && detail::is_mark(tokens, at++, ',');
    test.name = detail::read_texts(tokens, at);
    is_good = is_good && detail::is_mark(tokens, at++, ',');
    test.tags = detail::split_tags(detail::read_texts(tokens, at));
    is_good = is_good && detail::is_mark(tokens, at, ')') && !test.id.empty() &&
              !test.name.empty() && !test.tags.empty();
    if (is_good) {
      out.tests.push_back(std::move(test));
    } else {
      out.problems.push_back(
          {test.file, test.line,
           "expected TENON_CONFORMANCE_TEST(\"suite/id\", \"name\", \"[suite][tag]\")"});
    }
  }
  return out;
}

/// The ids of rules in tags of `text`: "[TN-EXE-2]".
[[nodiscard]] inline std::set<std::string> rule_tags(std::string_view text) {
  std::set<std::string> out;
  for (std::size_t at = text.find("[TN-"); at != std::string_view::npos;
       at = text.find("[TN-", at + 1)) {
    const std::size_t end = text.find_first_of("] \n", at);
    if (end != std::string_view::npos && text[end] == ']') {
      out.emplace(text.substr(at + 1, end - at - 1));
    }
  }
  return out;
}

}  // namespace tenon::rulebook
