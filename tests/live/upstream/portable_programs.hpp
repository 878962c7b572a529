// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/aot/compiler/emit/method_memory.hpp"
#include "tenon/aot/named_data_store.hpp"
#include "tenon/aot/program_data.hpp"

namespace tenon::test {

/// A method that is put together by hand, as a lowering would do it.
class PortableMethod {
 public:
  explicit PortableMethod(std::string_view name) { method.name = name; }

  aot::MethodData method;

  aot::ValueIndex tensor(std::vector<std::int32_t> sizes,
                         aot::Storage data = aot::storage::Planned(),
                         ScalarType type = ScalarType::Float) {
    aot::TensorValue out;
    out.layout = {type, std::move(sizes)};
    out.data = std::move(data);
    return method.add(std::move(out));
  }
  aot::ValueIndex dynamic(std::vector<std::int32_t> bounds) {
    const auto index = tensor(std::move(bounds));
    std::get<aot::TensorValue>(method.values.back()).is_dynamic = true;
    return index;
  }
  void call(std::string_view name, std::string_view overload, std::vector<aot::ValueIndex> args) {
    method.instructions.push_back(aot::KernelCall{method.op(name, overload), std::move(args)});
  }
};

/// (i - 5) / 4 for i from 0.
inline aot::SharedBytes quarters(std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = (static_cast<float>(i) - 5) / 4;
  return aot::SharedBytes::copy_of(std::as_bytes(std::span(numbers)));
}

/// relu(x @ w + b) * relu(x @ w + b), for x of one to four rows of three. The weights are
/// constants, or data of `store` in a file of its own.
inline aot::MethodData layer(aot::ProgramData& program, aot::NamedDataStore* store) {
  PortableMethod out("forward");
  const auto weight = [&](std::string name, std::vector<std::int32_t> sizes,
                          std::size_t count) -> aot::ValueIndex {
    if (store == nullptr) {
      return out.tensor(std::move(sizes),
                        aot::storage::Constant{program.add_constant(quarters(count))});
    }
    const aot::DenseLayout layout{ScalarType::Float, sizes};
    if (!store->add_named_data(name, quarters(count), {16, "weights", layout}).ok()) return -1;
    const auto index = out.tensor(std::move(sizes), aot::storage::External());
    std::get<aot::TensorValue>(out.method.values.back()).fully_qualified_name = std::move(name);
    return index;
  };
  const auto x = out.dynamic({4, 3});
  const auto w = weight("layer.w", {3, 4}, 12);
  const auto b = weight("layer.b", {4}, 4);
  const auto one = out.method.add(std::int64_t{1});
  const auto product = out.dynamic({4, 4});
  const auto sum = out.dynamic({4, 4});
  const auto rectified = out.dynamic({4, 4});
  const auto y = out.dynamic({4, 4});
  out.call("aten::mm", "out", {x, w, product, product});
  out.call("aten::add", "out", {product, b, one, sum, sum});
  out.call("aten::relu", "out", {sum, rectified, rectified});
  out.call("aten::mul", "out", {rectified, rectified, y, y});
  out.method.inputs = {x};
  out.method.outputs = {y};
  return std::move(out.method);
}

/// The sum of all that it was called with, and (3, 4), in which the method's memory begins.
inline aot::MethodData counter(aot::ProgramData& program) {
  PortableMethod out("count");
  const std::vector<float> start{3, 4};
  const auto state =
      program.add_initial_state(aot::SharedBytes::copy_of(std::as_bytes(std::span(start))));
  const auto x = out.tensor({2});
  const auto total = out.tensor({2}, aot::storage::InitialState{state, {}});
  const auto one = out.method.add(std::int64_t{1});
  const auto sum = out.tensor({2});
  const auto zero = out.method.add(std::int64_t{0});
  const auto y = out.tensor({2});
  out.call("aten::add", "out", {x, total, one, sum, sum});
  out.call("aten::add", "Scalar_out", {sum, zero, one, total, total});
  out.call("aten::add", "Scalar_out", {total, zero, one, y, y});
  out.method.inputs = {x};
  out.method.outputs = {y};
  return std::move(out.method);
}

/// x + x if the condition holds, else x * x: by jumps and moves.
inline aot::MethodData branch() {
  PortableMethod out("branch");
  const auto condition = out.tensor({1}, aot::storage::Planned(), ScalarType::Bool);
  const auto x = out.tensor({3});
  const auto one = out.method.add(std::int64_t{1});
  const auto never = out.method.add(false);
  const auto doubled = out.tensor({3});
  const auto squared = out.tensor({3});
  const auto y = out.tensor({3});
  out.method.instructions.push_back(aot::JumpFalseCall{condition, 4});
  out.call("aten::add", "out", {x, x, one, doubled, doubled});
  out.method.instructions.push_back(aot::MoveCall{doubled, y});
  out.method.instructions.push_back(aot::JumpFalseCall{never, 6});
  out.call("aten::mul", "out", {x, x, squared, squared});
  out.method.instructions.push_back(aot::MoveCall{squared, y});
  out.method.inputs = {condition, x};
  out.method.outputs = {y};
  return std::move(out.method);
}

/// Concatenates the inputs: a kernel that takes a list.
inline aot::MethodData join() {
  PortableMethod out("join");
  const auto a = out.tensor({2, 2});
  const auto b = out.tensor({1, 2});
  const auto list = out.method.add(aot::TensorList{{a, b}});
  const auto dimension = out.method.add(std::int64_t{0});
  const auto y = out.tensor({3, 2});
  out.call("aten::cat", "out", {list, dimension, y, y});
  out.method.inputs = {a, b};
  out.method.outputs = {y};
  return std::move(out.method);
}

/// Four methods of portable kernels. `is_external`: the weights of "forward" are in weights.ptd.
inline Result<aot::ProgramData> portable_program(bool is_external) {
  aot::ProgramData out;
  aot::NamedDataStore store;
  out.methods.push_back(layer(out, is_external ? &store : nullptr));
  out.methods.push_back(counter(out));
  out.methods.push_back(branch());
  out.methods.push_back(join());
  out.named_data = store.get_named_data_store_output();
  for (auto& method : out.methods) {
    TENON_RETURN_IF_ERROR(aot::plan_method_memory(method));
    TENON_RETURN_IF_ERROR(aot::check_method_memory(method));
  }
  return out;
}

}  // namespace tenon::test
