// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <tenon/tenon.hpp>
#include <vector>

namespace demo {

/// The operator of an instruction.
enum class Op { add, mul, mm, sin };

/// One instruction: the operator, the number of elements of its result, and the debug handle of its
/// node.
struct Instruction {
  Op op;
  std::int64_t numel;
  std::int64_t debug_handle;
};

/// Text that is parsed from its front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text), rest_(text) {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  /// Skips `word`, which must be next.
  tenon::Status expect(std::string_view word) {
    if (!rest_.starts_with(word)) {
      return tenon::error(tenon::Error::InvalidProgram, "blob: expected '", word, "' at byte ",
                          offset(), ", found '", rest_.substr(0, 16), "'");
    }
    rest_.remove_prefix(word.size());
    return tenon::ok();
  }

  /// Takes everything before `end`, which is skipped.
  tenon::Result<std::string_view> until(std::string_view end) {
    const std::size_t found = rest_.find(end);
    if (found == std::string_view::npos) {
      return tenon::error(tenon::Error::InvalidProgram, "blob: expected '", end, "' after byte ",
                          offset(), ", found the end");
    }
    const std::string_view taken = rest_.substr(0, found);
    rest_.remove_prefix(found + end.size());
    return taken;
  }

  /// Takes a decimal number before `end`, which is skipped.
  tenon::Result<std::int64_t> number(std::string_view end) {
    const std::size_t at = offset();
    TENON_TRY(const std::string_view digits, until(end));
    std::int64_t value = 0;
    const auto [stop, failed] = std::from_chars(digits.begin(), digits.end(), value);
    if (failed != std::errc() || stop != digits.end()) {
      return tenon::error(tenon::Error::InvalidProgram, "blob: expected a number at byte ", at,
                          ", found '", digits.substr(0, 24), "'");
    }
    return value;
  }

 private:
  [[nodiscard]] std::size_t offset() const { return text_.size() - rest_.size(); }
  std::string_view text_;
  std::string_view rest_;
};

inline constexpr std::int64_t payload_version = 0;

/// Reads a blob as ExecuTorch's exporter writes it
/// (exir/backend/test/backend_with_compiler_demo.py):
///
///     2version:0#op:demo::aten.mm.default, numel:4, dtype:torch.float32<debug_handle>1#op:...#
inline tenon::Result<std::vector<Instruction>> parse_blob(std::string_view text) {
  Cursor cursor(text);
  TENON_TRY(const std::int64_t count, cursor.number("version:"));
  TENON_TRY(const std::int64_t version, cursor.number("#"));
  if (version != payload_version) {
    return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                        "blob: expected payload version ", payload_version, ", found ", version);
  }
  std::vector<Instruction> instructions;
  while (!cursor.at_end()) {
    TENON_RETURN_IF_ERROR(cursor.expect("op:demo::aten."));
    TENON_TRY(const std::string_view name, cursor.until(", numel:"));
    TENON_TRY(const std::int64_t numel, cursor.number(", dtype:"));
    TENON_TRY(const std::string_view dtype, cursor.until("<debug_handle>"));
    TENON_TRY(const std::int64_t debug_handle, cursor.number("#"));
    if (dtype != "torch.float32") {
      return tenon::error(tenon::Error::NotSupported, "blob: expected dtype torch.float32, found ",
                          dtype);
    }
    if (name == "add.Tensor") {
      instructions.push_back({Op::add, numel, debug_handle});
    } else if (name == "mul.Tensor") {
      instructions.push_back({Op::mul, numel, debug_handle});
    } else if (name == "mm.default") {
      instructions.push_back({Op::mm, numel, debug_handle});
    } else if (name == "sin.default") {
      instructions.push_back({Op::sin, numel, debug_handle});
    } else {
      return tenon::error(tenon::Error::NotSupported,
                          "blob: expected operator add, mul, mm or sin, found ", name);
    }
  }
  if (static_cast<std::int64_t>(instructions.size()) != count || instructions.empty()) {
    return tenon::error(tenon::Error::InvalidProgram, "blob: expected ", count,
                        " instructions and at least one, found ", instructions.size());
  }
  return instructions;
}

}  // namespace demo
