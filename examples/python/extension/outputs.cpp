// SPDX-License-Identifier: MIT
#include "outputs.hpp"

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "array.hpp"
#include "error.hpp"
#include "tenon/core/args.hpp"
#include "tenon/host/layers/arrays/value_array.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

RawMemory copy_of(const tenon_tensor& tensor) {
  RawMemory memory = allocate_like(tensor);
  std::memcpy(memory.get(), static_cast<const std::byte*>(tensor.dl.data) + tensor.dl.byte_offset,
              static_cast<std::size_t>(tensor.nbytes));
  return memory;
}

nb::object array_object(std::unique_ptr<Array> array) {
  return nb::cast(array.release(), nb::rv_policy::take_ownership);
}

}  // namespace

void OutputReader::copy_tensors() {
  if (borrow_) return;
  for (std::size_t i = 0; i < state_->copies.size(); ++i) {
    const tenon_value& value = state_->method->output(i);
    if (value.kind != TENON_VALUE_TENSOR) continue;
    const tenon_tensor& tensor = *value.as.tensor;
    if (tensor.nbytes == 0 || !tensor.dl.data || !host::is_cpu(tensor.dl.device)) continue;
    state_->copies[i] = copy_of(tensor);
  }
}

nb::object OutputReader::output(std::size_t index) const {
  return object_of(state_->method->output(index), index, false);
}

nb::object OutputReader::object_of(const tenon_value& value, std::size_t index,
                                   bool is_element) const {
  const auto size = static_cast<std::size_t>(value.as.span.size);
  switch (value.kind) {
    [[likely]] case TENON_VALUE_TENSOR:
      return tensor(*value.as.tensor, index, is_element);
    case TENON_VALUE_NONE:
      return nb::none();
    case TENON_VALUE_INT:
      return nb::int_(value.as.integer);
    case TENON_VALUE_DOUBLE:
      return nb::float_(value.as.real);
    case TENON_VALUE_BOOL:
      return nb::bool_(value.as.boolean != 0);
    case TENON_VALUE_STRING:
      return nb::str(static_cast<const char*>(value.as.span.data), size);
    default:
      break;
  }
  nb::list list;
  if (value.kind == TENON_VALUE_BOOL_LIST) {
    const std::span flags(static_cast<const std::uint8_t*>(value.as.span.data), size);
    for (const std::uint8_t flag : flags) list.append(nb::bool_(flag != 0));
  } else if (value.kind == TENON_VALUE_DOUBLE_LIST) {
    const std::span numbers(static_cast<const double*>(value.as.span.data), size);
    for (const double number : numbers) list.append(nb::float_(number));
  } else {
    for (const tenon_value* element : host::elements_of(value)) {
      list.append(object_of(*element, index, true));
    }
  }
  return list;
}

nb::object OutputReader::tensor(const tenon_tensor& tensor, std::size_t index,
                                bool is_element) const {
  if (borrow_ && !is_of_an_input(tensor)) {
    return array_object(borrow_tensor(tensor, state_));
  }
  if (!is_element && state_->copies[index]) {
    return array_object(make_array(tensor, std::move(state_->copies[index])));
  }
  if (tensor.nbytes == 0) return array_object(make_array(tensor, allocate_like(tensor)));
  if (!host::is_cpu(tensor.dl.device)) {
    if (is_element) {
      raise(error(Error::NotSupported, "output ", index, ": a list of tensors on ",
                  host::device_name(tensor.dl.device), "; use borrow=True"));
    }
    auto array = make_array(tensor, allocate_like(tensor));
    check(state_->method->read_output(index, {array->data, array->nbytes}));
    return array_object(std::move(array));
  }
  if (!tensor.dl.data) {
    raise(error(Error::InvalidState, "output ", index, ": the method has set no data"));
  }
  return array_object(make_array(tensor, copy_of(tensor)));
}

bool OutputReader::is_of_an_input(const tenon_tensor& tensor) const noexcept {
  const auto* const data = static_cast<const std::byte*>(tensor.dl.data);
  for (const InputArray& input : inputs_) {
    if (data && data >= input.data() && data < input.data() + input.nbytes()) return true;
  }
  return false;
}

}  // namespace tenon::python
