// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/kernel_list.hpp"
#include "recorded.hpp"

namespace recorded_test {
namespace {

using namespace tenon::cpu_aoti;

/// Elements in row-major order; complex ones as two numbers.
std::vector<double> values_of(const ModelTensor& tensor) {
  std::vector<double> out;
  const std::int64_t parts = is_complex(tensor.scalar_type) ? 2 : 1;
  for (std::int64_t i = 0; i < tensor.numel * parts; ++i) {
    out.push_back(read(part_type(tensor.scalar_type), tensor.data,
                       offset_of(tensor, i / parts) * parts + i % parts));
  }
  return out;
}

bool close(double found, double expected, double relative) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return true;
  // Without this the limit below is infinite for an infinite number.
  if (!std::isfinite(found) || !std::isfinite(expected)) return false;
  return std::abs(found - expected) <= relative * std::max(1.0, std::abs(expected));
}

void check(const ModelTensor& found, const Recorded& expected) {
  REQUIRE(tenon::name_of(found.scalar_type) == tenon::name_of(expected.type));
  REQUIRE(Shape(found.shape().begin(), found.shape().end()) == expected.sizes);
  for (std::size_t d = 0; found.numel > 0 && d < expected.sizes.size(); ++d) {
    INFO("stride of dimension " << d);
    if (expected.sizes[d] != 1) CHECK(found.strides[d] == expected.strides[d]);
  }
  if (found.numel > 0) CHECK(found.storage_offset == expected.offset);
  if (expected.values.empty()) return;
  const double limit = tolerance(part_type(expected.type), 1);
  const std::vector<double> values = values_of(found);
  for (std::size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << ": expected " << expected.values[i] << ", found " << values[i]);
    CHECK(close(values[i], expected.values[i], limit));
  }
}

std::vector<Case> cases_of(const char* path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  return read_cases(file);
}

/// Runs each case of a file twice. The second run must not allocate.
void run_cases(const char* path) {
  Fixture fixture;
  const auto table = kernels();
  std::int64_t number = 0;
  for (const Case& one : cases_of(path)) {
    INFO("case " << number++ << " of the file: " << one.name);
    REQUIRE(table.contains(one.name));
    std::size_t before = 0;
    for (int run = 0; run < 2; ++run) {
      Call call(one);
      before = allocations();
      const ShimError failed = table.at(one.name)(call);
      INFO(fixture.pool.take_failure());
      REQUIRE(failed == 0);
      for (std::size_t i = 0; i < one.outputs.size(); ++i) {
        INFO("result " << i);
        check(*call.results[i], one.outputs[i]);
      }
    }
    CHECK(allocations() == before);
    CHECK(fixture.pool.num_live() == 0);
  }
}

}  // namespace

TEST_CASE("the comparison takes an infinite number only for itself", "[cpu_aoti]") {
  const double infinity = HUGE_VAL;
  CHECK(close(infinity, infinity, 1e-6));
  CHECK_FALSE(close(-infinity, infinity, 1e-6));
  CHECK_FALSE(close(1, -infinity, 1e-6));
}

TEST_CASE("kernels return what PyTorch returned, and allocate nothing again", "[cpu_aoti]") {
  run_cases(TENON_TEST_RECORDED);
}

TEST_CASE("results have the strides that PyTorch's compiler plans for them", "[cpu_aoti]") {
  run_cases(TENON_TEST_LAYOUTS);
}

TEST_CASE("each kernel has a case, or a test of its own", "[cpu_aoti]") {
  // Random numbers, operators that write to a part of their result, and what is compared with a
  // formula: attention_test.cpp and others beside it.
  const std::set<std::string> elsewhere = {"_weight_int4pack_mm_cpu_tensor",
                                           "addmm_out",
                                           "aoti_torch_index_put_out",
                                           "aoti_torch_scatter_out",
                                           "aoti_torch_scatter_reduce_out",
                                           "baddbmm_out",
                                           "bernoulli__Tensor",
                                           "bernoulli__float",
                                           "bmm_out",
                                           "fill__Scalar",
                                           "mkldnn_rnn_layer",
                                           "mm_out",
                                           "rand",
                                           "randint",
                                           "randint_low",
                                           "randint_low_out",
                                           "randn",
                                           "randperm",
                                           "scatter_reduce_two_out",
                                           "scatter_src_out",
                                           "scatter_value_out"};
  std::set<std::string> tried;
  for (const char* const path : {TENON_TEST_RECORDED, TENON_TEST_LAYOUTS}) {
    for (const Case& one : cases_of(path)) tried.insert(one.name);
  }
  for (const auto& [name, kernel] : kernels()) {
    INFO(name);
    CHECK(tried.contains(name) != elsewhere.contains(name));
  }
}

TEST_CASE("a case that lacks an argument, or has one too many, is refused", "[cpu_aoti]") {
  const Fixture fixture;
  const Kernel add = in_order(&aoti_torch_cpu_add_Tensor);
  for (const auto& [parts, problem] : std::map<std::string, std::string>{
           {"in Float 1 1 2; in Float 1 1 3", "the case lacks a number"},
           {"in Float 1 1 2; number 1", "the case lacks a tensor"},
           {"in Float 1 1 2; in Float 1 1 3; number 1; list 2",
            "the case has arguments that the kernel does not take"}}) {
    std::istringstream file("add_Tensor; " + parts + "; out Float 1 1 5\n");
    const std::vector<Case> cases = read_cases(file);
    REQUIRE(cases.size() == 1);
    Call call(cases[0]);
    CHECK_THROWS_WITH(add(call), problem);
  }
}

}  // namespace recorded_test
