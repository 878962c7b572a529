// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cublaslt.hpp"
#include "kernels.hpp"

namespace tenon::cuda_aoti::kernels {

/// A handle of cuBLASLt for the device whose context is current when it is created. That context
/// must be current for its products, and when it is destroyed.
///
/// Threads: any, also several at a time (cuBLAS documentation, "Thread Safety").
class CublasLtHandle {
 public:
  [[nodiscard]] static Result<std::unique_ptr<CublasLtHandle>> create(const CublasLt& library);
  CublasLtHandle(const CublasLt& library, cublasLtHandle_t handle) noexcept
      : library_(library), handle_(handle) {}
  CublasLtHandle(const CublasLtHandle&) = delete;
  CublasLtHandle& operator=(const CublasLtHandle&) = delete;
  ~CublasLtHandle() { static_cast<void>(library_.cublasLtDestroy(handle_)); }

  [[nodiscard]] const CublasLt& library() const noexcept { return library_; }
  [[nodiscard]] cublasLtHandle_t get() const noexcept { return handle_; }

 private:
  CublasLt library_;
  cublasLtHandle_t handle_;
};

/// A product [rows, depth] @ [columns, depth]^T with `stride` elements from row to row of the first
/// operand.
struct ProductShape {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  std::int64_t stride;

  [[nodiscard]] bool operator==(const ProductShape&) const = default;
};

/// The shape of a product that is worth unpacking its weight for, at 192 rows and 2^30
/// multiplications; empty for others, and for operands that cuBLASLt does not take: rows that
/// overlap or are not aligned to 16 bytes.
[[nodiscard]] std::optional<ProductShape> large_product(const MatmulPlan& plan) noexcept;

/// Products of one shape by cuBLASLt: descriptors, and the algorithm that the library chose. All
/// operands are bfloat16, sums are float32, also those that it adds up in several parts.
///
/// Threads: one at a time.
class LargeProduct {
 public:
  /// Bytes of working memory that an algorithm may ask for: cuBLAS' own on devices of compute
  /// capability 9.0 (cuBLAS documentation, "cublasSetWorkspace").
  static constexpr std::uint64_t max_workspace = std::uint64_t{32} << 20;

  /// errors: NotSupported when the library has no algorithm.
  [[nodiscard]] static Result<LargeProduct> create(const CublasLtHandle& handle,
                                                   const ProductShape& shape);

  [[nodiscard]] const ProductShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t workspace_bytes() const noexcept { return chosen_.workspaceSize; }
  /// Bytes of the unpacked weight.
  [[nodiscard]] std::size_t weight_bytes() const noexcept {
    return static_cast<std::size_t>(shape_.columns * shape_.depth) * sizeof(std::uint16_t);
  }

  /// Enqueues on `stream`, which is also the launcher's: unpacks the weight of `plan` to `weight`,
  /// and multiplies. `weight`, `workspace` and `out` (contiguous) are memory of the device, aligned
  /// to 256, of which the first two may be used again once the stream has run this. Allocates
  /// nothing and waits for nothing, so it can be captured.
  [[nodiscard]] Status run(const CublasLtHandle& handle, const MatmulPlan& plan,
                           const ModelTensor& out, void* weight, void* workspace, void* stream,
                           const Launcher& launcher) const;

 private:
  template <class T>
  using Owned = std::unique_ptr<std::remove_pointer_t<T>, cublasStatus_t (*)(T)>;

  LargeProduct(const CublasLt& library, const ProductShape& shape) noexcept
      : shape_(shape),
        operation_(nullptr, library.cublasLtMatmulDescDestroy),
        weight_(nullptr, library.cublasLtMatrixLayoutDestroy),
        self_(nullptr, library.cublasLtMatrixLayoutDestroy),
        out_(nullptr, library.cublasLtMatrixLayoutDestroy) {}
  Status describe(const CublasLt& library);
  Status choose(const CublasLtHandle& handle);

  ProductShape shape_;
  Owned<cublasLtMatmulDesc_t> operation_;
  Owned<cublasLtMatrixLayout_t> weight_;
  Owned<cublasLtMatrixLayout_t> self_;
  Owned<cublasLtMatrixLayout_t> out_;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

/// The products of one model, by shape; the last `most` shapes are kept.
///
/// Threads: one at a time.
class LargeProducts {
 public:
  static constexpr std::size_t most = 64;

  /// The product for a shape, made at its first use; null when cuBLASLt has no algorithm for it.
  /// Valid until the next call.
  [[nodiscard]] Result<const LargeProduct*> find(const CublasLtHandle& handle,
                                                 const ProductShape& shape);

 private:
  struct Entry {
    ProductShape shape;
    std::optional<LargeProduct> product;
  };
  std::vector<Entry> entries_;
  std::size_t next_ = 0;  ///< The entry to replace.
};

}  // namespace tenon::cuda_aoti::kernels
