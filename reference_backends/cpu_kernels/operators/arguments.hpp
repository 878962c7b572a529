// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "strided.hpp"
#include "tenon/core/result.hpp"

/// Operators that models call by number, and the arguments of one call.
namespace tenon::cpu_aoti {

/// The type of an operator's parameter. A call may leave out what is optional or has a default.
enum class ParameterType : std::uint8_t {
  tensor,
  integer,
  integers,
  number,
  flag,
  text,
  generator
};

struct Parameter {
  std::string_view name;  ///< As in the operator's schema.
  ParameterType type;
  bool may_be_missing = false;
};

/// One argument of a prepared call: a number that the description has, or the place of what the
/// model passes.
struct PreparedArgument {
  bool is_given = false;
  std::size_t first = 0;  ///< Among the integers or tensors of the call.
  std::size_t count = 0;
  bool flag = false;
  double number = 0;
  std::string text{};
};

/// The arguments of one call, in the order of the operator's parameters. Their types were checked
/// when the call was prepared.
class OperatorArguments {
 public:
  OperatorArguments(std::span<const PreparedArgument> prepared,
                    std::span<const std::int64_t> integers, std::span<ModelTensor* const> tensors)
      : prepared_(prepared), integers_(integers), tensors_(tensors) {}

  [[nodiscard]] bool has(std::size_t i) const noexcept { return prepared_[i].is_given; }
  [[nodiscard]] const ModelTensor& tensor(std::size_t i) const noexcept {
    return *tensors_[prepared_[i].first];
  }
  [[nodiscard]] std::int64_t integer(std::size_t i) const noexcept {
    return integers_[prepared_[i].first];
  }
  [[nodiscard]] std::int64_t integer_or(std::size_t i, std::int64_t missing) const noexcept {
    return has(i) ? integer(i) : missing;
  }
  [[nodiscard]] Sizes integers(std::size_t i) const noexcept {
    return integers_.subspan(prepared_[i].first, prepared_[i].count);
  }
  [[nodiscard]] bool flag_or(std::size_t i, bool missing) const noexcept {
    return has(i) ? prepared_[i].flag : missing;
  }
  [[nodiscard]] std::optional<double> number(std::size_t i) const noexcept {
    return has(i) ? std::optional(prepared_[i].number) : std::nullopt;
  }
  [[nodiscard]] std::string_view text_or(std::size_t i, std::string_view missing) const noexcept {
    return has(i) ? std::string_view(prepared_[i].text) : missing;
  }

 private:
  std::span<const PreparedArgument> prepared_;
  std::span<const std::int64_t> integers_;
  std::span<ModelTensor* const> tensors_;
};

/// Results of a call, as many as the operator has; those that are left are released.
using OperatorResults = std::span<OwnedTensor>;

/// The code of an operator.
struct OperatorKernel {
  std::string_view name;  ///< "aten::median.dim"
  std::span<const Parameter> parameters;
  std::size_t num_results;
  Status (*run)(const OperatorArguments& arguments, OperatorResults results);
  /// Loads what the code needs, before the first call; null for nothing.
  Status (*load)() = nullptr;
};

inline constexpr std::size_t max_parameters = 8;
inline constexpr std::size_t max_results = 4;

/// All operators here.
[[nodiscard]] std::span<const OperatorKernel> operator_kernels() noexcept;

/// The operator with that name and overload, or null.
[[nodiscard]] const OperatorKernel* find_operator(std::string_view name) noexcept;

}  // namespace tenon::cpu_aoti
