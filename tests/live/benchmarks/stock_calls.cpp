// SPDX-License-Identifier: MIT
#include "stock_calls.hpp"

#include <dlfcn.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>

#include <utility>

#include "tenon/core/status.hpp"

namespace tenon::live {
namespace {

namespace et = executorch::runtime;
using executorch::extension::BufferDataLoader;
using executorch::extension::Module;

Status refused(const char* what, et::Error number) {
  return error(static_cast<Error>(number), "stock ExecuTorch: ", what);
}

}  // namespace

struct StockCalls::State {
  Module module;
  et::Method* method = nullptr;
  executorch::extension::TensorPtr input;
};

StockCalls::StockCalls(std::unique_ptr<State> state) : state_(std::move(state)) {}
StockCalls::StockCalls(StockCalls&&) noexcept = default;
StockCalls& StockCalls::operator=(StockCalls&&) noexcept = default;
StockCalls::~StockCalls() = default;

Status load_stock_library(const std::string& path) {
  if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return ok();
  const char* said = ::dlerror();
  return error(Error::AccessFailed, said ? said : path);
}

Result<StockCalls> StockCalls::load(std::span<const std::byte> program,
                                    std::span<const std::byte> input) {
  std::unique_ptr<State> state(
      new State{Module(std::make_unique<BufferDataLoader>(program.data(), program.size())), nullptr,
                nullptr});
  if (const auto loaded = state->module.load_method("forward"); loaded != et::Error::Ok) {
    return refused("load_method", loaded);
  }
  // `Module::execute` sets inputs and copies outputs in each call, which is not what is measured.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const auto method = state->module.method("forward");
#pragma GCC diagnostic pop
  if (!method.ok()) return refused("method", method.error());
  state->method = *method;
  const auto about = state->method->method_meta().input_tensor_meta(0);
  if (!about.ok()) return refused("input_tensor_meta", about.error());
  if (about->nbytes() != input.size()) {
    return error(Error::InvalidArgument, "the input has ", input.size(), " bytes, expected ",
                 about->nbytes());
  }
  const auto sizes = about->sizes();
  state->input = executorch::extension::make_tensor_ptr({sizes.begin(), sizes.end()},
                                                        const_cast<std::byte*>(input.data()), {},
                                                        {}, about->scalar_type());
  const auto set = state->method->set_input(*state->input, 0);
  if (set != et::Error::Ok) return refused("set_input", set);
  return StockCalls(std::move(state));
}

bool StockCalls::execute() { return state_->method->execute() == et::Error::Ok; }

std::span<const std::byte> StockCalls::output() const {
  const auto& tensor = state_->method->get_output(0).toTensor();
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace tenon::live
