// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

/// The tests' interface to the stand-in for cuBLASLt (libcublasLt.so.13 of this directory). It
/// multiplies bfloat16 matrices on the CPU, unless the stand-in for the driver is loaded, whose
/// memory it cannot touch. It keeps to what cuBLAS' documentation says, and a misuse (a descriptor
/// that was destroyed, an attribute of another size, an algorithm for another product, memory that
/// is too small, not aligned, or not of the device) is a failure of the call and kept as a text.
namespace tenon::stand_in_cublaslt {

/// A product as it was requested, stored by columns.
struct Product {
  std::uint64_t rows;     ///< Of the result.
  std::uint64_t columns;  ///< Of the result.
  std::uint64_t depth;
  const void* stream;
  const void* workspace;
  std::size_t workspace_bytes;
};

/// Result of the function `tenon_stand_in_cublaslt`, found with dlsym.
struct Interface {
  /// Clears products, misuses and requests; the version is 13.4.1 again.
  void (*reset)();
  void (*set_version)(std::size_t version);
  /// Makes the next call of the function `name` fail with `code`; null for none.
  void (*fail_next)(const char* name, int code);
  /// False makes cublasLtMatmulAlgoGetHeuristic find nothing.
  void (*set_has_algorithms)(bool has);
  long (*num_searches)();  ///< Calls of cublasLtMatmulAlgoGetHeuristic.
  long (*num_products)();
  Product (*product)(long index);
  long (*num_misuses)();
  const char* (*misuse)(long index);
  long (*num_live)();  ///< Handles and descriptors that exist.
};

}  // namespace tenon::stand_in_cublaslt
