// SPDX-License-Identifier: MIT
//
// The plugins of examples/backends/executorch, with the stock runtime in one process.
#include <dirent.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "stock.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/abi/extensions/kernels.h"
#include "tenon/executorch/register_plugins.hpp"
#include "tenon/host.hpp"
#include "tenon/host/schema/program_generated.h"
#include "unit/host/loader/plugin/loaded_backend.hpp"

using namespace tenon;
using namespace tenon::test;

namespace plugins_test {

/// A program in our host, with plugins.
class Ours {
 public:
  Ours(const std::string& path, const std::vector<std::string>& plugins,
       host::MethodOptions options = {}) {
    for (const std::string& plugin : plugins) {
      const Status added = registry_.register_backend(plugin);
      INFO(added.text());
      REQUIRE(added.ok());
    }
    auto program = host::Program::open(path);
    INFO(program.text());
    REQUIRE(program.ok());
    options.registry = &registry_;
    auto method = host::Method::load(*std::move(program), "forward", std::move(options));
    INFO(method.text());
    REQUIRE(method.ok());
    method_ = *std::move(method);
  }

  std::vector<std::byte> run(const std::vector<Input>& inputs) {
    auto result = try_run(inputs);
    INFO(result.text());
    REQUIRE(result.ok());
    return *std::move(result);
  }

  /// `run` without Catch2, which is for one thread.
  Result<std::vector<std::byte>> try_run(const std::vector<Input>& inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      TENON_RETURN_IF_ERROR(method_->set_input(
          i, {ScalarType::Float, inputs[i].sizes, std::as_bytes(std::span(inputs[i].values))}));
    }
    TENON_RETURN_IF_ERROR(method_->execute());
    const TensorView tensor(*method_->output(0).as.tensor);
    return std::vector<std::byte>(tensor.data(), tensor.data() + tensor.nbytes());
  }

  [[nodiscard]] host::Method& method() noexcept { return *method_; }

 private:
  host::BackendRegistry registry_;
  std::unique_ptr<host::Method> method_;
};

const std::string xnnpack = TENON_TEST_BRIDGES "/xnnpack.so";
const std::string executor = TENON_TEST_BRIDGES "/executor_backend.so";
const std::string kernels = TENON_TEST_BRIDGES "/executorch_kernels.so";
const std::string demo = TENON_TEST_DEMO_BACKEND;

/// Whether both runtimes give the same bytes for each set of inputs, one after the other.
void compare(const std::string& name, const std::vector<std::string>& plugins,
             const std::vector<std::vector<Input>>& runs) {
  Stock stock(fixture(name));
  Ours ours(fixture(name), plugins);
  for (const auto& inputs : runs) {
    const std::vector<std::byte> expected = stock.run(inputs);
    CHECK(ours.run(inputs) == expected);
  }
}

std::size_t num_descriptors() {
  std::size_t count = 0;
  DIR* const directory = ::opendir("/proc/self/fd");
  REQUIRE(directory != nullptr);
  while (::readdir(directory)) ++count;
  ::closedir(directory);
  return count;
}

}  // namespace plugins_test
using namespace plugins_test;

TEST_CASE("XNNPACK computes the same in our host as in the stock runtime", "[executorch]") {
  compare("mlp_xnnpack", {xnnpack},
          {{input_of({4, 16})}, {input_of({4, 16}, 2)}, {input_of({4, 16}, 3)}});
}

TEST_CASE("ExecuTorch's kernels compute the same in our host as in the stock runtime",
          "[executorch]") {
  compare("mlp_portable", {kernels}, {{input_of({4, 16})}, {input_of({4, 16}, 2)}});
}

TEST_CASE("a program of dynamic shapes gives the same for each of its sizes", "[executorch]") {
  std::vector<std::vector<Input>> runs;
  for (const std::int64_t rows : {5, 1, 3, 8, 2}) {
    runs.push_back({input_of({rows, 3}), input_of({rows, 3}, 7)});
  }
  compare("add_dynamic_portable", {kernels}, runs);
}

TEST_CASE("a program that keeps state gives the same at each of its runs", "[executorch]") {
  compare("mutable_buffer_portable", {kernels},
          {{input_of({4})}, {input_of({4})}, {input_of({4}, 9)}, {input_of({4})}});
}

TEST_CASE("a backend for nested programs computes the same as these programs alone",
          "[executorch]") {
  const std::vector<Input> inputs{input_of({2, 2}), input_of({2, 2}, 5)};
  Ours outer(fixture("executor_backend_add_seg"), {executor});
  const std::vector<std::byte> result = outer.run(inputs);

  // The nested program is the blob: in the stock runtime, and in ours with ExecuTorch's kernels.
  const auto blob = [] {
    const auto program = host::Program::open(fixture("executor_backend_add_seg"));
    REQUIRE(program.ok());
    const auto plan = (*program)->plan("forward");
    REQUIRE(plan.ok());
    const auto bytes = (*program)->view().delegate_data(*(*plan)->delegates()->Get(0));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  }();
  const TemporaryDirectory directory;
  directory.write("nested.pte", std::string(as_text(blob)));
  Stock stock(directory.file("nested.pte"));
  CHECK(stock.run(inputs) == result);
  Ours nested(directory.file("nested.pte"), {kernels});
  CHECK(nested.run(inputs) == result);
}

TEST_CASE("delegates and ExecuTorch's kernels run in one program", "[executorch]") {
  // The stock runtime has that backend through the other bridge.
  static const auto registered = tenon::bridge::register_plugins(demo);
  INFO(registered.text());
  REQUIRE(registered.ok());
  compare("demo_multi_seg", {kernels, demo},
          {{input_of({2, 2}), input_of({2, 2}, 2), input_of({2, 2}, 3)},
           {input_of({2, 2}, 4), input_of({2, 2}, 5), input_of({2, 2}, 6)}});
}

TEST_CASE("XNNPACK's options are declared and read back", "[executorch]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(xnnpack).ok());
  const auto backend = registry.lookup_backend("XnnpackBackend");
  REQUIRE(backend.ok());
  for (const host::OptionDeclaration& option : (*backend)->options()) {
    // What is declared as the value before one is set is what XNNPACK says.
    INFO(option.key);
    const auto told = (*backend)->get_option(option.key);
    INFO(told.text());
    REQUIRE(told.ok());
    CHECK(*told == option.initial);
  }
  const Status refused = (*backend)->set_option("workspace_sharing_mode", std::int64_t{9});
  CHECK(refused.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("between 0 and 2"));

  host::MethodOptions options;
  options.backend_options = {{"XnnpackBackend", "workspace_sharing_mode", std::int64_t{1}}};
  Ours ours(fixture("mlp_xnnpack"), {xnnpack}, std::move(options));
  Stock stock(fixture("mlp_xnnpack"));
  const std::vector<Input> inputs{input_of({4, 16})};
  CHECK(ours.run(inputs) == stock.run(inputs));
}

TEST_CASE("a blob that XNNPACK does not take is an error with XNNPACK's reason", "[executorch]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(xnnpack).ok());
  const auto backend = registry.lookup_backend("XnnpackBackend");
  REQUIRE(backend.ok());
  const std::string blob = "no blob of XNNPACK's, but long enough for a header";
  const LoadedBlob loaded(*backend, blob);
  const Status& refused = loaded.init();
  REQUIRE_FALSE(refused.ok());
  INFO(refused.text());
  CHECK_THAT(std::string(refused.text()), ContainsSubstring("XNNCompiler::compileModel failed"));
}

TEST_CASE("a bridge for another minor version is refused with a message", "[executorch]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(TENON_TEST_OTHER_MINOR).ok());
  const auto backend = registry.lookup_backend("Chatty");
  REQUIRE(backend.error() == Error::NotSupported);
  CHECK_THAT(std::string(backend.text()), ContainsSubstring("compiled for ExecuTorch 1.99"));
  CHECK_THAT(std::string(backend.text()), ContainsSubstring("libexecutorch.so is ExecuTorch 1."));
}

TEST_CASE("the operators of ExecuTorch's kernels are listed, each once", "[executorch]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(kernels).ok());
  const auto backend = registry.lookup_backend("ExecutorchKernels");
  INFO(backend.text());
  REQUIRE(backend.ok());
  const auto table = (*backend)->extension<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
  REQUIRE(table);
  std::vector<std::string> names;
  const auto sink = [](void* to, const char* op) {
    static_cast<std::vector<std::string>*>(to)->emplace_back(op);
  };
  REQUIRE(table->list_operators((*backend)->raw(), sink, &names) == TENON_STATUS_OK);
  for (const char* op :
       {"aten::add.out", "aten::copy_", "executorch_prim::et_view.default",
        "quantized_decomposed::quantize_per_tensor.out", "dim_order_ops::_to_dim_order_copy.out"}) {
    INFO(op);
    CHECK(std::ranges::count(names, op) == 1);
  }
  CHECK(names.size() > 150);
  CHECK(std::ranges::is_sorted(names));
}

TEST_CASE("loading and destroying a program of XNNPACK's a thousand times takes nothing more",
          "[executorch]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(xnnpack).ok());
  // Held: the dynamic loader keeps a name for each further time that a library is opened.
  const auto backend = registry.lookup_backend("XnnpackBackend");
  REQUIRE(backend.ok());
  const auto program = host::Program::open(fixture("mlp_xnnpack"));
  REQUIRE(program.ok());
  const Input input = input_of({4, 16});
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      host::MethodOptions options;
      options.registry = &registry;
      const auto method = host::Method::load(*program, "forward", std::move(options));
      REQUIRE(method.ok());
      REQUIRE((*method)
                  ->set_input(
                      0, {ScalarType::Float, input.sizes, std::as_bytes(std::span(input.values))})
                  .ok());
      REQUIRE((*method)->execute().ok());
    }
  };
  rounds(100);
  const std::size_t descriptors = num_descriptors();
  const auto held = ::mallinfo2();
  rounds(1000);
  CHECK(num_descriptors() == descriptors);
  // The smallest block has 32 bytes: one lost at every second round would show. What the allocator
  // keeps at hand counts as taken.
  CHECK(::mallinfo2().uordblks < held.uordblks + 16'000);
}

TEST_CASE("two threads run programs of XNNPACK's and of ExecuTorch's kernels",
          "[executorch][threads]") {
  const std::vector<Input> inputs{input_of({4, 16})};
  Stock stock(fixture("mlp_xnnpack"));
  const std::vector<std::byte> expected = stock.run(inputs);
  Ours compiled(fixture("mlp_xnnpack"), {xnnpack});
  Ours interpreted(fixture("mlp_portable"), {kernels});
  const std::vector<std::byte> interpreted_result = interpreted.run(inputs);
  Ours second(fixture("mlp_xnnpack"), {xnnpack});
  std::atomic<int> wrong = 0;
  const auto run_often = [&](Ours& ours, const std::vector<std::byte>& right) {
    for (int i = 0; i < 200; ++i) {
      const auto result = ours.try_run(inputs);
      if (!result.ok() || *result != right) ++wrong;
    }
  };
  std::thread other([&] { run_often(interpreted, interpreted_result); });
  std::thread third([&] { run_often(second, expected); });
  run_often(compiled, expected);
  other.join();
  third.join();
  CHECK(wrong == 0);
}
