// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"

/// The runtime of the stock ExecuTorch wheel. No type of ExecuTorch is named here, so that its
/// headers, macros and flags stay in one translation unit.
namespace tenon::live {

/// A tensor with its bytes in the order of its memory.
struct MemoryTensor {
  ScalarType type{};
  std::vector<std::int64_t> sizes;
  std::vector<std::uint8_t> dim_order;
  std::vector<std::byte> bytes;

  friend bool operator==(const MemoryTensor&, const MemoryTensor&) = default;
};

/// One method of a program in ExecuTorch's `Module`, with all its defaults. One thread at a time.
class StockMethod {
 public:
  /// Errors: ExecuTorch's own numbers.
  [[nodiscard]] static Result<StockMethod> load(const std::string& program,
                                                const std::vector<std::string>& data_files,
                                                const std::string& method);

  StockMethod(StockMethod&&) noexcept;
  StockMethod& operator=(StockMethod&&) noexcept;
  ~StockMethod();

  /// Executes with these inputs, which are tensors all; their bytes are only read. The outputs are
  /// copies. NotSupported for an output that is not a tensor; otherwise ExecuTorch's own numbers.
  [[nodiscard]] Result<std::vector<MemoryTensor>> execute(const std::vector<MemoryTensor>& inputs);

 private:
  struct State;
  explicit StockMethod(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace tenon::live
