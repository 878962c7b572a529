// SPDX-License-Identifier: MIT
#include "operators/found_call.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"

namespace tenon::cpu_aoti {
namespace {

/// Writes the strides without gaps that `sizes` have in a dim order; a size of 0 counts as 1.
void fill_strides(Sizes sizes, const std::vector<std::uint8_t>& dim_order, std::int64_t* strides) {
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[dim_order[i]] = stride;
    stride = aoti::outer_stride(stride, sizes[dim_order[i]]);
  }
}

/// Whether elements are where `strides` have them. Strides of one element do not count.
bool has_strides(const ModelTensor& tensor, const std::int64_t* strides) {
  if (tensor.numel == 0) return true;
  for (std::size_t d = 0; d < tensor.shape().size(); ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != strides[d]) return false;
  }
  return true;
}

std::uint64_t bytes_of(Sizes sizes, ScalarType type) {
  std::uint64_t nbytes = size_of(type);
  for (const std::int64_t size : sizes) nbytes *= static_cast<std::uint64_t>(size);
  return nbytes;
}

std::uint32_t kind_of_elements(std::uint32_t list) {
  return list == TENON_VALUE_INT_LIST ? TENON_VALUE_INT : TENON_VALUE_TENSOR;
}

std::string limits_text(const PlannedTensor& planned) {
  return concat(name_of(planned.type), planned.is_dynamic() ? " of at most " : " ",
                shape_text(planned.bounds));
}

/// The kernels of one instance of a model, by the number of the call.
struct InstanceKernels {
  struct Slot {
    std::uint64_t serial = 0;  ///< Of the call that it is for.
    std::unique_ptr<CallValues> values;
    std::optional<FoundKernel> kernel;
  };
  std::vector<Slot> slots;
};

std::uint64_t next_serial() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

bool PlannedTensor::allows(std::span<const std::int64_t> sizes) const noexcept {
  if (sizes.size() != bounds.size()) return false;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const bool is_smaller = sizes[d] >= 0 && sizes[d] < bounds[d];
    if (sizes[d] != bounds[d] && !(dynamic[d] && is_smaller)) return false;
  }
  return true;
}

CallValues::CallValues(std::shared_ptr<const CallPlan> shared, bool writes_results)
    : shared_(std::move(shared)), plan_(*shared_) {
  std::size_t rank_sum = 0;
  for (const PlannedTensor& tensor : plan_.tensors) rank_sum += tensor.bounds.size();
  sizes_.resize(2 * rank_sum + 1);  // One more, so that a scalar has an address, too.
  std::int64_t* next = sizes_.data();
  for (const PlannedTensor& planned : plan_.tensors) {
    tenon_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    tensor.scalar_type = static_cast<std::int32_t>(planned.type);
    tensor.dl.device = {TENON_DL_CPU, 0};
    tensor.dl.dtype = find_scalar_type(static_cast<std::int64_t>(planned.type))->dl;
    tensor.dim_order = planned.dim_order.data();
    tensor.bounds = planned.bounds.data();
    tensor.shape_dynamism = planned.is_dynamic() ? TENON_SHAPE_DYNAMIC_BOUND : TENON_SHAPE_STATIC;
    tensors_.push_back(tensor);
    given_.push_back({next, nullptr});
    give(tensors_.size() - 1, planned.bounds, nullptr);
    next += 2 * planned.bounds.size();
  }
  integers_.resize(plan_.num_integers);
  for (const PlannedValue& argument : plan_.arguments) args_.push_back(add(argument));
  const std::size_t num_arguments = args_.size();
  for (const PlannedValue& result : plan_.results) args_.push_back(add(result));
  if (writes_results) {
    for (std::size_t i = 0; i < plan_.results.size(); ++i)
      args_.push_back(args_[num_arguments + i]);
  }
  copies_.reserve(plan_.num_inputs);
  made_.reserve(plan_.tensors.size() - plan_.num_inputs);
}

tenon_value* CallValues::add(const PlannedValue& planned) {
  const std::size_t count = std::max(planned.tensors.size(), planned.integers.size());
  if (planned.kind == TENON_VALUE_TENSOR_LIST || planned.kind == TENON_VALUE_INT_LIST ||
      planned.kind == TENON_VALUE_OPTIONAL_TENSOR_LIST) {
    return add_list(planned, count);
  }
  values_.push_back(std::make_unique<tenon_value>());
  tenon_value* const value = values_.back().get();
  *value = {};
  value->struct_size = sizeof *value;
  value->kind = planned.kind;
  switch (planned.kind) {
    case TENON_VALUE_TENSOR:
      value->as.tensor = &tensors_[planned.tensors[0]];
      break;
    case TENON_VALUE_INT:
      value->as.integer = planned.integers[0];
      if (planned.first_integer != PlannedValue::none) integers_[planned.first_integer] = value;
      break;
    case TENON_VALUE_DOUBLE:
      value->as.real = planned.reals[0];
      break;
    case TENON_VALUE_BOOL:
      value->as.boolean = planned.flags[0];
      break;
    case TENON_VALUE_STRING:
      value->as.span = {planned.text.data(), planned.text.size()};
      break;
    case TENON_VALUE_DOUBLE_LIST:
      value->as.span = {planned.reals.data(), planned.reals.size()};
      break;
    case TENON_VALUE_BOOL_LIST:
      value->as.span = {planned.flags.data(), planned.flags.size()};
      break;
    default:
      break;
  }
  return value;
}

tenon_value* CallValues::add_list(const PlannedValue& planned, std::size_t count) {
  lists_.push_back({std::make_unique<tenon_value*[]>(count)});
  tenon_value** const elements = lists_.back().values.get();
  for (std::size_t i = 0; i < count; ++i) {
    PlannedValue element{.kind = kind_of_elements(planned.kind)};
    if (!planned.tensors.empty()) element.tensors = {planned.tensors[i]};
    if (!planned.integers.empty()) element.integers = {planned.integers[i]};
    if (planned.first_integer != PlannedValue::none) {
      element.first_integer = planned.first_integer + i;
    }
    if (!element.tensors.empty() && element.tensors[0] == PlannedValue::none) {
      element.kind = TENON_VALUE_NONE;
    }
    elements[i] = add(element);
  }
  values_.push_back(std::make_unique<tenon_value>());
  tenon_value* const value = values_.back().get();
  *value = {};
  value->struct_size = sizeof *value;
  value->kind = planned.kind;
  value->as.span = {elements, count};
  return value;
}

Status CallValues::run(FoundKernel& kernel, std::span<const std::int64_t> integers,
                       std::span<ModelTensor* const> tensors) {
  struct Release {
    CallValues& values;
    ~Release() {
      values.copies_.clear();
      values.made_.clear();
    }
  } const release{*this};
  for (std::size_t i = 0; i < integers.size(); ++i) integers_[i]->as.integer = integers[i];
  for (std::size_t i = 0; i < plan_.num_inputs; ++i) {
    TENON_RETURN_IF_ERROR(take_input(i, *tensors[i]));
  }
  for (std::size_t i = plan_.num_inputs; i < tensors_.size(); ++i) {
    TENON_RETURN_IF_ERROR(make_result(i));
  }
  TENON_RETURN_IF_ERROR(kernel.run());
  TENON_RETURN_IF_ERROR(check_inputs(tensors.first(plan_.num_inputs)));
  return give_results(tensors.subspan(plan_.num_inputs));
}

Status CallValues::take_input(std::size_t index, ModelTensor& tensor) {
  const PlannedTensor& planned = plan_.tensors[index];
  const Sizes sizes = tensor.shape();
  if (tensor.scalar_type != planned.type || !planned.allows(sizes)) {
    return error(Error::InvalidArgument, "tensor ", index, ": expected ", limits_text(planned),
                 ", found ", name_of(tensor.scalar_type), " ", shape_text(sizes));
  }
  // Its memory may be mapped for reading, and other kernels keep what they derived from it.
  if (planned.is_written && tensor.storage->is_fixed) {
    return error(Error::NotSupported, "tensor ", index,
                 ", which the operator changes: expected no constant of the model");
  }
  give(index, sizes, tensor.data);
  const std::int64_t* const strides = tensors_[index].dl.strides;
  if (has_strides(tensor, strides)) return ok();
  if (planned.is_written) {
    return error(Error::NotSupported, "tensor ", index,
                 ", which the operator changes: expected one without gaps in memory");
  }
  TENON_TRY(OwnedTensor copy, new_tensor(sizes, strides, planned.type));
  copy_strided(sizes, size_of(planned.type), {copy->data, strides},
               {tensor.data, tensor.strides.data()});
  give(index, sizes, copy->data);
  copies_.push_back(std::move(copy));
  return ok();
}

Status CallValues::make_result(std::size_t index) {
  const PlannedTensor& planned = plan_.tensors[index];
  TENON_TRY(OwnedTensor made, new_tensor(planned.bounds, nullptr, planned.type));
  give(index, planned.bounds, made->data);
  made_.push_back(std::move(made));
  return ok();
}

void CallValues::give(std::size_t index, Sizes sizes, void* data) {
  const PlannedTensor& planned = plan_.tensors[index];
  Given& given = given_[index];
  std::copy(sizes.begin(), sizes.end(), given.sizes);
  fill_strides(sizes, planned.dim_order, given.sizes + sizes.size());
  given.data = data;
  tenon_tensor& out = tensors_[index];
  out.dl.ndim = static_cast<std::int32_t>(sizes.size());
  out.dl.shape = given.sizes;
  out.dl.strides = given.sizes + sizes.size();
  out.dl.data = data;
  out.nbytes = out.capacity = bytes_of(sizes, planned.type);
}

bool CallValues::has_given(std::size_t index) const noexcept {
  const tenon_tensor& tensor = tensors_[index];
  const Given& given = given_[index];
  const std::size_t rank = plan_.tensors[index].bounds.size();
  return tensor.dl.data == given.data && tensor.dl.ndim == static_cast<std::int32_t>(rank) &&
         tensor.dl.shape == given.sizes && tensor.dl.strides == given.sizes + rank;
}

Status CallValues::check_inputs(std::span<ModelTensor* const> tensors) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Sizes sizes = tensors[i]->shape();
    if (has_given(i) && std::equal(sizes.begin(), sizes.end(), given_[i].sizes)) continue;
    return error(Error::NotSupported, "tensor ", i, ": expected an argument of the same sizes ",
                 shape_text(sizes), " and memory after the run, the kernel changed them");
  }
  return ok();
}

Status CallValues::give_results(std::span<ModelTensor* const> handles) {
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const std::size_t index = plan_.num_inputs + i;
    const PlannedTensor& planned = plan_.tensors[index];
    if (!has_given(index)) {
      return error(Error::NotSupported, "result ", i,
                   ": expected elements in the given memory, the kernel made a view");
    }
    const Sizes sizes(given_[index].sizes, planned.bounds.size());
    if (!planned.allows(sizes)) {
      return error(Error::NotSupported, "result ", i, ": expected ", limits_text(planned),
                   ", the kernel gave ", shape_text(sizes));
    }
    ModelTensor& made = *made_[i];
    std::copy(sizes.begin(), sizes.end(), made.sizes.begin());
    // The model's code has these strides, whatever the kernel wrote.
    fill_strides(sizes, planned.dim_order, made.strides.data());
    made.numel = 1;
    for (const std::int64_t size : sizes) made.numel *= size;
    if (!has_strides(made, given_[index].sizes + sizes.size())) {
      return error(Error::NotSupported, "result ", i,
                   ": expected elements without gaps, in the order of the given tensor");
    }
  }
  // The handle gets the result, and what it had is released with the other object.
  for (std::size_t i = 0; i < handles.size(); ++i) std::swap(*handles[i], *made_[i]);
  return ok();
}

FoundCall::FoundCall(CallPlan plan, std::size_t number)
    : plan_(std::make_shared<const CallPlan>(std::move(plan))),
      number_(number),
      serial_(next_serial()) {}

Result<std::unique_ptr<const FoundCall>> FoundCall::find(const InitContext& context, CallPlan plan,
                                                         std::size_t number) {
  std::unique_ptr<FoundCall> out(new FoundCall(std::move(plan), number));
  std::string answers;
  for (const bool writes_results : {false, true}) {
    const std::string& op = writes_results ? out->plan_->out_op : out->plan_->op;
    if (op.empty()) continue;
    auto values = std::make_unique<CallValues>(out->plan_, writes_results);
    auto kernel = FoundKernel::find(context, op, values->args());
    if (kernel.ok()) {
      out->writes_results_ = writes_results;
      out->values_ = std::move(values);
      out->kernel_ = *std::move(kernel);
      return std::unique_ptr<const FoundCall>(std::move(out));
    }
    if (kernel.error() != Error::OperatorMissing) return std::move(kernel).status();
    answers += concat(answers.empty() ? "" : "; ", kernel.text());
  }
  return error(Error::OperatorMissing, answers);
}

Status FoundCall::run(std::span<const std::int64_t> integers,
                      std::span<ModelTensor* const> tensors) const {
  const std::size_t num_results = plan_->tensors.size() - plan_->num_inputs;
  if (integers.size() != plan_->num_integers || tensors.size() != plan_->tensors.size()) {
    return error(Error::InvalidProgram, "number ", number_, ", ", plan_->op, ": expected ",
                 plan_->num_integers, " integers and ", plan_->num_inputs, " + ", num_results,
                 " tensors, the model passes ", integers.size(), " and ", tensors.size());
  }
  auto& slots = aoti::current_pool().cache<InstanceKernels>().slots;
  if (slots.size() <= number_) slots.resize(number_ + 1);
  InstanceKernels::Slot& slot = slots[number_];
  if (slot.serial != serial_) [[unlikely]] {
    slot.serial = 0;
    slot.kernel.reset();
    slot.values = std::make_unique<CallValues>(plan_, writes_results_);
    TENON_TRY(slot.kernel, kernel_->clone(slot.values->args()));
    slot.serial = serial_;
  }
  Status outcome = slot.values->run(*slot.kernel, integers, tensors);
  return outcome.ok() ? ok() : std::move(outcome).with_context(plan_->op);
}

}  // namespace tenon::cpu_aoti
