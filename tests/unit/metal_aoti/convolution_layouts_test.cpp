// SPDX-License-Identifier: MIT
//
// The layout of a convolution's output, compared with what PyTorch's compiler expects of it.
#include <fstream>
#include <sstream>
#include <string>

#include "device.hpp"

using namespace metal_test;
using namespace tenon::metal_aoti;

namespace {

Shape read_numbers(const std::string& text) {
  Shape out;
  std::istringstream in(text);
  for (std::string each; std::getline(in, each, ',');) out.push_back(std::stoll(each));
  return out;
}

}  // namespace

TEST_CASE("a convolution's output has the strides that PyTorch compiles for", "[metal]") {
  Bench bench;
  std::ifstream file(TENON_TEST_CONVOLUTION_LAYOUTS);
  int num_cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    INFO(line);
    std::istringstream words(line);
    std::string sizes, strides, weight_sizes, weight_strides, expected;
    std::int32_t transposed = 0;
    std::int64_t groups = 0;
    words >> sizes >> strides >> weight_sizes >> weight_strides >> transposed >> groups >> expected;
    REQUIRE_FALSE(words.fail());
    const Handle input =
        bench.random(read_numbers(sizes), ScalarType::Float, read_numbers(strides));
    const Handle weight =
        bench.random(read_numbers(weight_sizes), ScalarType::Float, read_numbers(weight_strides));
    const std::int64_t spatial = input->rank - 2;
    const std::int64_t ones[] = {1, 1, 1};
    const std::int64_t zeroes[] = {0, 0, 0};
    Handle out;
    REQUIRE(aoti_torch_mps_convolution(input.get(), weight.get(), nullptr, ones, spatial, zeroes,
                                       spatial, ones, spatial, transposed, zeroes, spatial, groups,
                                       out.out()) == 0);
    REQUIRE(bench.wait().empty());
    CHECK(Shape(out->step().begin(), out->step().end()) == read_numbers(expected));
    ++num_cases;
  }
  CHECK(num_cases >= 24);  // Input and weight of each layout, in three ranks, of both kinds.
}
