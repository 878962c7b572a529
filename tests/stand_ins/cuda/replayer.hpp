// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace tenon::stand_in_cuda {

/// One launch: the kernel's name and sizes, and the bytes of each parameter.
struct Launch {
  std::string kernel;
  std::array<unsigned, 6> sizes;  ///< Of the grid and of a block.
  unsigned shared_bytes;
  std::vector<std::vector<std::byte>> parameters;
};

/// Whether another process computes the launches: the environment variable
/// TENON_STAND_IN_CUDA_REPLAYER is the path of its Unix socket (tests/live/checks/replay_cuda.py).
bool has_replayer();

/// Sends the launch and the memory that its parameters point to, in words that are aligned to 8
/// bytes, and writes back the memory that is returned. A failure is a misuse. Called when it is the
/// launch's turn.
///
/// A request is a u32 and as many bytes of JSON: `kernel`, `grid`, `block`, `shared_bytes`,
/// `parameters` as hexadecimal text, `blocks` as pairs of an address and a size; then the bytes of
/// the blocks. An answer is a u32 and as many bytes of a reason for a failure; for 0, the bytes of
/// the blocks follow. Numbers are little-endian.
void replay(const Launch& launch);

}  // namespace tenon::stand_in_cuda
