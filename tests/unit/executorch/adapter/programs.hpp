// SPDX-License-Identifier: MIT
//
// Programs for these tests. Their builder is in a translation unit of its own: ExecuTorch's headers
// declare another flatbuffers::Vector than the system's flatbuffers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/aligned_bytes.hpp"

namespace tenon::test {

/// The parts of a chain's program besides its delegates.
struct ChainOptions {
  std::string id = "Test";  ///< The backend of all delegates.
  bool dynamic = false;     ///< The shapes of the input and the output are bounds.
  std::vector<std::pair<std::string, std::string>> compile_specs{};  ///< Of the first delegate.
  std::vector<std::pair<std::string, std::string>> named_data{};
};

/// Program with one delegate for each blob, called in order on an input and an output of four
/// floats.
AlignedBytes chain_of(const std::vector<std::string>& blobs, const ChainOptions& options = {});

/// A `.ptd` file with the tensor "weights", two floats 1 and 2.
AlignedBytes data_file();

/// Program of FarBackend whose input, output and planned memory are on a device
/// (device_program.hpp).
AlignedBytes program_on_device();

}  // namespace tenon::test
