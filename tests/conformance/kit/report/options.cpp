// SPDX-License-Identifier: MIT
#include "kit/report/options.hpp"

#include <cstddef>
#include <utility>

namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

namespace {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_hex(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
[[nodiscard]] constexpr bool is_word(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Replaces what differs from run to run in one text.
class StableText {
 public:
  explicit StableText(std::string_view text) : text_(text) { out_.reserve(text.size()); }

  [[nodiscard]] std::string take() && {
    while (at_ < text_.size()) {
      const bool begins = at_ == 0 || !is_word(text_[at_ - 1]);
      if (!(begins && (address() || process() || seconds()))) out_.push_back(text_[at_++]);
    }
    return std::move(out_);
  }

 private:
  static constexpr std::string_view ellipsis = "\xe2\x80\xa6";
  /// Shorter numbers are error codes, offsets in a function, halves of a magic number.
  static constexpr std::size_t min_address_digits = 7;

  [[nodiscard]] std::size_t run_of(std::size_t from, bool (*is)(char)) const {
    std::size_t end = from;
    while (end < text_.size() && is(text_[end])) ++end;
    return end - from;
  }

  [[nodiscard]] bool starts_with(std::string_view word) const {
    return text_.substr(at_).starts_with(word);
  }

  /// "0x7f12a4c01000".
  bool address() {
    if (!starts_with("0x") && !starts_with("0X")) return false;
    const std::size_t digits = run_of(at_ + 2, is_hex);
    if (digits < min_address_digits) return false;
    out_ += "0x";
    out_ += ellipsis;
    at_ += 2 + digits;
    return true;
  }

  /// "pid 123", "process 123", "/proc/123/", "==123==" and the like.
  bool process() {
    constexpr std::string_view before[] = {
        "pid ", "pid=", "pid: ", "PID ", "PID=", "tid ", "process ", "==", "/proc/", "/task/"};
    for (const std::string_view word : before) {
      if (!starts_with(word)) continue;
      const std::size_t digits = run_of(at_ + word.size(), is_digit);
      if (digits == 0) continue;
      const std::string_view behind = text_.substr(at_ + word.size() + digits);
      if (word == "==" && !behind.starts_with("==")) continue;
      out_ += word;
      out_ += ellipsis;
      at_ += word.size() + digits;
      return true;
    }
    return false;
  }

  /// "0.0123 s": a figure with a fraction was measured; "10 s" is a limit.
  bool seconds() {
    if (at_ > 0 && text_[at_ - 1] == '.') return false;
    const std::size_t whole = run_of(at_, is_digit);
    if (whole == 0 || at_ + whole >= text_.size() || text_[at_ + whole] != '.') return false;
    const std::size_t fraction = run_of(at_ + whole + 1, is_digit);
    if (fraction == 0) return false;
    const std::string_view behind = text_.substr(at_ + whole + 1 + fraction);
    for (const std::string_view unit : {" s", " ms", " us", " ns", " seconds"}) {
      if (!behind.starts_with(unit)) continue;
      if (behind.size() > unit.size() && is_word(behind[unit.size()])) continue;
      out_ += ellipsis;
      at_ += whole + 1 + fraction;
      return true;
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

void make_stable(std::string& text) { text = StableText(text).take(); }

void make_stable(TestResult& test) {
  test.seconds = 0;
  test.measurements.clear();
  make_stable(test.reason);
  make_stable(test.output);
  for (Finding& finding : test.findings) make_stable(finding.text);
  for (Crash& crash : test.crashes) {
    make_stable(crash.what);
    make_stable(crash.in);
    for (std::string& call : crash.last_calls) make_stable(call);
    for (std::string& frame : crash.backtrace) make_stable(frame);
  }
}

}  // namespace

std::string stable_text(std::string_view text) { return StableText(text).take(); }

Report prepared(Report report, const ReportOptions& options) {
  if (options.with_times) return report;
  report.started.clear();
  report.seconds = 0;
  for (SubjectReport& subject : report.subjects) {
    for (TestResult& test : subject.tests) make_stable(test);
  }
  return report;
}

}}}  // namespace tenon::TENON_RELEASE::conformance
