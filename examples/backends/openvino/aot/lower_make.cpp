// SPDX-License-Identifier: MIT
//
// Operators that make tensors from numbers and sizes.
#include "aot/operators.hpp"

namespace openvino_backend {

namespace {

Status full_with(const Call& call, double value) {
  TENON_TRY(const Output sizes, call.sizes("size"));
  const Output element = call.builder().scalar(value, call.dtype());
  return call.make({.type = "Broadcast",
                    .opset = "opset3",
                    .inputs = {element, sizes},
                    .attributes = {{"mode", "numpy"}}});
}

Status full(const Call& call) {
  TENON_TRY(const double value, call.number("fill_value"));
  return full_with(call, value);
}
Status zeros(const Call& call) { return full_with(call, 0); }
Status ones(const Call& call) { return full_with(call, 1); }

Status full_like_with(const Call& call, double value) {
  TENON_TRY(const Output x, call.tensor("self"));
  const Output sizes = call.builder().add({.type = "ShapeOf",
                                           .opset = "opset3",
                                           .inputs = {x},
                                           .attributes = {{"output_type", "i64"}},
                                           .dtype = ScalarType::Long});
  const Output element = call.builder().scalar(value, call.dtype());
  return call.make({.type = "Broadcast",
                    .opset = "opset3",
                    .inputs = {element, sizes},
                    .attributes = {{"mode", "numpy"}}});
}

Status full_like(const Call& call) {
  TENON_TRY(const double value, call.number("fill_value"));
  return full_like_with(call, value);
}
Status zeros_like(const Call& call) { return full_like_with(call, 0); }
Status ones_like(const Call& call) { return full_like_with(call, 1); }

Status scalar_tensor(const Call& call) {
  TENON_TRY(const Output number, call.operand("s", call.dtype()));
  return call.finish(number);
}

/// A number as Range reads it: without dimensions.
Result<Output> bound(const Call& call, std::string_view name, double initial) {
  if (!call.has(name)) return call.builder().scalar(initial, call.dtype());
  return call.operand(name, call.dtype());
}

Status arange(const Call& call) {
  if (call.dtype() != ScalarType::Long && call.dtype() != ScalarType::Int &&
      call.dtype() != ScalarType::Float) {
    return error(Error::NotSupported, "expected dtype Long, Int or Float, found ",
                 name_of(call.dtype()));
  }
  if (!call.has("end")) return call.refuse_argument("end", "a number");
  TENON_TRY(const Output start, bound(call, "start", 0));
  TENON_TRY(const Output end, bound(call, "end", 0));
  TENON_TRY(const Output step, bound(call, "step", 1));
  return call.make({.type = "Range",
                    .opset = "opset4",
                    .inputs = {start, end, step},
                    .attributes = {{"output_type", std::string(element_type(call.dtype()))}}});
}

constexpr OperatorRow make_rows[] = {
    {"aten.full.default", &full},
    {"aten.zeros.default", &zeros},
    {"aten.ones.default", &ones},
    {"aten.full_like.default", &full_like, Elements::Any, Reads::Sizes},
    {"aten.zeros_like.default", &zeros_like, Elements::Any, Reads::Sizes},
    {"aten.ones_like.default", &ones_like, Elements::Any, Reads::Sizes},
    {"aten.scalar_tensor.default", &scalar_tensor},
    {"aten.arange.default", &arange},
    {"aten.arange.start", &arange},
    {"aten.arange.start_step", &arange},
};

}  // namespace

std::span<const OperatorRow> make_operators() noexcept { return make_rows; }

}  // namespace openvino_backend
