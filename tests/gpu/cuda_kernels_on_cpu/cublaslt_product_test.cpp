// SPDX-License-Identifier: MIT
//
// Products by cuBLASLt, with the stand-in that multiplies on the CPU: the weights are unpacked by
// the kernels' own code.
#include "gpu.hpp"
#include "large_product.hpp"
#include "stand_ins/cuda/find_cublaslt.hpp"
#include "support/catch.hpp"

namespace {

using namespace gpu_test;
using kernels::CublasLtHandle;
using kernels::LargeProduct;
using tenon::Error;

const tenon::stand_in_cublaslt::Interface& library() {
  static const auto* const found = tenon::stand_in_cublaslt::find(TENON_TEST_CUBLASLT);
  REQUIRE(found != nullptr);
  return *found;
}

std::unique_ptr<CublasLtHandle> handle;

tenon::Status run_by_stand_in(const kernels::MatmulPlan& plan,
                              const tenon::aoti::ModelTensor& out) {
  return run_by_library(*handle, plan, out);
}

/// A handle for the lifetime of this object.
struct WithHandle {
  WithHandle() {
    REQUIRE(gpu().open().empty());
    library().reset();
    const auto loaded = kernels::load_cublaslt(TENON_TEST_CUBLASLT);
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    auto made = CublasLtHandle::create(*loaded);
    REQUIRE(made.ok());
    handle = *std::move(made);
  }
  ~WithHandle() {
    handle.reset();
    CHECK(library().num_live() == 0);
    CHECK(tenon::stand_in_cublaslt::misuses(library()) == "");
  }
};

}  // namespace

TEST_CASE("products by cuBLASLt have the numbers of the kernels' reference", "[cuda_kernels]") {
  const WithHandle scope;
  const int before = failures();
  test_aligned_products(&run_by_stand_in);
  CHECK(failures() == before);
  CHECK(library().num_products() == 10);
  CHECK(library().product(0).rows == 24);
  CHECK(library().product(0).columns == 19);
  CHECK(library().product(0).depth == 512);
  CHECK(library().product(0).workspace_bytes == std::size_t{1} << 20);
}

TEST_CASE("products of one shape are made once, and the oldest of many are replaced",
          "[cuda_kernels]") {
  const WithHandle scope;
  kernels::LargeProducts products;
  const auto find = [&](std::int64_t rows) {
    const auto found = products.find(*handle, {rows, 64, 32, 32});
    INFO(found.text());
    REQUIRE(found.ok());
    return *found;
  };
  const LargeProduct* const first = find(1);
  REQUIRE(first != nullptr);
  CHECK(first->shape().rows == 1);
  CHECK(find(1) == first);
  CHECK(library().num_searches() == 1);
  for (std::int64_t rows = 2; rows <= 65; ++rows) CHECK(find(rows) != nullptr);
  CHECK(library().num_searches() == 65);
  CHECK(find(65) != nullptr);
  CHECK(library().num_searches() == 65);
  CHECK(find(1) != nullptr);
  CHECK(library().num_searches() == 66);
}

TEST_CASE("a shape without an algorithm is remembered, and a failure is not", "[cuda_kernels]") {
  const WithHandle scope;
  kernels::LargeProducts products;
  library().set_has_algorithms(false);
  for (int i = 0; i < 2; ++i) {
    const auto found = products.find(*handle, {300, 64, 32, 32});
    REQUIRE(found.ok());
    CHECK(*found == nullptr);
  }
  CHECK(library().num_searches() == 1);
  library().set_has_algorithms(true);
  for (const char* call :
       {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic"}) {
    CAPTURE(call);
    library().fail_next(call, 3);
    const auto found = products.find(*handle, {400, 64, 32, 32});
    REQUIRE_FALSE(found.ok());
    CHECK(found.error() == Error::MemoryAllocationFailed);
    CHECK_THAT(std::string(found.text()), ContainsSubstring(std::string(call) + ": CUBLAS_STATUS"));
  }
  CHECK(products.find(*handle, {400, 64, 32, 32}).ok());
}

TEST_CASE("a cuBLASLt that is missing, another library or too old is refused by its name",
          "[cuda_kernels]") {
  library().reset();
  const auto refused = [](const char* path, Error code, const std::string& text) {
    const auto loaded = kernels::load_cublaslt(path);
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error() == code);
    CHECK_THAT(std::string(loaded.text()), ContainsSubstring(text));
  };
  refused("/nowhere/libcublasLt.so.13", Error::NotFound,
          "no cuBLASLt: /nowhere/libcublasLt.so.13: cannot open");
  refused("libc.so.6", Error::NotSupported, "libc.so.6 has no cublasLt");
  library().set_version(111103);
  refused(TENON_TEST_CUBLASLT, Error::NotSupported,
          "expected cuBLASLt 12 or 13, found version 11.11.3");
  library().set_version(120804);
  CHECK(kernels::load_cublaslt(TENON_TEST_CUBLASLT).ok());
  library().reset();
}
