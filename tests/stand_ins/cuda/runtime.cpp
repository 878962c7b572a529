// SPDX-License-Identifier: MIT
//
// A stand-in for the CUDA runtime (libcudart.so.13), of which a model gets only what the backend
// does not have itself.

extern "C" __attribute__((visibility("default"))) int cudaRuntimeGetVersion(int* out) {
  *out = 13000;
  return 0;
}
