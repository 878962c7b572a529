// SPDX-License-Identifier: MIT
#pragma once

#include "unit/aoti/compiled_model.hpp"

/// The functions that stand-ins with constants of float32 share. A stand-in includes this behind
/// its `Container`, its `num_outputs`, its `num_constants` and the `nbytes` of each constant.

EXPORT std::int32_t AOTInductorModelContainerRunSingleThreaded(Container* container, Tensor* inputs,
                                                               std::size_t, Tensor* outputs,
                                                               std::size_t, void* stream, void*);

EXPORT std::int32_t AOTInductorModelContainerDelete(Container* container) {
  return guard([&] { delete container; });
}
EXPORT std::int32_t AOTInductorModelContainerGetNumOutputs(Container*, std::size_t* out) {
  *out = num_outputs;
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetNumConstants(Container*, std::size_t* out) {
  *out = num_constants;
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantDtype(Container*, std::size_t,
                                                              std::int32_t* out) {
  *out = aoti_torch_dtype_float32();
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerGetConstantDataSize(Container*, std::size_t,
                                                                 std::size_t* out) {
  *out = nbytes;
  return 0;
}
EXPORT std::int32_t AOTInductorModelContainerRun(Container* container, Tensor* inputs,
                                                 std::size_t num_inputs, Tensor* outputs,
                                                 std::size_t num_given, void* stream, void* proxy) {
  return AOTInductorModelContainerRunSingleThreaded(container, inputs, num_inputs, outputs,
                                                    num_given, stream, proxy);
}
