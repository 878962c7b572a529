// SPDX-License-Identifier: MIT
//
// Mutations of programs and data files by their meaning: values, indices, instructions, memory,
// segments. Bytes that change alone seldom get past the checks of a flatbuffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/mutate/random.hpp"

namespace tenon::fuzz {

/// The parts of an input of the target "program": a program, and behind it, at a multiple of 16
/// bytes, perhaps a data file for it.
struct ProgramInput {
  std::span<std::byte> program;
  std::span<std::byte> data;
};
[[nodiscard]] ProgramInput split_input(std::span<std::byte> bytes);

[[nodiscard]] std::size_t mutate_program(std::span<std::uint8_t> input, std::size_t size,
                                         Random& random);
[[nodiscard]] std::size_t mutate_data_file(std::span<std::uint8_t> input, std::size_t size,
                                           Random& random);

}  // namespace tenon::fuzz
