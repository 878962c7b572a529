// SPDX-License-Identifier: MIT
//
// What the backend's kernels read and multiply, counted by the stand-in (docs/aoti/metal.md has the
// table), and what the stand-in refuses of matrices of a simdgroup.
#include <cstdint>
#include <memory>
#include <string>

#include "device.hpp"
#include "stand_in_device.hpp"

using namespace metal_test;
using namespace tenon::metal_aoti;
using tenon::metal_stand_in::control;
using tenon::metal_stand_in::Work;

namespace kernel_work_test {
namespace {

/// Counts the work of kernels that are compiled in its scope, on a device of its own.
class Counted {
 public:
  Counted() {
    control().work = &work;
    auto opened = open_metal_device();
    REQUIRE(opened.ok());
    device = std::make_shared<SharedDevice>(*std::move(opened));
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { control().work = nullptr; }

  Work work;
  std::shared_ptr<SharedDevice> device;
};

constexpr ContextSettings settings{std::size_t{64} << 20, 0};

Work product(ScalarType type, std::int64_t rows, std::int64_t inner, std::int64_t columns,
             bool is_transposed) {
  Counted counted;
  Bench bench(settings, counted.device);
  const Handle a = bench.random({rows, inner}, type);
  const Handle b = bench.random({inner, columns}, type, is_transposed ? Shape{1, inner} : Shape{});
  const Handle out = bench.empty({rows, columns}, type);
  REQUIRE(aoti_torch_mps_mm_out(out.get(), a.get(), b.get()) == 0);
  REQUIRE(bench.wait().empty());
  return counted.work;
}

}  // namespace

TEST_CASE("a product reads each operand once for each tile of 64 rows and columns", "[metal]") {
  for (const bool is_transposed : {false, true}) {
    const Work work = product(ScalarType::Half, 128, 128, 128, is_transposed);
    CHECK(work.device_read == 2u * (2 * 128 * 128 * 2));
    CHECK(work.device_written == 2u * 128 * 128);
    // And each result by alpha.
    CHECK(work.multiplied == 128u * 128 * 128 + 128 * 128);
    CHECK(work.threadgroup_nbytes == 11264u);
  }
}

TEST_CASE("a product with one row reads the matrix once and multiplies nothing twice", "[metal]") {
  const Work rows = product(ScalarType::Half, 1, 512, 256, true);
  // The vector is read by each simdgroup, which has four columns.
  CHECK(rows.device_read == 512u * 256 * 2 + 512 * 2 * (256 / 4));
  CHECK(rows.multiplied == 512u * 256 + 256);
  const Work columns = product(ScalarType::Half, 1, 512, 256, false);
  // Each thread reads an element of the vector for four columns.
  CHECK(columns.device_read == 512u * 256 * 2 + 512 * 256 / 4 * 2);
  CHECK(columns.multiplied == 512u * 256 + 256);
}

TEST_CASE("attention reads keys and values once for each 32 rows and writes its output alone",
          "[metal]") {
  Counted counted;
  Bench bench(settings, counted.device);
  const std::int64_t heads = 2, positions = 64, depth = 64;
  const Handle q = bench.random({1, heads, positions, depth}, ScalarType::Half);
  const Handle k = bench.random({1, heads, positions, depth}, ScalarType::Half);
  const Handle v = bench.random({1, heads, positions, depth}, ScalarType::Half);
  Handle out, weights;
  REQUIRE(aoti_torch_mps__scaled_dot_product_attention_math_for_mps(
              q.get(), k.get(), v.get(), nullptr, 0.0, 0, nullptr, nullptr, out.out(),
              weights.out()) == 0);
  REQUIRE(bench.wait().empty());
  const std::uint64_t nbytes = heads * positions * depth * 2;
  CHECK(counted.work.device_read == nbytes + 2 * 2 * nbytes);
  CHECK(counted.work.device_written == nbytes);
  const std::uint64_t products = 2 * heads * positions * positions * depth;
  CHECK(counted.work.multiplied >= products);
  CHECK(counted.work.threadgroup_nbytes == 31232u);
}

namespace {

/// What a kernel with this body for a simdgroup ends with, for `threads` threads.
std::string run(const std::string& body, std::uint64_t threads) {
  auto device = open_metal_device();
  REQUIRE(device.ok());
  const std::string source =
      "#include <metal_stdlib>\nusing namespace metal;\n"
      "kernel void k(device float* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) "
      "{\n" +
      body + "}\n";
  auto library = (*device)->compile(source.c_str());
  if (!library.ok()) return std::string(library.text());
  auto function = (*library)->function("k");
  REQUIRE(function.ok());
  auto buffer = (*device)->allocate(1024);
  REQUIRE(buffer.ok());
  auto queue = (*device)->make_queue();
  REQUIRE(queue.ok());
  REQUIRE((*queue)->set_function(**function).ok());
  (*queue)->set_buffer(0, **buffer, 0);
  const tenon::Status dispatched = (*queue)->dispatch({threads, 1, 1}, {threads, 1, 1});
  if (!dispatched.ok()) return std::string(dispatched.text());
  return std::string((*queue)->wait().text());
}

}  // namespace

TEST_CASE("the stand-in refuses what Metal leaves undefined of matrices", "[metal]") {
  const std::string load = "simdgroup_float8x8 m; simdgroup_load(m, out, 8);";
  CHECK(run(load, 32).empty());
  CHECK_THAT(run(load, 24), ContainsSubstring("not all threads of a simdgroup"));
  CHECK_THAT(run("if (lane < 16) {" + load + "}", 32),
             ContainsSubstring("not all threads of a simdgroup"));
  CHECK_THAT(run("simdgroup_float8x8 m; simdgroup_load(m, out + lane, 8);", 32),
             ContainsSubstring("several places of one matrix"));
  // The specification has no product of several types.
  CHECK_THAT(run("simdgroup_float8x8 m; simdgroup_half8x8 h; simdgroup_load(m, out, 8);"
                 "h = make_filled_simdgroup_matrix<half, 8, 8>(half(1));"
                 "simdgroup_multiply_accumulate(m, h, h, m);",
                 32),
             ContainsSubstring("does not compile"));
  CHECK_THAT(run("threadgroup float large[8193]; large[lane] = out[lane];"
                 "threadgroup_barrier(mem_flags::mem_threadgroup); out[lane] = large[31 - lane];",
                 32),
             ContainsSubstring("expected at most 32768"));
}

}  // namespace kernel_work_test
