// SPDX-License-Identifier: MIT
#include "stock.hpp"

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include "support/catch.hpp"
#include "tenon/executorch/backend/libraries.hpp"

namespace tenon::test {

struct Stock::Module {
  explicit Module(const std::string& path) : module(path) {}
  ::executorch::extension::Module module;
};

Stock::Stock(const std::string& path) : module_(std::make_unique<Module>(path)) {
  // What programs need is registered by the same libraries that the plugins load.
  for (const bridge::RegisteringLibrary& library :
       {bridge::RegisteringLibrary{"libexecutorch_backend_xnnpack.so", "XnnpackBackend"},
        bridge::RegisteringLibrary{"libexecutorch_kernels_optimized.so", "aten::add.out"}}) {
    const Status loaded = bridge::detail::load_library(library);
    INFO(loaded.text());
    REQUIRE(loaded.ok());
  }
}

Stock::~Stock() = default;

std::vector<std::byte> Stock::run(const std::vector<Input>& inputs) {
  std::vector<::executorch::extension::TensorPtr> tensors;
  std::vector<::executorch::runtime::EValue> values;
  for (const Input& input : inputs) {
    const std::vector<std::int32_t> sizes(input.sizes.begin(), input.sizes.end());
    tensors.push_back(::executorch::extension::make_tensor_ptr(sizes, input.values));
    values.emplace_back(*tensors.back());
  }
  const auto outputs = module_->module.forward(values);
  REQUIRE(outputs.ok());
  const auto tensor = outputs->at(0).toTensor();
  const auto* first = static_cast<const std::byte*>(tensor.const_data_ptr());
  return {first, first + tensor.nbytes()};
}

}  // namespace tenon::test
