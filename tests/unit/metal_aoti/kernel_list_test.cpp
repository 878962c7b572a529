// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "shims/shim_list.hpp"
#include "support/catch.hpp"

namespace {

#define NAME(name, parameters) #name,
const std::set<std::string> served = {TENON_METAL_AOTI_KERNELS(NAME)};
#undef NAME

}  // namespace

TEST_CASE("the exporter accepts exactly the operators that the Metal plugin has",
          "[metal][S3.10]") {
  std::ifstream file(TENON_TEST_FALLBACK_KERNELS);
  REQUIRE(file.good());
  std::set<std::string> listed;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("aoti_torch_")) listed.insert(line);
    // at::_ops::NAME::call for an operator of PyTorch, else NAMESPACE::NAME.
    const std::size_t first = line.starts_with("at::_ops::") ? 10 : line.find("::") + 2;
    if (line.starts_with("#") || first < 2) continue;
    INFO(line);
    CHECK(served.contains("aoti_torch_mps_" + line.substr(first, line.find("::", first) - first)));
  }
  CHECK(listed == served);
}

TEST_CASE("functions that the Metal backend lacks are not found", "[metal]") {
  using tenon::metal_aoti::find_metal_shim;
  for (const std::string& name : served) CHECK(find_metal_shim(name) != nullptr);
  for (const char* name : {"aoti_torch_mps__linear_fp_act_3bit_weight", "aoti_torch_mps_convolutio",
                           "aoti_torch_cuda_mm_out"}) {
    CHECK(find_metal_shim(name) == nullptr);
  }
}
