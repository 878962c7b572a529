// SPDX-License-Identifier: MIT
//
// CudaBackend as a plugin on the stand-in for the CUDA driver: its calls to the device, and that it
// frees everything. Numbers come from models that copy; kernels do not run here.
#include <string>
#include <vector>

#include "cuda_host.hpp"
#include "support/rounds.hpp"
#include "tenon/abi/extensions/device_memory.h"

using namespace tenon;
using namespace tenon::test;

namespace {

std::string refusal(const CudaParts& parts, Options options = {}) {
  CudaHost host;
  const auto method = host.load(parts, std::move(options));
  CHECK_FALSE(method.ok());
  return std::string(method.text());
}

const tenon_device_memory_v1* device_memory_of(CudaHost& host) {
  const auto* table = static_cast<const tenon_device_memory_v1*>(
      host.backend()->api().get_extension(host.backend()->raw(), TENON_EXTENSION_DEVICE_MEMORY));
  REQUIRE(table);
  return table;
}

}  // namespace

TEST_CASE("programs of each payload generation run, with their weights and their state",
          "[cuda][D10][D19]") {
  const int generation = GENERATE(1, 2, 3);
  CudaHost host;
  const auto method = host.load_ok({.generation = generation});
  for (int i = 0; i < 3; ++i) {
    const auto out = run(*method, static_cast<float>(i));
    INFO(out.text() << misuses());
    REQUIRE(out.ok());
    CHECK(out->weight == 3.0f);
    CHECK(out->state == (i == 0 ? 10.0f : static_cast<float>(i - 1)));
  }
  // Weights are on the device once, despite the model's own copies.
  CHECK(count_calls("cuMemcpyAsync") == 3 * 3);
}

TEST_CASE("the second run of a static shape only enqueues work", "[cuda]") {
  CudaHost host;
  const auto method = host.load_ok({});
  REQUIRE(run(*method, 1).ok());
  const long before = count_calls("cuMemAlloc");
  for (int i = 0; i < 10; ++i) REQUIRE(run(*method, 1).ok());
  CHECK(count_calls("cuMemAlloc") == before);
  CHECK(count_calls("cuMemFree") == 0);
}

TEST_CASE("programs that ExecuTorch's exporter made load, run and unload", "[cuda][D7]") {
  const std::string name = GENERATE("cuda_addmul", "cuda_mlp");
  CudaHost host;
  const auto method = host.load_fixture_ok(name);
  const long num_launches = count_calls("cuLaunchKernel") + count_calls("cuLaunchKernelEx");
  const ZeroInputs inputs(*method);
  REQUIRE(inputs.status.ok());
  for (int i = 0; i < 3; ++i) {
    const Status status = method->execute();
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
  }
  const long launched =
      count_calls("cuLaunchKernel") + count_calls("cuLaunchKernelEx") - num_launches;
  CHECK(launched >= 3);
  CHECK(launched % 3 == 0);
  CHECK(count_calls("cuModuleLoadData") >= 1);
}

TEST_CASE("a thousand loads leave nothing on the device", "[cuda][D7]") {
  CudaHost host;
  for (int i = 0; i < rounds(1000); ++i) {
    const auto method = host.load_ok({.generation = i % 3 + 1});
    REQUIRE(run(*method, 1).ok());
  }
  CHECK(cuda().live().blocks == 0);
}

TEST_CASE("a model works on the device that its program names", "[cuda][D9]") {
  CudaHost host;
  const auto method = host.load_ok({.target_device = "CUDA:1"});
  const auto out = run(*method, 1);  // The stand-in refuses streams of the other device.
  INFO(out.text() << misuses());
  REQUIRE(out.ok());
  CHECK(out->state == 10.0f);
}

TEST_CASE("a missing device is refused", "[cuda][D9]") {
  CHECK_THAT(refusal({.target_device = "cuda:2"}),
             ContainsSubstring("CUDA device 2: this machine has 2 CUDA devices"));
  for (const std::string bad : {"cpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", ""}) {
    CHECK_THAT(refusal({.target_device = bad}), ContainsSubstring("expected 'cuda' or 'cuda:N'"));
  }
}

TEST_CASE("options of the wrong type or unknown are refused", "[cuda][D11]") {
  for (const char* key : {"use_shared_cuda_stream", "weight_sharing_across_methods"}) {
    CHECK_THAT(refusal({}, {option(key, std::string("yes"))}),
               ContainsSubstring("expected bool, found string"));
  }
  for (const char* key : {"enable_cuda_graph_for_method", "skip_copy_output_to_cpu_for_method"}) {
    CHECK_THAT(refusal({}, {option(key, true)}), ContainsSubstring("expected string, found bool"));
  }
  CHECK_THAT(refusal({}, {option("use_cuda_graph", true)}),
             ContainsSubstring("'use_cuda_graph' is unknown") &&
                 ContainsSubstring("enable_cuda_graph_for_method"));
}

TEST_CASE("weights that are missing or of another size are refused", "[cuda][D3][D4]") {
  for (const int generation : {1, 2}) {
    CHECK_THAT(refusal({.generation = generation, .has_weights = false}),
               ContainsSubstring("128 bytes of weights"));
    CHECK_THAT(refusal({.generation = generation, .weights_nbytes = 60}),
               ContainsSubstring("expected 128 bytes, found 120"));
  }
  CHECK_THAT(
      refusal({.has_weights = false}),
      ContainsSubstring("weight 'model.w'") && ContainsSubstring("cuda_fqn_weight:cuda:model.w"));
  CHECK_THAT(refusal({.weights_nbytes = 60}),
             ContainsSubstring("weight 'model.w': expected 64 bytes, found 60"));
}

TEST_CASE("an unknown payload is refused with a list of the known ones", "[cuda][D19]") {
  CHECK_THAT(refusal({.blob = "ETCUDAFQN7...."}), ContainsSubstring("'ETCUDAFQN7'"));
  CHECK_THAT(refusal({.blob = "one line"}),
             ContainsSubstring("understood are no bytes") && ContainsSubstring("ETCUDAFQN3"));
}

TEST_CASE("delegates share weights of the same bytes with the option", "[cuda][D8]") {
  const bool shares = GENERATE(true, false);
  CudaHost host;
  const Options options = {option("weight_sharing_across_methods", shares)};
  const CudaParts parts = {.methods = {"forward", "decode"}};
  auto first = host.load(parts, options);
  const auto one = cuda().live().nbytes;
  auto second = host.load(parts, options, "decode");
  REQUIRE((first.ok() && second.ok()));
  CHECK(cuda().live().nbytes - one == (shares ? 64u : 128u));  // The states are apart.
  auto other = host.load_ok({.weight = 4}, options);
  first->reset();
  CHECK(run(**second, 1)->weight == 3.0f);
  CHECK(run(*other, 1)->weight == 4.0f);
}

TEST_CASE("a delegate writes to the log how much memory it had", "[cuda]") {
  CudaHost host;
  auto method = host.load({.model = "scratch"});
  REQUIRE(method.ok());
  REQUIRE(run(**method, 1).ok());
  CHECK(host.log().find("bytes of working memory") == std::string::npos);
  method->reset();
  // 16 MiB for 16 numbers, in blocks that are up to an eighth larger, and three small tensors.
  CHECK_THAT(host.log(), ContainsSubstring("method 'forward' had at most 167") &&
                             ContainsSubstring(" bytes of working memory and 128 bytes of weights "
                                               "on CUDA device 0"));
}

TEST_CASE("sessions keep states of their own over one set of weights", "[cuda][TN-SES-1]") {
  const int generation = GENERATE(1, 2, 3);
  const bool as_graph = GENERATE(false, true);
  CudaHost host;
  Options options;
  if (as_graph) options.push_back(option("enable_cuda_graph_for_method", std::string("forward")));
  const auto method = host.load_ok({.generation = generation}, options);
  const auto before = cuda().live().nbytes;
  auto session = method->create_session();
  INFO(session.text());
  REQUIRE(session.ok());
  CHECK(cuda().live().nbytes - before == 64u);
  for (int i = 0; i < 8; ++i) {
    const auto x = static_cast<float>(i);
    method->use_session(session->get());
    const auto in_session = run(*method, x);
    method->use_session(nullptr);
    const auto own = run(*method, x + 100);
    REQUIRE((in_session.ok() && own.ok()));
    CHECK(in_session->state == (i == 0 ? 10.0f : x - 1));
    CHECK(own->state == (i == 0 ? 10.0f : x + 99));
    CHECK(in_session->weight == 3.0f);
  }
}

TEST_CASE("sessions upload their states and no weights", "[cuda][TN-SES-1]") {
  constexpr std::uint64_t of_state = 64;
  const int generation = GENERATE(1, 2, 3);
  CudaHost host;
  const auto method = host.load_ok({.generation = generation});
  const auto uploaded = [] {
    std::uint64_t out = 0;
    for (long i = 0; i < cuda().num_calls(); ++i) {
      const stand_in_cuda::Call call = cuda().call(i);
      if (std::string_view(call.name) == "cuMemcpyHtoDAsync") out += call.nbytes;
    }
    return out;
  };
  const std::uint64_t first = uploaded();
  const long modules = count_calls("cuModuleLoadData");
  CHECK(first >= 2 * of_state);  // The weight is as large.
  std::vector<std::unique_ptr<host::Session>> sessions;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    auto session = method->create_session();
    INFO(session.text());
    REQUIRE(session.ok());
    sessions.push_back(*std::move(session));
    CHECK(uploaded() - first == i * of_state);
    CHECK(count_calls("cuModuleLoadData") == modules);
  }
}

TEST_CASE("two delegates on one shared stream are both right", "[cuda]") {
  CudaHost host;
  const Options options = {option("use_shared_cuda_stream", true)};
  auto first = host.load({.weight = 1}, options);
  auto second = host.load({.weight = 2}, options);
  REQUIRE((first.ok() && second.ok()));
  CHECK(cuda().live().streams == 1);
  CHECK(run(**first, 1)->weight == 1.0f);
  CHECK(run(**second, 1)->weight == 2.0f);
  first->reset();
  CHECK(run(**second, 1)->weight == 2.0f);
  CHECK(cuda().live().streams == 1);
}

TEST_CASE("a function that only the CUDA runtime has comes from there", "[cuda]") {
  CudaHost host;
  const auto method = host.load_ok({.model = "asks_the_runtime"});
  CHECK(run(*method, 1).ok());
}

TEST_CASE("memory and devices are reported", "[cuda]") {
  CudaHost host;
  const auto method = host.load_ok({});
  const auto devices = host::list_devices(*host.backend());
  INFO(devices.text());
  REQUIRE(devices.ok());
  REQUIRE(devices->size() == 2);
  CHECK((*devices)[1].name == "stand-in for tests");
  CHECK((*devices)[1].device.device_id == 1);
}

TEST_CASE("memory on a device is given, copied and taken back",
          "[cuda][TN-DEV-1][TN-DEV-5][TN-DEV-8]") {
  CudaHost host;
  const auto* table = device_memory_of(host);
  tenon_backend* const raw = host.backend()->raw();
  const tenon_dl_device second = {TENON_DL_CUDA, 1};
  void* block = nullptr;
  REQUIRE(table->allocate(raw, second, 100, 256, &block) == TENON_STATUS_OK);
  const auto numbers = filled(7, 100);
  std::vector<std::byte> back(100);
  REQUIRE(table->copy_to_device(raw, second, block, numbers.data(), 100) == TENON_STATUS_OK);
  REQUIRE(table->copy_to_host(raw, second, back.data(), block, 100) == TENON_STATUS_OK);
  CHECK(back == numbers);
  // Beyond the block.
  CHECK(table->copy_to_host(raw, second, back.data(), static_cast<std::byte*>(block) + 1, 100) !=
        TENON_STATUS_OK);
  cuda().reset();
  void* other = nullptr;
  for (const tenon_dl_device wrong :
       {tenon_dl_device{TENON_DL_CUDA, 2}, tenon_dl_device{TENON_DL_CUDA, -1},
        tenon_dl_device{TENON_DL_CPU, 0}}) {
    CHECK(table->allocate(raw, wrong, 100, 64, &other) == TENON_STATUS_INVALID_ARGUMENT);
  }
  table->free(raw, second, block);
  CHECK(cuda().live().blocks == 0);
}

TEST_CASE("memory on a device has the alignment that was asked for, also beyond the driver's",
          "[cuda][TN-DEV-5]") {
  CudaHost host;
  const auto* table = device_memory_of(host);
  tenon_backend* const raw = host.backend()->raw();
  const tenon_dl_device first = {TENON_DL_CUDA, 0};
  std::vector<void*> blocks;
  for (const std::uint64_t alignment : {1U, 256U, 512U, 4096U, 1U << 20}) {
    for (const std::size_t size : {1U, 5000U}) {
      INFO(size << " bytes aligned to " << alignment);
      void*& block = blocks.emplace_back();
      REQUIRE(table->allocate(raw, first, size, alignment, &block) == TENON_STATUS_OK);
      CHECK(reinterpret_cast<std::uintptr_t>(block) % alignment == 0);
      const auto numbers = filled(7, size);
      std::vector<std::byte> back(size);
      CHECK(table->copy_to_device(raw, first, block, numbers.data(), size) == TENON_STATUS_OK);
      CHECK(table->copy_to_host(raw, first, back.data(), block, size) == TENON_STATUS_OK);
      CHECK(back == numbers);
    }
  }
  void* other = nullptr;
  CHECK(table->allocate(raw, first, SIZE_MAX - 1000, 4096, &other) ==
        TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  for (void* block : blocks) table->free(raw, first, block);
  CHECK(cuda().live().blocks == 0);
}
