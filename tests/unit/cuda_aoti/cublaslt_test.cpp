// SPDX-License-Identifier: MIT
//
// Large products by cuBLASLt, on the stand-ins for it and for the driver.
#include <string>
#include <vector>

#include "cuda_fixture.hpp"
#include "shims/kernel_shims.hpp"
#include "stand_ins/cuda/find_cublaslt.hpp"

using namespace tenon;
using namespace tenon::test;
using tenon::aoti::shim_failed;
using tenon::aoti::shim_ok;
using DeviceTensor = tenon::aoti::ModelTensor;
namespace cuda_aoti = tenon::cuda_aoti;

namespace {

const stand_in_cublaslt::Interface& cublaslt() {
  static const auto* const found = stand_in_cublaslt::find("libcublasLt.so.13");
  REQUIRE(found != nullptr);
  return *found;
}

/// Nothing is left of cuBLASLt, and it was used as documented, when this is destroyed.
struct CleanLibrary {
  CleanLibrary() { cublaslt().reset(); }
  ~CleanLibrary() {
    CHECK(cublaslt().num_live() == 0);
    CHECK(stand_in_cublaslt::misuses(cublaslt()) == "");
    cublaslt().reset();
  }
};

/// An int8 product of 2048 columns and as many weights of a column.
struct Product {
  explicit Product(CudaFixture& of) : fixture(of) {}
  ~Product() {
    for (DeviceTensor* tensor : {weight, scale, zero}) fixture.pool->release(tensor);
  }
  /// `stride` is the distance of rows, `offset` the place of the first element.
  std::int32_t run(std::int64_t rows, std::int64_t stride = 2048, std::int64_t offset = 0) {
    const std::int64_t strides[] = {stride, 1};
    const std::vector<std::int64_t> sizes = {rows, 2048};
    DeviceTensor* const whole =
        fixture.tensor({rows * stride + offset + 2048}, ScalarType::BFloat16);
    DeviceTensor* const self = fixture.pool->view(*whole, sizes, strides, offset);
    REQUIRE(self != nullptr);
    DeviceTensor* out = nullptr;
    const auto result =
        cuda_aoti::aoti_torch_cuda_int8_plain_mm(self, weight, scale, zero, 128, &out);
    fixture.pool->release(self);
    fixture.pool->release(whole);
    if (result == shim_ok) fixture.pool->release(out);
    return result;
  }

  CudaFixture& fixture;
  DeviceTensor* weight = fixture.tensor({2048, 2048}, ScalarType::Char);
  DeviceTensor* scale = fixture.tensor({2048, 16}, ScalarType::BFloat16);
  DeviceTensor* zero = fixture.tensor({2048, 16}, ScalarType::Char);
};

bool has_kernels() { return !cuda_aoti::kernels::fatbin().empty(); }

const Options with_graph = {option("enable_cuda_graph_for_method", std::string("forward"))};

}  // namespace

TEST_CASE("a large product is computed by cuBLASLt on the model's stream", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaFixture fixture({.num_devices = 2}, true);
  Product product(fixture);
  REQUIRE(product.run(256) == shim_ok);
  REQUIRE(cublaslt().num_products() == 1);
  const stand_in_cublaslt::Product made = cublaslt().product(0);
  CHECK(made.rows == 2048);
  CHECK(made.columns == 256);
  CHECK(made.depth == 2048);
  CHECK(made.stream == fixture.pool->stream());
  CHECK(made.workspace_bytes == std::size_t{1} << 20);
  CHECK(count_calls("cuLaunchKernel") == 1);  // Which unpacks the weight.
  const long allocated = count_calls("cuMemAllocFromPoolAsync");
  REQUIRE(product.run(256) == shim_ok);
  CHECK(cublaslt().num_products() == 2);
  CHECK(cublaslt().num_searches() == 1);
  CHECK(count_calls("cuMemAllocFromPoolAsync") == allocated);
  // With gaps between rows.
  REQUIRE(product.run(256, 2056) == shim_ok);
  CHECK(cublaslt().num_products() == 3);
  CHECK(cublaslt().num_searches() == 2);
}

TEST_CASE("small and misaligned products are computed by the plugin's kernels", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaFixture fixture({.num_devices = 2}, true);
  Product product(fixture);
  REQUIRE(product.run(255) == shim_ok);
  REQUIRE(product.run(256, 2049) == shim_ok);
  REQUIRE(product.run(256, 2048, 1) == shim_ok);
  REQUIRE(product.run(256, 8) == shim_ok);  // Rows that overlap.
  CHECK(cublaslt().num_products() == 0);
  CHECK(count_calls("cuLaunchKernel") == 4 * 2);  // In parts of the depth, which are added.
}

TEST_CASE("a large product without an algorithm is computed by the plugin's kernels", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaFixture fixture({.num_devices = 2}, true);
  Product product(fixture);
  cublaslt().set_has_algorithms(false);
  REQUIRE(product.run(300) == shim_ok);
  REQUIRE(product.run(300) == shim_ok);
  CHECK(cublaslt().num_searches() == 1);
  CHECK(count_calls("cuLaunchKernel") == 2 * 2);
}

TEST_CASE("a product of 17 rows has parts of the depth, in memory that later runs use again",
          "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaFixture fixture;
  Product product(fixture);
  REQUIRE(product.run(cuda_aoti::kernels::few_rows_limit) == shim_ok);
  CHECK(count_calls("cuLaunchKernel") == 1);
  REQUIRE(product.run(17) == shim_ok);
  CHECK(count_calls("cuLaunchKernel") == 3);
  const long allocated = count_calls("cuMemAllocFromPoolAsync");
  REQUIRE(product.run(17) == shim_ok);
  CHECK(count_calls("cuLaunchKernel") == 5);
  CHECK(count_calls("cuMemAllocFromPoolAsync") == allocated);
  // Tiles enough for all multiprocessors.
  REQUIRE(product.run(64 * 17) == shim_ok);
  CHECK(count_calls("cuLaunchKernel") == 6);
}

TEST_CASE("a failure of cuBLASLt is one of the model's run, with its text", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaFixture fixture({.num_devices = 2}, true);
  Product product(fixture);
  cublaslt().fail_next("cublasLtMatmul", 13);
  CHECK(product.run(256) == shim_failed);
  CHECK_THAT(fixture.pool->take_failure(),
             ContainsSubstring("cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED (13): a text"));
  cublaslt().fail_next("cublasLtMatmulAlgoGetHeuristic", 3);
  CHECK(product.run(300) == shim_failed);
  CHECK_THAT(fixture.pool->take_failure(), ContainsSubstring("cublasLtMatmulAlgoGetHeuristic: "));
  CHECK(product.run(300) == shim_ok);
}

TEST_CASE("a model's products use cuBLASLt where the loader finds it, also in a graph", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  const bool as_graph = GENERATE(false, true);
  {
    CudaHost host;
    const auto method = host.load_ok({.model = "multiplies"}, as_graph ? with_graph : Options());
    for (int i = 0; i < 6; ++i) {
      const auto out = run(*method, static_cast<float>(i));
      INFO(out.text() << misuses() << host.log());
      REQUIRE(out.ok());
      CHECK(out->weight == 3.0f);
    }
    // A graph is captured in the fourth run, and has the product from then on.
    CHECK(cublaslt().num_products() == (as_graph ? 4 : 6));
    CHECK(cublaslt().num_searches() == 1);
    CHECK(count_calls("cuGraphLaunch") == (as_graph ? 3 : 0));
    CHECK_FALSE(host.log().find("without a CUDA graph") != std::string::npos);
  }
}

TEST_CASE("the option cublaslt turns it off, and other models do not open it", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  {
    CudaHost host;
    const auto method =
        host.load({.model = "multiplies"}, {option("cublaslt", std::string("off"))});
    REQUIRE(method.ok());
    REQUIRE(run(**method, 1).ok());
    CHECK(cublaslt().num_products() == 0);
    CHECK(cublaslt().num_live() == 0);
    const auto copies = host.load_ok({});
    CHECK(cublaslt().num_live() == 0);
  }
}

TEST_CASE("a file for the option cublaslt must be usable", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaHost host;
  const auto refusal = [&](const std::string& file) {
    const auto method = host.load({.model = "multiplies"}, {option("cublaslt", file)});
    REQUIRE_FALSE(method.ok());
    return std::string(method.text());
  };
  CHECK_THAT(refusal("/nowhere/libcublasLt.so.13"),
             ContainsSubstring("option 'cublaslt': no cuBLASLt: /nowhere/libcublasLt.so.13"));
  CHECK_THAT(refusal(""), ContainsSubstring("expected 'auto', 'off' or a file, found ''"));
  cublaslt().set_version(111103);
  CHECK_THAT(refusal("libcublasLt.so.13"),
             ContainsSubstring("expected cuBLASLt 12 or 13, found version 11.11.3"));
  cublaslt().set_version(130401);
  cublaslt().fail_next("cublasLtCreate", 13);
  CHECK_THAT(refusal("libcublasLt.so.13"),
             ContainsSubstring("option 'cublaslt': cublasLtCreate: CUBLAS_STATUS"));
  CHECK(host.load({.model = "multiplies"}, {option("cublaslt", std::string("libcublasLt.so.13"))})
            .ok());
}

TEST_CASE("a cuBLASLt of the system that cannot be used is logged once", "[cuda]") {
  if (!has_kernels()) return;
  const CleanLibrary library;
  CudaHost host;
  cublaslt().set_version(140000);
  for (int i = 0; i < 2; ++i) {
    const auto method = host.load_ok({.model = "multiplies"});
    REQUIRE(run(*method, 1).ok());
  }
  CHECK(cublaslt().num_products() == 0);
  const std::string text = "large products run without cuBLASLt: libcublasLt.so.13: expected";
  const std::size_t first = host.log().find(text);
  REQUIRE(first != std::string::npos);
  CHECK(host.log().find(text, first + 1) == std::string::npos);
}
