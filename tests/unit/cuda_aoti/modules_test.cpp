// SPDX-License-Identifier: MIT
//
// Modules of a model's kernels: what they need of a device, and how often they are loaded.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cuda_fixture.hpp"
#include "driver/shared_memory.hpp"
#include "shims/shim_list.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"

using namespace tenon;
using namespace tenon::test;

namespace modules_test {
namespace {

std::string model_of(const std::string& name) {
  return TENON_TEST_FIXTURES "/" + name + "/model.pte";
}

/// The file for a GPU, or the library for the host, that begins first in a program.
std::vector<std::byte> first_file(const AlignedBytes& program, std::uint16_t machine) {
  const Bytes bytes = program.bytes();
  for (std::size_t at = 0; at + 64 < bytes.size(); at += 4) {
    if (read_le<std::uint32_t>(bytes, at) != 0x464c457fu) continue;
    if (read_le<std::uint16_t>(bytes, at + 18) != machine) continue;
    return {bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end()};
  }
  return {};
}

constexpr std::uint16_t for_gpu = 190;
constexpr std::uint16_t for_x86 = 62;
constexpr std::string_view product = "triton_tem_fused_addmm_embedding_t_view_0";

}  // namespace

TEST_CASE("the shared memory of kernels is read from their files and the library's code",
          "[cuda]") {
  const auto needs_of = [](const char* name) {
    return cuda_aoti::shared_memory_needs(first_file(read_file(model_of(name)), for_x86));
  };
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (const auto& need : needs_of("cuda_embedding")) found.emplace_back(need.kernel, need.nbytes);
  // 1024 bytes of the kernel's own, and 2048 of a launch.
  CHECK(found == std::vector<std::pair<std::string, std::uint64_t>>{
                     {std::string(product), 3072},
                     {"triton_per_fused__softmax__unsafe_view_prepare_softmax_online_1", 0}});
  CHECK(needs_of("cuda_mlp").size() == 4);
  const auto variants = needs_of("cuda_variants");
  REQUIRE(variants.size() == 1);
  CHECK(variants.front().kernel == "triton_poi_fused_add_mul_0");
}

TEST_CASE("bytes that are no library need no shared memory", "[cuda]") {
  CHECK(cuda_aoti::shared_memory_needs({}).empty());
  auto library = first_file(read_file(model_of("cuda_embedding")), for_x86);
  for (const std::size_t size : {1u, 40u, 64u, 1000u, 0x20000u}) {
    CHECK(cuda_aoti::shared_memory_needs(Bytes(library).first(size)).empty());
  }
  // Heads that lead outside.
  for (std::size_t at = 32; at < 64; ++at) library[at] = std::byte{0xff};
  CHECK(cuda_aoti::shared_memory_needs(library).empty());
}

TEST_CASE("the same segment many times costs as much as once", "[cuda]") {
  constexpr std::size_t file_header_size = 64, segment_size = 56, count = 65535;
  std::vector<std::byte> library(file_header_size + count * segment_size);
  const auto put = [&]<class Number>(std::size_t at, Number number) {
    std::memcpy(library.data() + at, &number, sizeof number);
  };
  put(32, std::uint64_t{file_header_size});
  put(54, std::uint16_t{segment_size});
  put(56, std::uint16_t{count});
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = file_header_size + i * segment_size;
    put(at, std::uint32_t{1});      // PT_LOAD
    put(at + 4, std::uint32_t{5});  // To be read and executed.
    put(at + 32, std::uint64_t{library.size()});
  }
  // Else this takes minutes.
  CHECK(cuda_aoti::shared_memory_needs(library).empty());
}

TEST_CASE("a kernel that needs more shared memory than a block can have is refused by its name",
          "[cuda][TN-BLB-2]") {
  const int there = GENERATE(3071, 3072);
  CudaHost host({.num_devices = 1, .shared_bytes = there});
  auto program = host::Program::open(model_of("cuda_embedding"));
  REQUIRE(program.ok());
  const auto data = host::MergedDataMap::create(*program, {});
  REQUIRE(data.ok());
  const auto check =
      host::check_blob(*host.backend(), **program, "forward",
                       *(*(*program)->plan("forward"))->delegates()->Get(0), (*data)->abi());
  REQUIRE((check.ok() && check->has_value()));
  const auto loaded = host.load_fixture("cuda_embedding");
  if (there == 3072) {
    CHECK((*check)->verdict == TENON_BLOB_OPTIMAL);
    CHECK(loaded.ok());
    return;
  }
  CHECK((*check)->verdict == TENON_BLOB_INCOMPATIBLE);
  CHECK(loaded.error() == Error::DelegateInvalidCompatibility);
  for (const std::string& text : {std::string(loaded.text()), (*check)->reason}) {
    CHECK_THAT(text,
               ContainsSubstring(concat("the model's kernel '", product,
                                        "' needs 3072 bytes of shared memory for a block; CUDA "
                                        "device 0 has 3071")));
  }
}

TEST_CASE(
    "a kernel that asks for more shared memory in a run than there is has its name in the "
    "error",
    "[cuda]") {
  CudaFixture fixture({.num_devices = 1, .capability = 90});
  const auto image = first_file(read_file(model_of("cuda_embedding")), for_gpu);
  const auto call = [](const char* name, auto... arguments) {
    auto* const found = const_cast<void*>(cuda_aoti::shim_table().find(name));
    REQUIRE(found != nullptr);
    return reinterpret_cast<int (*)(decltype(arguments)...)>(found)(arguments...);
  };
  cuda_aoti::CUmodule module = nullptr;
  cuda_aoti::CUfunction function = nullptr;
  REQUIRE(call("cuModuleLoadData", &module, static_cast<const void*>(image.data())) == 0);
  REQUIRE(call("cuModuleGetFunction", &function, module, product.data()) == 0);
  constexpr int kib_226 = 226 << 10;
  CHECK(call("cuFuncSetAttribute", function, 8, kib_226) == 0);
  CHECK(call("cuFuncSetAttribute", function, 8, kib_226 + 1) == 1);  // 1024 are its own.
  CHECK(fixture.pool->failure_code() == Error::DelegateInvalidCompatibility);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring(std::string(product)) &&
                                               ContainsSubstring("231425 bytes") &&
                                               ContainsSubstring("has 232448"));
  // An image outside of a library is not shared.
  cuda_aoti::CUmodule again = nullptr;
  REQUIRE(call("cuModuleLoadData", &again, static_cast<const void*>(image.data())) == 0);
  CHECK(again != module);
  CHECK(call("cuModuleUnload", again) == 0);
  CHECK(call("cuModuleUnload", module) == 0);
  CHECK(cuda().live().modules == 0);
}

TEST_CASE("ten sessions of a model load its kernels once", "[cuda][TN-SES-1]") {
  const bool as_graph = GENERATE(false, true);
  CudaHost host;
  Options options;
  if (as_graph) options.push_back(option("enable_cuda_graph_for_method", std::string("forward")));
  constexpr long num_kernels = 4;
  auto method = host.load_fixture("cuda_mlp", options);
  INFO(method.text());
  REQUIRE(method.ok());
  const ZeroInputs inputs(**method);
  REQUIRE(inputs.status.ok());
  std::vector<std::unique_ptr<host::Session>> sessions;
  for (int i = 0; i < 10; ++i) {
    auto session = (*method)->create_session();
    INFO(session.text());
    REQUIRE(session.ok());
    (*method)->use_session(session->get());
    for (int k = 0; k < 2; ++k) REQUIRE((*method)->execute().ok());
    (*method)->use_session(nullptr);
    sessions.push_back(*std::move(session));
  }
  REQUIRE((*method)->execute().ok());
  CHECK(count_calls("cuModuleLoadData") == num_kernels);
  CHECK(cuda().live().modules == num_kernels);
  // The rest go on without those that loaded them.
  sessions.erase(sessions.begin(), sessions.begin() + 5);
  CHECK(cuda().live().modules == num_kernels);
  (*method)->use_session(sessions.front().get());
  REQUIRE((*method)->execute().ok());
  (*method)->use_session(nullptr);
  CHECK(count_calls("cuModuleUnload") == 0);
  // Another load of the program has modules of its own.
  REQUIRE(host.load_fixture("cuda_mlp").ok());
  CHECK(cuda().live().modules == num_kernels);
  sessions.clear();
  method->reset();
  CHECK(cuda().live().modules == 0);
}

}  // namespace modules_test
