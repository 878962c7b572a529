// SPDX-License-Identifier: MIT
#include "stock_method.hpp"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>

#include <cstring>
#include <utility>

#include "tenon/core/status.hpp"

namespace tenon::live {
namespace {

namespace et = executorch::runtime;
using namespace executorch::extension;
using executorch::aten::DimOrderType;
using executorch::aten::SizesType;

Status refused(const std::string& what, et::Error number) {
  return error(static_cast<Error>(number), "stock ExecuTorch: ", what);
}

TensorPtr lent(const MemoryTensor& tensor) {
  std::vector<SizesType> sizes;
  for (const std::int64_t size : tensor.sizes) sizes.push_back(static_cast<SizesType>(size));
  std::vector<DimOrderType> order(tensor.dim_order.begin(), tensor.dim_order.end());
  return executorch::extension::make_tensor_ptr(
      std::move(sizes), const_cast<std::byte*>(tensor.bytes.data()), std::move(order), {},
      static_cast<executorch::aten::ScalarType>(tensor.type));
}

MemoryTensor copied(const executorch::aten::Tensor& tensor) {
  MemoryTensor out;
  out.type = static_cast<ScalarType>(tensor.scalar_type());
  out.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  out.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
  out.bytes.resize(tensor.nbytes());
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), tensor.const_data_ptr(), out.bytes.size());
  return out;
}

}  // namespace

struct StockMethod::State {
  Module module;
  std::string method;
};

StockMethod::StockMethod(std::unique_ptr<State> state) : state_(std::move(state)) {}
StockMethod::StockMethod(StockMethod&&) noexcept = default;
StockMethod& StockMethod::operator=(StockMethod&&) noexcept = default;
StockMethod::~StockMethod() = default;

Result<StockMethod> StockMethod::load(const std::string& program,
                                      const std::vector<std::string>& data_files,
                                      const std::string& method) {
  std::unique_ptr<State> state(new State{Module(program, data_files), method});
  const et::Error loaded = state->module.load_method(method);
  if (loaded != et::Error::Ok) return refused("load_method of " + program, loaded);
  return StockMethod(std::move(state));
}

Result<std::vector<MemoryTensor>> StockMethod::execute(const std::vector<MemoryTensor>& inputs) {
  std::vector<TensorPtr> tensors;
  std::vector<et::EValue> values;
  for (const MemoryTensor& input : inputs) {
    tensors.push_back(lent(input));
    values.emplace_back(tensors.back());
  }
  const auto outputs = state_->module.execute(state_->method, values);
  if (!outputs.ok()) return refused("execute", outputs.error());
  std::vector<MemoryTensor> out;
  for (const et::EValue& value : *outputs) {
    if (!value.isTensor()) return error(Error::NotSupported, "an output is not a tensor");
    out.push_back(copied(value.toTensor()));
  }
  return out;
}

}  // namespace tenon::live
