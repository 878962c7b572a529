// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::doctor {

/// Keys of named data that an AOTInductor payload says it needs, each once. Empty for backends
/// other than CpuAotiBackend, CudaBackend and MetalBackend, and for payloads that are not of:
///
///   "<hash>_so_blob\n<hash>_weights_blob"   keys, one a line
///   ""                                      the older form: "<method>_so_blob", or "so_blob"
///   "ETCUDAFQN3..."                         a newer form of CUDA: a table of weights
///   "ETCUDAFQN0...", 4 and 5                the same with libraries for several devices
///
/// `method` is the value of the compile spec "method_name", empty when there is none. The older
/// form may have weights, but need not, so they are not asked for (backends/aoti/
/// aoti_delegate_handle.h, resolve_blob_keys; backends/apple/metal/runtime/metal_backend.cpp,
/// init). The table is read off files that ExecuTorch's exporters wrote; the fields of an entry are
/// the fields of CudaWeightEntry in backends/cuda/cuda_weight_collector.py.
[[nodiscard]] std::vector<std::string> keys_of_payload(std::string_view backend_id,
                                                       std::string_view method,
                                                       std::span<const std::byte> blob);

}  // namespace tenon::doctor
