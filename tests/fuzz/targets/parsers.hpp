// SPDX-License-Identifier: MIT
//
// The targets of fuzz-parsers, each in the file of the part that it belongs to.
#pragma once

#include <cstddef>
#include <span>

namespace tenon::fuzz {

// host_targets.cpp
void manifest(std::span<std::byte> bytes);
void npy(std::span<std::byte> bytes);
void publishers(std::span<std::byte> bytes);
void signature(std::span<std::byte> bytes);
void elf(std::span<std::byte> bytes);
void mach_o(std::span<std::byte> bytes);
void pe(std::span<std::byte> bytes);

// aoti_targets.cpp
void model_library(std::span<std::byte> bytes);
void payload(std::span<std::byte> bytes);

// kit_targets.cpp
void channel(std::span<std::byte> bytes);
void report(std::span<std::byte> bytes);
void test_case(std::span<std::byte> bytes);
void subject(std::span<std::byte> bytes);

// pt2_targets.cpp
void expression(std::span<std::byte> bytes);
void pt2(std::span<std::byte> bytes);

}  // namespace tenon::fuzz
