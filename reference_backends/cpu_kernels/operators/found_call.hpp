// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strided.hpp"
#include "tenon/abi/tensor.h"
#include "tenon/backend/kernel_lookup.hpp"
#include "tenon/core/result.hpp"

/// Calls of operators that have no code here: kernels of other plugins run them.
namespace tenon::cpu_aoti {

/// A tensor of a call, as the exporter saw it.
struct PlannedTensor {
  ScalarType type = ScalarType::Float;
  std::vector<std::int64_t> bounds{};  ///< Its largest sizes.
  std::vector<std::uint8_t> dim_order{};
  std::vector<std::uint8_t> dynamic{};  ///< By dimension: 1 where smaller sizes are possible.
  bool is_written = false;              ///< An argument that the operator changes.

  [[nodiscard]] bool is_dynamic() const noexcept { return std::ranges::count(dynamic, 1) != 0; }
  [[nodiscard]] bool allows(std::span<const std::int64_t> sizes) const noexcept;
};

/// One argument or result. Which members count depends on the kind.
struct PlannedValue {
  static constexpr std::size_t none = ~std::size_t{0};

  std::uint32_t kind = TENON_VALUE_NONE;
  std::vector<std::size_t> tensors{};    ///< Indices in `CallPlan::tensors`; `none` for none.
  std::vector<std::int64_t> integers{};  ///< Where the call passes others, those when exported.
  std::size_t first_integer = none;  ///< Among the integers of the call; `none`: they are fixed.
  std::vector<double> reals{};
  std::vector<std::uint8_t> flags{};
  std::string text{};
};

/// The call of an operator.
struct CallPlan {
  std::string op;        ///< "acme::shift"
  std::string out_op{};  ///< "acme::shift.out", which writes to given results, or "".
  std::vector<PlannedValue> arguments{};  ///< In the order of the operator's schema.
  std::vector<PlannedValue> results{};
  std::vector<PlannedTensor> tensors{};  ///< The arguments' tensors, then the results'.
  std::size_t num_inputs = 0;            ///< Tensors of the arguments.
  std::size_t num_integers = 0;          ///< Integers that the call passes.
};

/// Values and tensors of a call as a kernel sees them. Their addresses are fixed.
class CallValues {
 public:
  /// With `writes_results`, the results follow twice: as the arguments to write to, and as what the
  /// operator returns.
  CallValues(std::shared_ptr<const CallPlan> plan, bool writes_results);
  CallValues(const CallValues&) = delete;
  CallValues& operator=(const CallValues&) = delete;

  [[nodiscard]] std::span<tenon_value* const> args() const noexcept { return args_; }

  /// Passes the arguments of one call to `kernel`, and gives the handles of results other tensors.
  [[nodiscard]] Status run(FoundKernel& kernel, std::span<const std::int64_t> integers,
                           std::span<ModelTensor* const> tensors);

 private:
  struct Elements {
    std::unique_ptr<tenon_value*[]> values;
  };
  /// Arrays and memory of a tensor in one run. The kernel may write to the tensor itself.
  struct Given {
    std::int64_t* sizes = nullptr;  ///< Strides follow.
    void* data = nullptr;
  };

  tenon_value* add(const PlannedValue& planned);
  tenon_value* add_list(const PlannedValue& planned, std::size_t count);
  Status take_input(std::size_t index, ModelTensor& tensor);
  Status make_result(std::size_t index);
  /// Sizes, their strides, and the memory, which has no more than their bytes.
  void give(std::size_t index, std::span<const std::int64_t> sizes, void* data);
  /// Whether the memory, the rank and the arrays are those that were given.
  [[nodiscard]] bool has_given(std::size_t index) const noexcept;
  Status check_inputs(std::span<ModelTensor* const> tensors) const;
  Status give_results(std::span<ModelTensor* const> handles);

  std::shared_ptr<const CallPlan> shared_;  ///< Kernels point into it.
  const CallPlan& plan_;
  std::vector<std::unique_ptr<tenon_value>> values_;
  std::vector<Elements> lists_;
  std::vector<std::int64_t> sizes_;  ///< Sizes and strides of all tensors.
  std::vector<tenon_tensor> tensors_;
  std::vector<Given> given_;            ///< For each of `tensors_`.
  std::vector<tenon_value*> integers_;  ///< Integers that the call passes.
  std::vector<tenon_value*> args_;
  std::vector<OwnedTensor> copies_;  ///< During a run: inputs that were copied.
  std::vector<OwnedTensor> made_;    ///< During a run: results.
};

/// A call for which a kernel was found.
///
/// Threads: any. Each instance of the model has a kernel of its own, made at its first call.
class FoundCall {
 public:
  /// Looks for the operator by its own name, then by its `out` overload's.
  ///
  /// errors: OperatorMissing when no plugin has a kernel; the errors of a plugin's `create_kernel`.
  [[nodiscard]] static Result<std::unique_ptr<const FoundCall>> find(const InitContext& context,
                                                                     CallPlan plan,
                                                                     std::size_t number);

  /// Runs it for the current instance. errors: InvalidProgram for other numbers of integers or
  /// tensors than were described; InvalidArgument for tensors of other dtypes, ranks or sizes;
  /// NotSupported for an operator that changes a constant of the model, and for a kernel that
  /// changes sizes of arguments or gives results of other sizes; the kernel's.
  [[nodiscard]] Status run(std::span<const std::int64_t> integers,
                           std::span<ModelTensor* const> tensors) const;

 private:
  FoundCall(CallPlan plan, std::size_t number);

  std::shared_ptr<const CallPlan> plan_;
  std::size_t number_;    ///< Of the call in the model.
  std::uint64_t serial_;  ///< Different for each object of this process.
  bool writes_results_ = false;
  // Kernels of instances are cloned from this one, which never runs.
  std::unique_ptr<CallValues> values_;
  std::optional<FoundKernel> kernel_;
};

}  // namespace tenon::cpu_aoti
