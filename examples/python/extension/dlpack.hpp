// SPDX-License-Identifier: MIT
//
// The parts of DLPack 1.x that Python libraries exchange arrays with (github.com/dmlc/dlpack,
// include/dlpack/dlpack.h). `tenon_dl_tensor` has the layout of `DLTensor`.
#pragma once

#include <cstdint>

#include "tenon/abi/tensor.h"

namespace tenon::python::dlpack {

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

inline constexpr std::uint32_t major_version = 1;

/// kDLCUDAHost: pinned memory of the host.
inline constexpr std::int32_t cuda_host = 3;

/// DLManagedTensor, in a capsule named "dltensor".
struct ManagedTensor {
  tenon_dl_tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};

/// DLManagedTensorVersioned, in a capsule named "dltensor_versioned".
struct ManagedTensorVersioned {
  Version version;
  void* manager;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  tenon_dl_tensor tensor;
};

inline constexpr std::uint64_t read_only_flag = 1;

/// DLPackExchangeAPI: the attribute `__dlpack_c_exchange_api__` of a type is a capsule with it.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  void* allocate;
  int (*to_managed)(void* object, ManagedTensorVersioned** out);
  void* from_managed;
  /// Describes the memory of `object` without holding it; 0 on success. May be null.
  int (*to_tensor)(void* object, tenon_dl_tensor* out);
  void* current_stream;
};

}  // namespace tenon::python::dlpack
