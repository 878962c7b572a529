// SPDX-License-Identifier: MIT
#include "metal_source.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace tenon::metal_stand_in {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// The source with a space for each comment: a comment before a declaration is no part of it.
std::string without_comments(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t line = text.find("//");
    const std::size_t block = text.find("/*");
    const std::size_t begin = std::min(line, block);
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    text.remove_prefix(begin);
    const std::size_t end = begin == line ? text.find('\n') : text.find("*/", 2);
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + (begin == line ? 0 : 2));
    out += ' ';
  }
}

/// The bracket that closes the one at `begin`, or npos.
std::size_t matching(std::string_view text, std::size_t begin, char open, char close) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// The next `word` that is not a part of another one.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return at;
    }
  }
  return std::string_view::npos;
}

std::uint64_t number_in(std::string_view text) {
  const std::size_t open = text.find('(');
  std::uint64_t out = 0;
  if (open != std::string_view::npos) {
    const std::string_view digits = trim(text.substr(open + 1));
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
  }
  return out;
}

Status not_understood(std::string_view what) {
  return error(Error::InvalidProgram, "the stand-in does not understand: ", what);
}

constexpr std::array<std::string_view, 11> positions = {
    "thread_position_in_grid",        "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",   "threads_per_grid",
    "threads_per_threadgroup",        "threadgroups_per_grid",
    "thread_index_in_threadgroup",    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup", "threads_per_simdgroup",
    "simdgroups_per_threadgroup"};

/// The argument that a kernel gets for one of its parameters.
Result<std::string> argument(std::string_view parameter, KernelEntry& entry) {
  std::string_view declaration = parameter;
  std::string_view attribute;
  if (const std::size_t at = parameter.find("[["); at != std::string_view::npos) {
    const std::size_t end = parameter.find("]]", at);
    if (end == std::string_view::npos) return not_understood(parameter);
    declaration = trim(parameter.substr(0, at));
    attribute = trim(parameter.substr(at + 2, end - at - 2));
  }
  std::size_t name = declaration.size();
  while (name > 0 && is_word(declaration[name - 1])) --name;
  const std::string_view type = trim(declaration.substr(0, name));
  if (type.empty()) return not_understood(parameter);
  if (std::ranges::find(positions, attribute) != positions.end()) {
    return concat("tenon_stand_in::position<", type, ">(thread_.", attribute, ")");
  }
  if (!attribute.empty() && !attribute.starts_with("buffer")) return not_understood(parameter);
  const unsigned index =
      attribute.empty() ? entry.num_buffers : static_cast<unsigned>(number_in(attribute));
  entry.num_buffers = std::max(entry.num_buffers, index + 1);
  if (type.back() == '*') return concat("static_cast<", type, ">(buffers[", index, "])");
  if (type.back() == '&') {
    return concat("*static_cast<", type.substr(0, type.size() - 1), "*>(buffers[", index, "])");
  }
  return not_understood(parameter);
}

/// The body of a kernel with the declarations of its threadgroup variables rewritten. Groups run
/// one after the other, so that one variable for all groups is enough.
std::string share_variables(std::string_view body) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = find_word(body, "threadgroup", 0); at != std::string_view::npos;
       at = find_word(body, "threadgroup", at + 1)) {
    std::size_t before = at;
    while (before > 0 && is_space(body[before - 1])) --before;
    if (before == 0 || std::string_view(";{}").find(body[before - 1]) == std::string_view::npos) {
      continue;
    }
    // A pointer to threadgroup memory is a thread's own.
    if (body.substr(at, body.find_first_of("[;=", at) - at).find('*') != std::string_view::npos) {
      continue;
    }
    out += body.substr(done, at - done);
    out += "static thread_local";
    done = at + std::string_view("threadgroup").size();
  }
  return out += body.substr(done);
}

}  // namespace

Result<TranslatedSource> translate(std::string_view given) {
  const std::string text = without_comments(given);
  const std::string_view source = text;
  TranslatedSource out;
  std::string entries;
  std::size_t done = 0;
  for (std::size_t at = find_word(source, "kernel void", 0); at != std::string_view::npos;
       at = find_word(source, "kernel void", at + 1)) {
    const std::size_t open = source.find('(', at);
    const std::size_t close =
        open == std::string_view::npos ? open : matching(source, open, '(', ')');
    const std::size_t body = close == std::string_view::npos ? close : source.find('{', close);
    const std::size_t end =
        body == std::string_view::npos ? body : matching(source, body, '{', '}');
    if (end == std::string_view::npos) return not_understood(source.substr(at, 80));
    KernelEntry entry;
    const std::size_t name = at + std::string_view("kernel void").size();
    entry.name = std::string(trim(source.substr(name, open - name)));
    const std::string_view before = trim(source.substr(0, at));
    const std::size_t attribute = before.rfind("[[max_total_threads_per_threadgroup");
    if (before.ends_with("]]") && attribute != std::string_view::npos &&
        before.find("]]", attribute) + 2 == before.size()) {
      entry.max_threads = number_in(before.substr(attribute));
    }
    std::string call;
    std::string_view parameters = source.substr(open + 1, close - open - 1);
    while (!trim(parameters).empty()) {
      const std::size_t comma = std::min(parameters.find(','), parameters.size());
      TENON_TRY(const std::string each, argument(trim(parameters.substr(0, comma)), entry));
      call += (call.empty() ? "" : ", ") + each;
      parameters.remove_prefix(std::min(comma + 1, parameters.size()));
    }
    entries += concat("extern \"C\" void tenon_stand_in_run_", std::string_view(entry.name),
                      "(void* const* buffers, const tenon_stand_in::Thread& thread_) {\n  ",
                      std::string_view(entry.name), "(", std::string_view(call), ");\n}\n");
    out.text += source.substr(done, body - done);
    out.text += share_variables(source.substr(body, end + 1 - body));
    done = end + 1;
    out.kernels.push_back(std::move(entry));
  }
  out.text += source.substr(done);
  out.text += "\nconst tenon_stand_in::Host* tenon_stand_in_host = nullptr;\n" + entries;
  return out;
}

}  // namespace tenon::metal_stand_in
