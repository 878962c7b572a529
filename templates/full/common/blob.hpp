// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <tenon/tenon.hpp>
#include <vector>

/// The format of the blob, which the ahead-of-time half writes and the runtime half reads. Numbers
/// are little-endian:
///
///     u8[4]  "\x7fNPU"
///     u32    version, 1
///     u16    number of inputs            u16  number of instructions
///     u16    number of outputs           u16  0
///     u16[4] for each instruction: operator, 0, first operand, second operand
///     u16    for each output: its register
///
/// Registers 0 to inputs - 1 are the inputs; instruction i writes register inputs + i. An operand
/// is a register that was written before. All tensors are float32 and of one shape, which is not
/// part of the blob.
namespace my_npu {

/// The operator of an instruction, applied to each element. Numbers must not be reused.
enum class Op : std::uint16_t { add = 0, sub = 1, mul = 2, relu = 3 };

inline constexpr std::uint32_t blob_version = 1;
inline constexpr std::string_view blob_magic = "\x7fNPU";
inline constexpr std::size_t max_inputs = 8192;
inline constexpr std::size_t max_instructions = 4096;

/// An operator and its operands; a unary operator has its operand twice.
struct Instruction {
  Op op = Op::add;
  std::uint16_t a = 0;
  std::uint16_t b = 0;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct Code {
  std::uint16_t num_inputs = 0;
  std::vector<Instruction> instructions;
  std::vector<std::uint16_t> outputs;

  friend bool operator==(const Code&, const Code&) = default;
};

namespace detail {

constexpr std::size_t head_size = 16;
constexpr std::size_t instruction_size = 8;

inline void append_u16(std::vector<std::byte>& out, std::uint16_t number) {
  out.push_back(static_cast<std::byte>(number & 0xff));
  out.push_back(static_cast<std::byte>(number >> 8));
}

}  // namespace detail

/// The operator with this number, or nothing.
[[nodiscard]] inline std::optional<Op> op_of(std::uint16_t number) {
  return number <= static_cast<std::uint16_t>(Op::relu) ? std::optional(static_cast<Op>(number))
                                                        : std::nullopt;
}

/// Fails with InvalidProgram unless every register is written before it is used and all outputs are
/// results of instructions.
[[nodiscard]] inline tenon::Status check_code(const Code& code) {
  const auto refuse = [](auto... what) {
    return tenon::error(tenon::Error::InvalidProgram, "blob: ", what...);
  };
  const std::size_t num_instructions = code.instructions.size();
  if (code.num_inputs == 0 || code.num_inputs > max_inputs) {
    return refuse("expected 1 to ", max_inputs, " inputs, found ", code.num_inputs);
  }
  if (num_instructions == 0 || num_instructions > max_instructions) {
    return refuse("expected 1 to ", max_instructions, " instructions, found ", num_instructions);
  }
  for (std::size_t i = 0; i < num_instructions; ++i) {
    const std::uint16_t last = std::max(code.instructions[i].a, code.instructions[i].b);
    if (last >= code.num_inputs + i) {
      return refuse("instruction ", i, ": register ", last,
                    " has no value yet, expected one below ", code.num_inputs + i);
    }
  }
  if (code.outputs.empty() || code.outputs.size() > num_instructions) {
    return refuse("expected 1 to ", num_instructions, " outputs, found ", code.outputs.size());
  }
  for (const std::uint16_t output : code.outputs) {
    if (output < code.num_inputs || output >= code.num_inputs + num_instructions) {
      return refuse("output: register ", output, " is not a result, expected ", code.num_inputs,
                    " to ", code.num_inputs + num_instructions - 1);
    }
  }
  return tenon::ok();
}

/// The blob of `code`, which must pass `check_code`.
[[nodiscard]] inline std::vector<std::byte> write_blob(const Code& code) {
  std::vector<std::byte> out;
  for (const char c : blob_magic) out.push_back(static_cast<std::byte>(c));
  detail::append_u16(out, blob_version & 0xffff);
  detail::append_u16(out, blob_version >> 16);
  detail::append_u16(out, code.num_inputs);
  detail::append_u16(out, static_cast<std::uint16_t>(code.instructions.size()));
  detail::append_u16(out, static_cast<std::uint16_t>(code.outputs.size()));
  detail::append_u16(out, 0);
  for (const Instruction& instruction : code.instructions) {
    detail::append_u16(out, static_cast<std::uint16_t>(instruction.op));
    detail::append_u16(out, 0);
    detail::append_u16(out, instruction.a);
    detail::append_u16(out, instruction.b);
  }
  for (const std::uint16_t output : code.outputs) detail::append_u16(out, output);
  return out;
}

/// Reads a blob. Fails with DelegateInvalidCompatibility for another format and an unknown version,
/// with InvalidProgram for a blob that was damaged.
[[nodiscard]] inline tenon::Result<Code> read_blob(tenon::Bytes bytes) {
  if (!tenon::as_text(bytes).starts_with(blob_magic)) {
    return tenon::error(tenon::Error::DelegateInvalidCompatibility,
                        "blob: expected '\\x7fNPU' at its begin, found ", bytes.size(),
                        " other bytes");
  }
  const auto version = tenon::read_le<std::uint32_t>(bytes, 4);
  if (version && *version != blob_version) {
    return tenon::error(tenon::Error::DelegateInvalidCompatibility, "blob: expected version ",
                        blob_version, ", found ", *version);
  }
  if (bytes.size() < detail::head_size) {
    return tenon::error(tenon::Error::InvalidProgram, "blob: expected a head of ",
                        detail::head_size, " bytes, found ", bytes.size());
  }
  const auto u16 = [&](std::size_t at) { return tenon::read_le<std::uint16_t>(bytes, at).value(); };
  const std::size_t num_instructions = u16(10);
  const std::size_t num_outputs = u16(12);
  const std::size_t size =
      detail::head_size + num_instructions * detail::instruction_size + num_outputs * 2;
  if (bytes.size() != size) {
    return tenon::error(tenon::Error::InvalidProgram, "blob: ", num_instructions,
                        " instructions and ", num_outputs, " outputs have ", size, " bytes, found ",
                        bytes.size());
  }
  Code code{u16(8), {}, {}};
  std::size_t at = detail::head_size;
  for (std::size_t i = 0; i < num_instructions; ++i, at += detail::instruction_size) {
    const auto op = op_of(u16(at));
    if (!op) {
      return tenon::error(tenon::Error::InvalidProgram, "blob: instruction ", i,
                          ": unknown operator ", u16(at));
    }
    code.instructions.push_back({*op, u16(at + 4), u16(at + 6)});
  }
  for (std::size_t i = 0; i < num_outputs; ++i, at += 2) code.outputs.push_back(u16(at));
  TENON_RETURN_IF_ERROR(check_code(code));
  return code;
}

}  // namespace my_npu
