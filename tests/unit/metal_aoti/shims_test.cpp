// SPDX-License-Identifier: MIT
#include <functional>

#include "device.hpp"
#include "settings.hpp"
#include "stand_in_device.hpp"

using namespace metal_test;
using namespace tenon::metal_aoti;
using tenon::metal_stand_in::control;

namespace {

constexpr const char* source = R"(
#include <metal_stdlib>
using namespace metal;
kernel void add(device float* out, constant float* in, constant long& many,
                uint2 at [[thread_position_in_grid]]) {
  out[at.y * 2 + at.x] = in[at.y * 2 + at.x] + many;
}
[[max_total_threads_per_threadgroup(64)]]
kernel void total(device float* out [[buffer(0)]], constant float* in [[buffer(1)]],
                  uint i [[thread_position_in_threadgroup]],
                  uint group [[threadgroup_position_in_grid]]) {
  threadgroup float parts[2];
  const float part = simd_sum(in[group * 64 + i]);
  if (i % 32 == 0) parts[i / 32] = part;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i == 0) out[group] = parts[0] + parts[1];
}
kernel void uneven(device float* out, uint i [[thread_position_in_grid]]) {
  if (i > 2) threadgroup_barrier(mem_flags::mem_threadgroup);
  out[i] = 1;
}
)";

/// A library of the source above and its kernels.
class Kernels {
 public:
  Kernels() { REQUIRE(aoti_torch_mps_create_shader_library(source, &library_) == 0); }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels() { aoti_torch_mps_delete_shader_library(library_); }
  MetalFunction* operator[](const char* name) {
    MetalFunction* out = nullptr;
    REQUIRE(aoti_torch_mps_get_kernel_function(library_, name, &out) == 0);
    return out;
  }
  ShaderLibrary* get() const { return library_; }

 private:
  ShaderLibrary* library_ = nullptr;
};

}  // namespace

TEST_CASE("a kernel runs as generated code calls it", "[metal]") {
  Bench bench;
  Kernels kernels;
  MetalFunction* const add = kernels["add"];
  const Handle in = bench.random({3, 2});
  const Handle out = bench.empty({3, 2});
  std::function<void(MetalFunction*)> block = [&](MetalFunction* function) {
    aoti_torch_mps_start_encoding(function);
    aoti_torch_mps_set_arg_tensor(function, 0, out.get());
    aoti_torch_mps_set_arg_tensor(function, 1, in.get());
    aoti_torch_mps_set_arg_int(function, 2, 10);
    const std::uint64_t threads[] = {2, 3};
    aoti_torch_mps_dispatch_array(function, threads, 2);
  };
  CHECK(aoti_torch_mps_run_command_block(add, &aoti_torch_mps_shared_callback, &block) == 0);
  REQUIRE(bench.wait().empty());
  for (std::int64_t i = 0; i < 6; ++i) CHECK(std::abs(out.at(i) - in.at(i) - 10) < 1e-5);
}

TEST_CASE("threads of a group share memory and add up over simdgroups", "[metal]") {
  Bench bench;
  Kernels kernels;
  MetalFunction* const total = kernels["total"];
  CHECK(total->max_threads_per_group() == 64);
  Handle in = bench.empty({128});
  for (std::int64_t i = 0; i < 128; ++i) in.set(i, static_cast<double>(i));
  const Handle out = bench.empty({2});
  aoti_torch_mps_start_encoding(total);
  aoti_torch_mps_set_arg_tensor(total, 0, out.get());
  aoti_torch_mps_set_arg_tensor(total, 1, in.get());
  aoti_torch_mps_dispatch_single_with_group_size(total, 128, 64);
  REQUIRE(bench.wait().empty());
  CHECK(out.at(0) == 2016);
  CHECK(out.at(1) == 6112);
}

TEST_CASE("wrong calls fail at the end of the run, with their name", "[metal]") {
  Bench bench;
  Kernels kernels;
  MetalFunction* const add = kernels["add"];
  MetalFunction* const total = kernels["total"];
  const Handle tensor = bench.random({4});
  const std::uint64_t none[] = {0};
  struct Wrong {
    std::function<void()> call;
    const char* text;
  };
  for (const Wrong& wrong : {
           Wrong{[&] { aoti_torch_mps_start_encoding(nullptr); }, "the kernel is null"},
           Wrong{[&] { aoti_torch_mps_set_arg_int(total, 0, 1); }, "set up last"},
           Wrong{[&] { aoti_torch_mps_set_arg_int(add, 31, 1); }, "an index below 31"},
           Wrong{[&] { aoti_torch_mps_set_arg_tensor(add, 0, nullptr); }, "the tensor is null"},
           Wrong{[&] { aoti_torch_mps_dispatch_array(add, none, 4); }, "1 to 3 dimensions"},
           Wrong{[&] { aoti_torch_mps_dispatch_single_with_group_size(add, 1, 0); }, "group"},
           Wrong{[&] { aoti_torch_mps_dispatch_single_with_group_size(add, 1, 4096); },
                 "takes 1 to 1024"},
           Wrong{[&] { aoti_torch_mps_dispatch_single(add, 1); }, "argument 0"},
           Wrong{[&] { aoti_torch_mps_malloc(nullptr, 1); }, "the result is null"},
           Wrong{[&] { aoti_torch_mps_copy_buffer(tensor->data, nullptr, 1, 0, 0); },
                 "the target is null"},
           Wrong{[&] { aoti_torch_mps_copy_buffer(tensor->data, tensor->data, 1, 0, 1000); },
                 "found a buffer of"},
           Wrong{[&] { aoti_torch_mps_run_command_block(add, nullptr, nullptr); },
                 "the callback is null"},
           Wrong{[&] {
                   aoti_torch_mps_run_command_block(
                       add, [](MetalFunction*, void*) { throw std::runtime_error("thrown"); },
                       nullptr);
                 },
                 "thrown"},
       }) {
    aoti_torch_mps_start_encoding(add);
    wrong.call();
    // Nothing is enqueued after a failure.
    const int before = control().num_dispatches;
    CHECK(aoti_torch_mps_start_encoding(add) != 0);
    CHECK(control().num_dispatches == before);
    const std::string text = bench.wait();
    CHECK_THAT(text, ContainsSubstring("aoti_torch_mps_"));
    CHECK_THAT(text, ContainsSubstring(wrong.text));
    CHECK(bench.wait().empty());
  }
}

TEST_CASE("a failure of the device during a run is reported at its end", "[metal]") {
  Bench bench;
  Kernels kernels;
  MetalFunction* const uneven = kernels["uneven"];
  const Handle out = bench.empty({8});
  aoti_torch_mps_start_encoding(uneven);
  aoti_torch_mps_set_arg_tensor(uneven, 0, out.get());
  CHECK(aoti_torch_mps_dispatch_single(uneven, 8) == 0);
  CHECK_THAT(bench.wait(), ContainsSubstring("3 of 8 threads of a threadgroup ended"));
}

TEST_CASE("source that does not compile gives the compiler's text", "[metal]") {
  Bench bench;
  ShaderLibrary* library = nullptr;
  CHECK(aoti_torch_mps_create_shader_library("kernel void broken(device float* x) { y = 1; }",
                                             &library) != 0);
  CHECK(library == nullptr);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("undeclared identifier 'y'"));
  CHECK(aoti_torch_mps_create_shader_library(nullptr, &library) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("the source is null"));
  Kernels kernels;
  MetalFunction* function = nullptr;
  CHECK(aoti_torch_mps_get_kernel_function(kernels.get(), "missing", &function) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("no kernel 'missing'"));
}

TEST_CASE("memory of the device: blocks, copies, and invalid addresses", "[metal]") {
  Bench bench;
  void* block = nullptr;
  REQUIRE(aoti_torch_mps_malloc(&block, 256) == 0);
  std::uint8_t bytes[64] = {1, 2, 3};
  CHECK(aoti_torch_mps_memcpy(block, 64, 1, 2, bytes) == 0);
  CHECK(static_cast<std::uint8_t*>(block)[64] == 2);
  CHECK(static_cast<std::uint8_t*>(block)[65] == 3);
  CHECK(aoti_torch_mps_copy_buffer(block, block, 2, 64, 128) == 0);
  CHECK(bench.wait().empty());
  CHECK(static_cast<std::uint8_t*>(block)[129] == 3);
  CHECK(aoti_torch_mps_memcpy(block, 250, 0, 64, bytes) != 0);
  CHECK_THAT(bench.wait(), ContainsSubstring("aoti_torch_mps_memcpy"));
  CHECK(aoti_torch_mps_free(block) == 0);
  CHECK(aoti_torch_mps_free(nullptr) == 0);
  const std::int64_t size = 4;
  Handle wild;
  CHECK(aoti_torch_create_tensor_from_blob_v2(bytes, 1, &size, &size, 0, 6, 13, 0, wild.out(), 0,
                                              nullptr, 0) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("memory of the Metal device"));
  CHECK(aoti_torch_empty_strided(1, &size, &size, 7, 13, 0, wild.out()) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("dtype Double: Metal has no numbers"));
}

TEST_CASE("copies between layouts and devices", "[metal][D14]") {
  Bench bench;
  const Handle from = bench.random({2, 3, 4}, ScalarType::Half, {12, 1, 3});
  Handle clone, same;
  REQUIRE(aoti_torch_clone(from.get(), clone.out()) == 0);
  CHECK(clone->strides[1] == 1);
  const Handle host =
      bench.empty({2, 3, 4}, ScalarType::Half, {}, tenon::aoti::TorchDeviceType::cpu);
  REQUIRE(aoti_torch_copy_(host.get(), clone.get(), 0) == 0);
  const Handle back = bench.empty({2, 3, 4}, ScalarType::Half);
  REQUIRE(aoti_torch_copy_(back.get(), host.get(), 0) == 0);
  for (std::int64_t i = 0; i < 24; ++i) {
    CHECK(host.at(i) == from.at(i));
    CHECK(back.at(i) == from.at(i));
  }
  const Handle other = bench.random({2, 3, 4});
  CHECK(aoti_torch_copy_(back.get(), other.get(), 0) != 0);
  CHECK_THAT(bench.pool().take_failure(), ContainsSubstring("a copy from Float to Half"));
  REQUIRE(aoti_torch_zero_(back.get()) == 0);
  CHECK(back.at(5) == 0);
}

TEST_CASE("free memory beyond the limit is returned to the device", "[metal]") {
  Bench bench({4096, 0});
  const int before = control().num_buffers;
  static_cast<void>(bench.empty({100000}));
  CHECK(control().num_buffers == before);
  static_cast<void>(bench.empty({100}));
  CHECK(control().num_buffers == before + 1);
  static_cast<void>(bench.empty({100}));
  CHECK(control().num_buffers == before + 1);
}

TEST_CASE("tensors of the host are copied when the kernel is set up", "[metal]") {
  Bench bench;
  Kernels kernels;
  MetalFunction* const add = kernels["add"];
  for (const std::int64_t rows : {2, 4000}) {
    Handle in = bench.random({rows, 2}, ScalarType::Float, {}, tenon::aoti::TorchDeviceType::cpu);
    const Handle out = bench.empty({rows, 2});
    const double first = in.at(0);
    aoti_torch_mps_start_encoding(add);
    aoti_torch_mps_set_arg_tensor(add, 0, out.get());
    aoti_torch_mps_set_arg_tensor(add, 1, in.get());
    aoti_torch_mps_set_arg_int(add, 2, 1);
    const std::uint64_t threads[] = {2, static_cast<std::uint64_t>(rows)};
    const std::uint64_t group[] = {2, 8};
    aoti_torch_mps_dispatch_array_with_group_size(add, threads, 2, group, 2);
    in.set(0, 99);
    REQUIRE(bench.wait().empty());
    CHECK(std::abs(out.at(0) - first - 1) < 1e-5);
  }
}

TEST_CASE("the flush interval follows the kind of GPU", "[metal]") {
  CHECK(flush_interval_for("applegpu_g15p") == 20);
  CHECK(flush_interval_for("applegpu_g13g") == 40);
  CHECK(flush_interval_for("applegpu_g14s") == 50);
  CHECK(flush_interval_for("applegpu_g14d") == 50);
  CHECK(flush_interval_for("") == 40);
}
