// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tenon::test {

/// Ways in which hostile_worker.cpp breaks the protocol.
enum class Attack : std::uint32_t {
  garbage,      ///< Answers are random bytes.
  cut,          ///< Answers end early.
  flipped,      ///< Some bits are other ones.
  numbers,      ///< A number in the answer is one at the edge of something.
  kinds,        ///< The message is of another kind, or of none.
  sizes,        ///< It says other sizes and numbers of descriptors.
  descriptors,  ///< Files that are none in memory, too small, too large, too many.
  questions,    ///< Questions that no call expects.
  views,        ///< Sizes and views that tensors cannot have.
  races,        ///< What is shared changes while it is read.
  crashes,      ///< The report of the handler is random bytes, and the process ends.
  endless,      ///< Questions without end.
  untaken,      ///< Questions for data, whose descriptors it leaves in the socket.
};
inline constexpr std::uint32_t num_attacks = 13;

/// In place of an attack: something wrong with the turn of a lane, by the number in place of the
/// seed. See `break_turn`.
inline constexpr std::uint32_t turns = 100;
inline constexpr std::uint32_t num_turns = 25;

/// In place of an attack: serves one lane well, and takes no other.
inline constexpr std::uint32_t no_lanes = 101;

}  // namespace tenon::test
