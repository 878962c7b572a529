// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/abi/extensions/kernels.h"
#include "tenon/conformance/context.hpp"
#include "tenon/conformance/guarded_memory.hpp"
#include "tenon/conformance/loaded_plugin.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/arena.hpp"
#include "tenon/host/kernel_backends.hpp"
#include "tenon/host/tensor_storage.hpp"

/// Kernels of a plugin that the kit knows nothing of: it tries arguments.
namespace tenon::conformance {

/// The arguments of one kernel call as a row of letters: `t` a tensor of float32, `i` an integer,
/// `n` none, `o` the one output tensor, `p` the one output integer. Everything lies in memory
/// around which nothing may be touched, and stays where it is.
class KernelArguments {
 public:
  explicit KernelArguments(std::string_view letters)
      : list_(letters.size() * sizeof(tenon_value*), alignof(tenon_value*),
              Forbidden{rule, "behind the list of arguments"}) {
    for (std::size_t i = 0; i < letters.size(); ++i) list()[i] = value_of(letters[i]);
    for (const Tensor& one : tensors_) {
      if (&one != output_) inputs_.push_back(one.tensor.get());
    }
  }
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  [[nodiscard]] tenon_value** list() const noexcept {
    return reinterpret_cast<tenon_value**>(list_.data());
  }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(list_.size() / sizeof(tenon_value*));
  }

  /// Gives the inputs `rows` rows, 1 to 4; at first they have two.
  void resize_inputs(std::int64_t rows) const {
    for (tenon_tensor* one : inputs_) {
      static_cast<void>(host::resize_tensor(*one, std::array<std::int64_t, 2>{rows, 3}));
    }
  }

  /// The outputs as they are now.
  [[nodiscard]] std::vector<std::byte> outputs() const {
    std::vector<std::byte> out;
    const auto add = [&](const void* data, std::uint64_t size) {
      const auto* first = static_cast<const std::byte*>(data);
      out.insert(out.end(), first, first + size);
    };
    if (output_) add(output_->tensor->dl.data, output_->tensor->nbytes);
    if (number_) add(&number_->as.integer, sizeof number_->as.integer);
    return out;
  }

 private:
  static constexpr const char* rule = "TN-KRN-3";

  struct Tensor {
    Tensor()
        : data(std::size_t{12} * sizeof(float), alignof(float),
               Forbidden{rule, "outside of the elements of an argument"}) {
      *tensor = {};
      tensor->struct_size = sizeof(tenon_tensor);
      tensor->scalar_type = static_cast<std::int32_t>(ScalarType::Float);
      tensor->dl = {data.data(),  {TENON_DL_CPU, 0}, 2, {TENON_DL_FLOAT, 32, 1},
                    sizes.data(), strides.data(),    0};
      tensor->dim_order = dim_order.data();
      tensor->bounds = bounds.data();
      tensor->nbytes = 6 * sizeof(float);
      tensor->capacity = data.size();
      tensor->shape_dynamism = TENON_SHAPE_DYNAMIC_BOUND;
    }
    std::array<std::int64_t, 2> sizes = {2, 3}, strides = {3, 1}, bounds = {4, 3};
    std::array<std::uint8_t, 2> dim_order = {0, 1};
    GuardedMemory data;
    std::unique_ptr<tenon_tensor> tensor = std::make_unique<tenon_tensor>();
    tenon_value value{sizeof(tenon_value), TENON_VALUE_TENSOR, {tensor.get()}};
  };

  tenon_value* new_value(std::uint32_t kind) {
    return &values_.emplace_back(tenon_value{sizeof(tenon_value), kind, {}});
  }

  tenon_value* value_of(char letter) {
    switch (letter) {
      case 't': {
        Tensor& made = tensors_.emplace_back();
        // Numbers whose sums and products are exact, different in each tensor.
        std::array<float, 12> numbers;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          numbers[i] = static_cast<float>(i % 5 + tensors_.size());
        }
        std::memcpy(made.data.data(), numbers.data(), sizeof numbers);
        return &made.value;
      }
      case 'o':
        if (!output_) output_ = &tensors_.emplace_back();
        return &output_->value;
      case 'p':
        if (!number_) number_ = new_value(TENON_VALUE_INT);
        return number_;
      case 'i': {
        // Who takes the number for an address touches what is forbidden.
        tenon_value* out = new_value(TENON_VALUE_INT);
        out->as.integer = 1;
        return out;
      }
      case 'x': {
        GuardedMemory& trap =
            traps_.emplace_back(std::size_t{4096}, std::size_t{4096},
                                Forbidden{rule, "next to what an integer would point to"});
        trap.forbid({rule, "that an integer would point to, were it a tensor"});
        tenon_value* out = new_value(TENON_VALUE_INT);
        out->as.integer = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(trap.data()));
        return out;
      }
      default:
        return new_value(TENON_VALUE_NONE);
    }
  }

  GuardedMemory list_;
  std::list<tenon_value> values_;
  std::list<Tensor> tensors_;
  std::list<GuardedMemory> traps_;
  std::vector<tenon_tensor*> inputs_;
  Tensor* output_ = nullptr;
  tenon_value* number_ = nullptr;
};

/// The kernels of an opened backend, each call watched. Ends the test where there are none.
class OfferedKernels {
 public:
  explicit OfferedKernels(Context& kit) : kit_(kit), opened_(kit) {
    const auto table = opened_.backend().extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
    if (!table) kit.not_applicable("the backend does not offer " TENON_EXTENSION_KERNELS);
    const tenon_kernels_v1& theirs = opened_.boundary().extensions().kernels;
    if (!theirs.list_operators || !theirs.create_kernel || !theirs.run_kernel ||
        !theirs.destroy_kernel) {
      kit.blocked("the table of " TENON_EXTENSION_KERNELS " lacks functions");
    }
    table_ = *table;
    const Status available = opened_.backend().is_available();
    if (!available.ok()) kit.not_applicable(available.text());
  }

  [[nodiscard]] Boundary& boundary() noexcept { return opened_.boundary(); }
  [[nodiscard]] OpenedBackend& opened() noexcept { return opened_; }
  [[nodiscard]] const tenon_kernels_v1& table() const noexcept { return table_; }
  [[nodiscard]] tenon_backend* raw() const noexcept { return opened_.backend().raw(); }
  [[nodiscard]] const tenon_host* host() const noexcept { return opened_.host(); }

  /// What it lists. Ends the test where it cannot.
  [[nodiscard]] std::vector<std::string> operators() {
    return kit_.need(host::list_operators(opened_.backend()), "list_operators");
  }

 private:
  Context& kit_;
  OpenedBackend opened_;
  tenon_kernels_v1 table_{};
};

/// One kernel with arguments of its own, destroyed with this.
class TriedKernel {
 public:
  TriedKernel(OfferedKernels& kernels, const std::string& op, std::string_view letters)
      : kernels_(kernels), args_(letters) {
    created_ = kernels.table().create_kernel(kernels.raw(), op.c_str(), args_.list(), args_.size(),
                                             &kernel_);
  }
  TriedKernel(const TriedKernel&) = delete;
  TriedKernel& operator=(const TriedKernel&) = delete;
  ~TriedKernel() {
    if (created_ == TENON_STATUS_OK) kernels_.table().destroy_kernel(kernels_.raw(), kernel_);
  }

  /// What `create_kernel` answered.
  [[nodiscard]] tenon_status created() const noexcept { return created_; }
  [[nodiscard]] KernelArguments& args() noexcept { return args_; }

  /// Only when it was created.
  tenon_status run() {
    const tenon_status status = kernels_.table().run_kernel(kernel_, &context_);
    arena_.reset();
    return status;
  }

 private:
  OfferedKernels& kernels_;
  KernelArguments args_;
  tenon_kernel* kernel_ = nullptr;
  host::Arena arena_;
  tenon_execution_context context_{
      sizeof(tenon_execution_context), 0, kernels_.host(), "forward", arena_.table(), nullptr};
  tenon_status created_ = TENON_STATUS_OK;
};

/// An operator, and arguments that a kernel of it runs with.
struct RightCall {
  std::string op;
  std::string letters;
};

/// Tries up to `most` operators, evenly chosen, with rows of arguments until one can be run.
[[nodiscard]] inline std::optional<RightCall> find_right_call(OfferedKernels& kernels,
                                                              std::size_t most = 12) {
  const std::vector<std::string> operators = kernels.operators();
  std::vector<std::string> inputs = {""};
  for (std::size_t first = 0, last = 1; inputs.size() < 121; first = last, last = inputs.size()) {
    for (std::size_t i = first; i < last; ++i) {
      for (const char letter : {'t', 'i', 'n'}) inputs.push_back(inputs[i] + letter);
    }
  }
  const std::size_t step = operators.size() / most + 1;
  for (std::size_t i = 0; i < operators.size(); i += step) {
    for (const std::string& of_input : inputs) {
      // Most operators return the output that they were given; those on numbers have it once.
      for (const std::string_view outputs : {"oo", "o", "p"}) {
        const std::string letters = of_input + std::string(outputs);
        TriedKernel kernel(kernels, operators[i], letters);
        if (kernel.created() != TENON_STATUS_OK || kernel.run() != TENON_STATUS_OK) continue;
        return RightCall{operators[i], letters};
      }
    }
  }
  return std::nullopt;
}

/// The same; ends the test where there is none.
[[nodiscard]] inline RightCall need_right_call(Context& kit, OfferedKernels& kernels) {
  auto call = find_right_call(kernels);
  if (!call) {
    kit.not_applicable("no kernel takes what the kit tries: tensors of float32, integers, none");
  }
  return *std::move(call);
}

}  // namespace tenon::conformance
