// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::doctor {

/// Keys of named data that an AOTInductor payload says it needs. Empty for backends other than
/// CpuAotiBackend, CudaBackend and MetalBackend, and for payloads that do not look like these:
///
///   "<hash>_so_blob\n<hash>_weights_blob"   keys, one a line
///   ""                                      the older form: "<method>_so_blob"
///   "ETCUDAFQN3..."                         the newer form of CUDA: a table of weights
///
/// Read off files that ExecuTorch's exporters wrote (backends/aoti, backends/cuda).
[[nodiscard]] std::vector<std::string> keys_of_payload(std::string_view backend_id,
                                                       std::string_view method,
                                                       std::span<const std::byte> blob);

}  // namespace tenon::doctor
