// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Reads the numbered rules out of the headers of the boundary.
///
/// A rule is an item of a `///` comment: "TN-AREA-N  sentence with MUST.", indented by two columns
/// or more, continued on lines that are indented further. It belongs to the declaration that
/// follows the comment.
namespace tenon::rulebook {

/// The side of the boundary that must keep a rule.
enum class Keeper { plugin, host };

/// One rule, as it is printed.
struct Rule {
  std::string id;           ///< "TN-EXE-2".
  std::string sentence;     ///< "`execute` MUST NOT write to an input."
  std::string header;       ///< "tenon/abi/backend.h".
  std::size_t line = 0;     ///< The line of the id, from 1.
  std::string declaration;  ///< "tenon_backend_api.execute"; empty without one.

  /// Rules for hosts say so: "A host ... MUST", "The host MUST".
  [[nodiscard]] Keeper keeper() const {
    const bool host = sentence.starts_with("A host ") || sentence.starts_with("The host ");
    return host ? Keeper::host : Keeper::plugin;
  }
};

/// A mistake in the headers or the tests.
struct Problem {
  std::string file;
  std::size_t line = 0;
  std::string text;

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Rules, and mistakes in the way they are written.
struct Rules {
  std::vector<Rule> rules;
  std::vector<Problem> problems;
};

namespace detail {

[[nodiscard]] inline bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

[[nodiscard]] inline std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

[[nodiscard]] inline std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// Whether `text` contains MUST as a word, and not only in backticks.
[[nodiscard]] inline bool has_must(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') quoted = !quoted;
    if (quoted || text.substr(i, 4) != "MUST") continue;
    const bool begins = i == 0 || !is_word(text[i - 1]);
    if (begins && (i + 4 == text.size() || !is_word(text[i + 4]))) return true;
  }
  return false;
}

/// The identifier that `text` begins with.
[[nodiscard]] inline std::string_view first_word(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_word);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// The identifier that `text` ends with.
[[nodiscard]] inline std::string_view last_word(std::string_view text) {
  text = trim(text);
  std::size_t begin = text.size();
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin);
}

/// The name that `text` declares, a declaration up to its `;` or `{`; empty without a name.
[[nodiscard]] inline std::string declared_name(std::string_view text) {
  text = trim(text);
  if (text.starts_with('#')) {
    constexpr std::string_view define = "#define ";
    return text.starts_with(define) ? std::string(first_word(text.substr(define.size()))) : "";
  }
  for (const std::string_view pointer : {"(TENON_CALL*", "(*"}) {
    if (const std::size_t at = text.find(pointer); at != std::string_view::npos) {
      return std::string(first_word(trim(text.substr(at + pointer.size()))));
    }
  }
  const std::string_view name = last_word(text.substr(0, text.find_first_of("[{;=:")));
  return name == "enum" || name == "union" || name == "struct" ? "" : std::string(name);
}

/// The code of a line, without its comment.
[[nodiscard]] inline std::string_view code_of(std::string_view line) {
  return line.substr(0, line.find("//"));
}

/// Reads one header, line by line.
class HeaderReader {
 public:
  HeaderReader(std::string_view header, std::string_view text)
      : header_(header), lines_(split_lines(text)) {}

  [[nodiscard]] Rules read() {
    for (at_ = 0; at_ < lines_.size(); ++at_) {
      const std::string_view line = trim(lines_[at_]);
      if (line.starts_with("///") && !line.starts_with("///<")) {
        read_doc_line(line.substr(3));
      } else if (line.starts_with("//")) {
        finish_block();
        refuse_must(line);
      } else {
        finish_block();
        const std::size_t comment = line.find("//");
        if (comment != std::string_view::npos) refuse_must(line.substr(comment));
        track_struct(trim(code_of(line)));
      }
    }
    finish_block();
    return std::move(out_);
  }

 private:
  void read_doc_line(std::string_view content) {
    // Columns of the text, without the one space after the slashes.
    const std::size_t column = std::min(content.find_first_not_of(' '), content.size());
    const std::string_view text = trim(content);
    if (text.starts_with("TN-") && column > 1) {
      const std::size_t end = std::min(text.find(' '), text.size());
      block_.push_back({std::string(text.substr(0, end)), std::string(trim(text.substr(end))),
                        std::string(header_), at_ + 1, ""});
      column_ = column;
      open_ = true;
    } else if (open_ && !text.empty() && column > column_) {
      block_.back().sentence.append(block_.back().sentence.empty() ? "" : " ").append(text);
    } else {
      open_ = false;
      refuse_must(text);
    }
  }

  /// The comment ends; its rules belong to the following declaration.
  void finish_block() {
    open_ = false;
    if (block_.empty()) return;
    std::string declaration;
    for (std::size_t i = at_; i < lines_.size(); ++i) {
      const std::string_view code = trim(code_of(lines_[i]));
      if (code.empty()) break;
      declaration.append(declaration.empty() ? "" : " ").append(code);
      if (code.starts_with('#') || code.find_first_of(";{") != std::string_view::npos) break;
    }
    const std::string name = declared_name(declaration);
    for (Rule& rule : block_) {
      if (rule.sentence.starts_with("MUST")) rule.sentence.insert(0, "`" + name + "` ");
      rule.declaration = struct_.empty() || name.empty() ? name : struct_ + "." + name;
      check(rule);
      out_.rules.push_back(std::move(rule));
    }
    block_.clear();
  }

  void check(const Rule& rule) {
    const auto complain = [&](std::string text) {
      out_.problems.push_back({rule.header, rule.line, rule.id + std::move(text)});
    };
    const std::string_view id = rule.id;
    const std::string_view number = id.substr(std::min<std::size_t>(7, id.size()));
    const bool good_area =
        std::ranges::all_of(id.substr(3, 3), [](char c) { return c >= 'A' && c <= 'Z'; });
    const bool good_number =
        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (id.size() < 8 || id[6] != '-' || !good_area || !good_number || number[0] == '0') {
      complain(" is not of the form TN-AREA-N");
    }
    if (!has_must(rule.sentence)) complain(" has no MUST: " + rule.sentence);
    if (!rule.sentence.ends_with('.')) complain(" does not end with a full stop");
    if (rule.declaration.empty()) complain(" has no declaration below it");
  }

  void refuse_must(std::string_view comment) {
    if (!has_must(comment)) return;
    out_.problems.push_back(
        {std::string(header_), at_ + 1, "MUST without a rule id: " + std::string(trim(comment))});
  }

  void track_struct(std::string_view code) {
    constexpr std::string_view begin = "typedef struct ";
    if (code.starts_with(begin) && code.ends_with('{')) {
      struct_ = first_word(code.substr(begin.size()));
    } else if (code.starts_with('}') && last_word(code.substr(0, code.find(';'))) == struct_) {
      struct_.clear();
    }
  }

  std::string_view header_;
  std::vector<std::string_view> lines_;
  Rules out_;
  std::size_t at_ = 0;
  std::vector<Rule> block_;  ///< Rules of the comment that is being read.
  std::size_t column_ = 0;   ///< Of the last rule's id.
  bool open_ = false;        ///< Whether the last rule may continue.
  std::string struct_;       ///< The enclosing struct; empty outside of one.
};

}  // namespace detail

/// The rules of one header. `header` is its path as it is included ("tenon/abi/backend.h").
/// A header without rules is not a problem.
[[nodiscard]] inline Rules read_header(std::string_view header, std::string_view text) {
  return detail::HeaderReader(header, text).read();
}

/// The rules of all headers, `texts` by path, in the order of their paths and lines.
[[nodiscard]] inline Rules read_headers(const std::map<std::string, std::string>& texts) {
  Rules out;
  std::map<std::string, std::string> defined;
  for (const auto& [header, text] : texts) {
    Rules of_header = read_header(header, text);
    out.problems.insert(out.problems.end(), of_header.problems.begin(), of_header.problems.end());
    for (Rule& rule : of_header.rules) {
      const std::string place = header + ":" + std::to_string(rule.line);
      const auto [other, is_new] = defined.emplace(rule.id, place);
      if (!is_new) {
        out.problems.push_back(
            {header, rule.line, rule.id + " is defined in " + other->second + " already"});
      }
      out.rules.push_back(std::move(rule));
    }
  }
  if (out.rules.empty()) out.problems.push_back({"include/tenon/abi", 0, "found no rule"});
  return out;
}

}  // namespace tenon::rulebook
