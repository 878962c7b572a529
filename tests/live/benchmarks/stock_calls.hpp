// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tenon/core/result.hpp"

/// Calls of the stock ExecuTorch runtime, for measuring. No type of ExecuTorch is named here.
namespace tenon::live {

/// Loads a shared library that registers backends with the stock runtime, for good. AccessFailed
/// with the loader's text.
[[nodiscard]] Status load_stock_library(const std::string& path);

/// `Method` of ExecuTorch with its one input set once. One thread at a time.
class StockCalls {
 public:
  /// `program` is used until this object is destroyed: the runtime frees nothing of it early.
  [[nodiscard]] static Result<StockCalls> load(std::span<const std::byte> program,
                                               std::span<const std::byte> input);

  StockCalls(StockCalls&&) noexcept;
  StockCalls& operator=(StockCalls&&) noexcept;
  ~StockCalls();

  /// `Method::execute`.
  [[nodiscard]] bool execute();
  /// Bytes of the first output.
  [[nodiscard]] std::span<const std::byte> output() const;

 private:
  struct State;
  explicit StockCalls(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace tenon::live
