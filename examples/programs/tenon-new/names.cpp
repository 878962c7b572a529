// SPDX-License-Identifier: MIT
#include "names.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "tenon/abi/plugin.h"
#include "tenon/core/concat.hpp"

namespace tenon::make_new {
namespace {

constexpr std::string_view suffix = "_backend";
constexpr std::size_t longest_id = TENON_ID_SIZE - 1;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_in_ids(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '.' || c == '-';
}
char to_lower(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

/// A word, or several with one underscore between each two.
bool is_snake(std::string_view name) {
  if (name.empty() || !is_lower(name.front()) || name.back() == '_') return false;
  if (name.find("__") != std::string_view::npos) return false;
  return std::ranges::all_of(name, [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

// The name becomes a namespace, and a target of Meson, make and CMake.
constexpr std::array taken_by_cpp = std::to_array<std::string_view>({
    "alignas",   "alignof",   "and",       "asm",       "auto",      "bitand",   "bitor",
    "bool",      "break",     "case",      "catch",     "char",      "class",    "compl",
    "concept",   "const",     "consteval", "constexpr", "constinit", "continue", "decltype",
    "default",   "delete",    "do",        "double",    "else",      "enum",     "explicit",
    "export",    "extern",    "false",     "float",     "for",       "friend",   "goto",
    "if",        "inline",    "int",       "linux",     "long",      "main",     "mutable",
    "namespace", "new",       "noexcept",  "not",       "nullptr",   "operator", "or",
    "private",   "protected", "public",    "register",  "requires",  "return",   "short",
    "signed",    "sizeof",    "static",    "std",       "struct",    "switch",   "template",
    "tenon",     "this",      "throw",     "true",      "try",       "typedef",  "typeid",
    "typename",  "union",     "unix",      "unsigned",  "using",     "virtual",  "void",
    "volatile",  "while",     "xor",
});
constexpr std::array taken_by_builds = std::to_array<std::string_view>({
    "all",     "aot",  "benchmark", "build", "check",     "clean",   "coverage",
    "depend",  "dist", "docs",      "help",  "install",   "package", "reconfigure",
    "runtime", "scan", "test",      "tests", "uninstall",
});

bool is_in(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// A valid name similar to `name`: AcmeNPU2 and acme-npu2 give acme_npu2.
std::string suggest(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (!is_lower(c) && !is_upper(c) && !is_digit(c)) {
      if (!out.empty() && out.back() != '_') out.push_back('_');
      continue;
    }
    const bool starts_word =
        is_upper(c) && i > 0 &&
        (is_lower(name[i - 1]) || (i + 1 < name.size() && is_lower(name[i + 1])));
    if (starts_word && !out.empty() && out.back() != '_') out.push_back('_');
    out.push_back(to_lower(c));
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  while (!out.empty() && is_digit(out.front())) out.erase(out.begin());
  while (!out.empty() && out.front() == '_') out.erase(out.begin());
  if (out.ends_with(suffix)) out.resize(out.size() - suffix.size());
  return out;
}

}  // namespace

const Names& placeholder() {
  static const Names names{"my_npu", "MyNpu", "MY_NPU", "MyNpuBackend"};
  return names;
}

Result<Names> names_of(std::string_view snake, std::string_view id) {
  if (!is_snake(snake)) {
    const std::string meant = suggest(snake);
    const std::string hint = is_snake(meant) ? concat("; did you mean ", meant, "?") : "";
    return error(Error::InvalidArgument, "name '", snake,
                 "': expected words in lower case with an underscore between them, as in acme_npu",
                 hint);
  }
  if (snake.ends_with(suffix)) {
    const std::string_view rest = snake.substr(0, snake.size() - suffix.size());
    return error(Error::InvalidArgument, "name '", snake, "': leave out '", suffix,
                 "', the id ends in Backend in any case; did you mean ", rest, "?");
  }
  if (is_in(taken_by_cpp, snake)) {
    return error(Error::InvalidArgument, "name '", snake,
                 "': the word is taken in C++, and the name becomes a namespace");
  }
  if (is_in(taken_by_builds, snake) || snake == placeholder().snake) {
    return error(Error::InvalidArgument, "name '", snake,
                 "': the word is taken by build systems or by the templates");
  }
  Names out{std::string(snake), {}, {}, {}};
  bool starts_word = true;
  for (const char c : snake) {
    out.upper.push_back(to_upper(c));
    if (c != '_') out.camel.push_back(starts_word ? to_upper(c) : c);
    starts_word = c == '_';
  }
  out.id = id.empty() ? concat(out.camel, "Backend") : std::string(id);
  if (out.id.size() > longest_id) {
    return error(Error::InvalidArgument, "name '", snake, "': the id ", out.id, " has ",
                 out.id.size(), " bytes, expected at most ", longest_id);
  }
  if (!std::ranges::all_of(out.id, is_in_ids)) {
    return error(Error::InvalidArgument, "id '", id,
                 "': expected letters, digits, '_', '.' and '-' only, as in AcmeNpuBackend");
  }
  return out;
}

std::string rename(std::string_view text, const Names& from, const Names& to) {
  // The id before the name of the class, with which it may begin.
  const std::array<std::pair<std::string_view, std::string_view>, 4> pairs{
      {{from.id, to.id}, {from.snake, to.snake}, {from.camel, to.camel}, {from.upper, to.upper}}};
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto hit =
        std::ranges::find_if(pairs, [&](const auto& pair) { return text.starts_with(pair.first); });
    if (hit == pairs.end()) {
      out.push_back(text.front());
      text.remove_prefix(1);
    } else {
      out += hit->second;
      text.remove_prefix(hit->first.size());
    }
  }
  return out;
}

}  // namespace tenon::make_new
