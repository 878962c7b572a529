// SPDX-License-Identifier: MIT
//
// Programs that ExecuTorch's exporter made, in each payload generation, on the stand-in for the
// driver. It runs no kernels, so the tests check the calls: which kernels get which memory, on
// which stream, and which objects remain.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app_stream.hpp"
#include "cuda_host.hpp"
#include "exported.hpp"
#include "support/model_code.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

struct Case {
  std::string program;
  int generation;
  bool as_graph;
};

std::string fixture(const std::string& name) { return TENON_TEST_FIXTURES "/" + name; }

std::string path_of(const std::string& name) { return fixture(name) + "/model.pte"; }

/// Places on the device with these bytes where a block begins, or a constant in a block of many.
std::set<std::uint64_t> blocks_with(std::span<const std::byte> bytes) {
  constexpr std::size_t alignment = 256;
  std::set<std::uint64_t> out;
  for (long i = 0; i < cuda().live().blocks; ++i) {
    const stand_in_cuda::Block block = cuda().block(i);
    std::vector<std::byte> found(block.nbytes);
    REQUIRE(cuda().peek(block.address, found.data(), found.size()));
    for (std::size_t at = 0; at + bytes.size() <= found.size(); at += alignment) {
      const auto part = std::span(found).subspan(at, bytes.size());
      if (std::ranges::equal(part, bytes)) out.insert(block.address + at);
    }
  }
  return out;
}

bool is_launch(long call) {
  const std::string_view name = cuda().call(call).name;
  return name == "cuLaunchKernel" || name == "cuLaunchKernelEx";
}

/// True when a kernel that was launched from call `first` on was given the address.
bool was_given(long first, std::uint64_t address) {
  for (long i = first; i < cuda().num_calls(); ++i) {
    if (cuda().was_given(i, address)) return true;
  }
  return false;
}

/// True when one of the blocks was.
bool was_given(long first, const std::set<std::uint64_t>& blocks) {
  return std::ranges::any_of(blocks, [&](std::uint64_t block) { return was_given(first, block); });
}

/// Nothing was enqueued on a stream while another one had work that no call had waited for, and
/// nothing was left undone. So with one delegate every run of it is in order.
void check_order() {
  std::map<const void*, std::string> pending;
  std::set<const void*> captured;
  for (long i = 0; i < cuda().num_calls(); ++i) {
    const stand_in_cuda::Call call = cuda().call(i);
    const std::string_view name = call.name;
    if (name == "cuStreamBeginCapture") captured.insert(call.stream);
    if (name == "cuStreamEndCapture") captured.erase(call.stream);
    if (name == "cuStreamSynchronize" || name == "cuStreamDestroy") pending.erase(call.stream);
    const bool is_work = name.starts_with("cuMemcpy") || name.starts_with("cuMemset") ||
                         name == "cuGraphLaunch" || is_launch(i);
    if (!is_work || captured.contains(call.stream)) continue;
    pending[call.stream] = name;
    INFO("call " << i << ", " << name);
    REQUIRE(pending.size() == 1);
  }
  CHECK(pending.empty());
}

Options options_of(const Case& each) {
  Options out;
  if (each.as_graph) {
    out.push_back(option("enable_cuda_graph_for_method", std::string("forward,encode,decode")));
  }
  return out;
}

std::vector<Case> all_cases(const std::vector<std::string>& programs) {
  std::vector<Case> out;
  for (const std::string& program : programs) {
    for (const int generation : {1, 2, 3}) {
      for (const bool as_graph : {false, true}) out.push_back({program, generation, as_graph});
    }
  }
  return out;
}

Result<std::unique_ptr<host::Method>> load(const CudaHost& host, const ExportedProgram& exported,
                                           const Case& each, const std::string& method,
                                           Options options) {
  auto bytes = std::make_shared<const AlignedBytes>(exported.packed(each.generation));
  TENON_TRY(auto program, host::Program::from_bytes(bytes->bytes(), bytes, each.program));
  return host.load(std::move(program), method, exported.data_files(each.generation),
                   std::move(options));
}

/// Runs often enough for a graph to be captured and replayed, and returns how often it was
/// launched.
long run_six_times(host::Method& method) {
  const long before = count_calls("cuGraphLaunch");
  for (int i = 0; i < 6; ++i) {
    const Status status = method.execute();
    INFO(status.text() << misuses());
    REQUIRE(status.ok());
  }
  return count_calls("cuGraphLaunch") - before;
}

}  // namespace

TEST_CASE("a program for CUDA is loaded, or refused with the CPU features that it lacks",
          "[cuda][processor]") {
  for (const std::string name : {"cuda_addmul", "cuda_dynamic", "cuda_embedding", "cuda_mlp",
                                 "cuda_stateful", "cuda_two_methods"}) {
    const CudaHost host;
    const ExportedProgram exported(fixture(name));
    const auto method =
        load(host, exported, {.program = name, .generation = 3}, exported.methods().front(), {});
    check_loaded_or_refused(path_of(name), method.ok(), method.text());
    if (!method.ok()) continue;
    const ZeroInputs inputs(**method);
    REQUIRE(inputs.status.ok());
    CHECK((*method)->execute().ok());
  }
}

TEST_CASE("exported programs of each generation run, replay, switch sessions and unload",
          "[cuda][D7][D19]") {
  const auto each = GENERATE(from_range(all_cases(
      {"cuda_addmul", "cuda_dynamic", "cuda_stateful", "cuda_embedding", "cuda_two_methods"})));
  INFO(each.program << ", generation " << each.generation << (each.as_graph ? ", as a graph" : ""));
  const ExportedProgram exported(fixture(each.program));
  for (const std::string& name : exported.methods()) {
    INFO(name);
    CudaHost host;
    const auto method = load(host, exported, each, name, options_of(each));
    INFO(method.text());
    REQUIRE(method.ok());
    const ZeroInputs inputs(**method);
    REQUIRE(inputs.status.ok());
    std::map<std::string, std::set<std::uint64_t>> on_device;
    for (const auto& weight : exported.weights(name)) {
      on_device[weight.name] = blocks_with(weight.bytes);
      INFO(weight.name);
      REQUIRE(on_device[weight.name].size() == 1);
    }
    const long first_run = cuda().num_calls();
    const long num_launches = each.as_graph ? 3 : 0;
    CHECK(run_six_times(**method) == num_launches);
    for (const auto& [weight, blocks] : on_device) {
      INFO(weight);
      CHECK(was_given(first_run, blocks));
    }
    const auto session = (*method)->create_session();
    INFO(session.text());
    REQUIRE(session.ok());
    const long in_session = cuda().num_calls();
    (*method)->use_session(session->get());
    CHECK(run_six_times(**method) == num_launches);
    for (const auto& [weight, blocks] : on_device) {
      INFO(weight);
      // A session has states of its own, and weights that are the delegate's.
      CHECK(was_given(in_session, blocks) == (weight != "cache"));
    }
    (*method)->use_session(nullptr);
    const long back = cuda().num_calls();
    CHECK(run_six_times(**method) == (each.as_graph ? 6 : 0));
    if (!each.as_graph) {
      for (const auto& [weight, blocks] : on_device) CHECK(was_given(back, blocks));
    }
    check_order();
  }
}

TEST_CASE("weights are copied to the device once, in every generation", "[cuda][D3][D4]") {
  const int generation = GENERATE(1, 2, 3);
  const std::string name = GENERATE("cuda_stateful", "cuda_embedding");
  const ExportedProgram exported(fixture(name));
  CudaHost host;
  const auto method = load(host, exported, {name, generation, false}, "forward", {});
  REQUIRE(method.ok());
  std::uint64_t expected = exported.planned_on_device(0);
  for (const auto& weight : exported.weights("forward")) expected += weight.bytes.size();
  std::uint64_t copied = 0;
  for (long i = 0; i < cuda().num_calls(); ++i) {
    const stand_in_cuda::Call call = cuda().call(i);
    if (std::string_view(call.name).starts_with("cuMemcpy")) copied += call.nbytes;
  }
  CHECK(copied == expected);
}

TEST_CASE("methods of an exported program share the weights that are the same", "[cuda][D8]") {
  const int generation = GENERATE(1, 2, 3);
  const bool shares = GENERATE(true, false);
  const ExportedProgram exported(fixture("cuda_two_methods"));
  CudaHost host;
  const Options options = {option("weight_sharing_across_methods", shares)};
  const Case each{"cuda_two_methods", generation, false};
  auto encode = load(host, exported, each, "encode", options);
  auto decode = load(host, exported, each, "decode", options);
  INFO(encode.text() << decode.text());
  REQUIRE((encode.ok() && decode.ok()));
  for (const auto& weight : exported.weights("encode")) {
    const bool is_common = weight.name == "shared";
    CHECK(blocks_with(weight.bytes).size() == (is_common && !shares ? 2u : 1u));
  }
  // The remaining delegate keeps what it uses.
  encode->reset();
  const auto blocks = blocks_with(exported.weights("decode").front().bytes);
  REQUIRE(blocks.size() == 1);
  const ZeroInputs inputs(**decode);
  REQUIRE(inputs.status.ok());
  const long first_run = cuda().num_calls();
  REQUIRE((*decode)->execute().ok());
  CHECK(was_given(first_run, blocks));
}

TEST_CASE("a library that takes weights by name alone is refused as an older generation",
          "[cuda][D3][D19]") {
  const int generation = GENERATE(1, 2);
  const ExportedProgram exported(fixture("cuda_mlp"));
  CudaHost host;
  const auto method = load(host, exported, {"cuda_mlp", generation, false}, "forward", {});
  CHECK_FALSE(method.ok());
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("the model of method 'forward'") &&
                 ContainsSubstring("constant blob size is only available for mmap'd weights"));
}

TEST_CASE("the stand-in refuses addresses that a device refuses when a kernel reads them",
          "[cuda]") {
  CudaHost host;
  const AppDriver app;
  const AlignedBytes file = read_file(TENON_TEST_FIXTURES "/cuda_addmul/model.pte");
  const std::string_view text = as_text(file.bytes());
  const std::size_t image = text.find("\x50\xed\x55\xba");
  constexpr std::string_view section = ".nv.info.";
  const std::size_t named = text.find(".nv.info.triton", image);
  REQUIRE((image != text.npos && named != text.npos));
  const char* const name = text.data() + named + section.size();
  void* module = nullptr;
  void* function = nullptr;
  const void* const code = file.bytes().data() + image;
  REQUIRE(app.in_context("cuModuleLoadData", &module, code) == 0);
  REQUIRE(app.in_context("cuModuleGetFunction", &function, module, name) == 0);
  const AppBlock block(host.backend(), 1);
  const auto launch = [&](std::size_t offset) {
    unsigned long long address = reinterpret_cast<std::uintptr_t>(block.bytes().data()) + offset;
    // As many as any of the kernels has: pointers first, then numbers.
    void* parameters[] = {&address, &address, &address, &address, &address, &address};
    return app.in_context("cuLaunchKernel", function, 1u, 1u, 1u, 32u, 1u, 1u, 0u,
                          static_cast<void*>(nullptr), static_cast<void**>(parameters),
                          static_cast<void**>(nullptr));
  };
  CHECK(launch(0) == 0);
  CHECK(misuses().empty());
  CHECK(launch(4) == 716);
  CHECK_THAT(misuses(), ContainsSubstring("not aligned to 16 bytes"));
  cuda().reset();
  REQUIRE(app.in_context("cuModuleUnload", module) == 0);
}
