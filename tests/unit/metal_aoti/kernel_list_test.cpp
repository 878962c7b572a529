// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "shim_list.hpp"
#include "support/catch.hpp"

namespace {

#define NAME(name, parameters) #name,
const std::set<std::string> served = {TENON_METAL_AOTI_KERNELS(NAME)};
#undef NAME

}  // namespace

TEST_CASE("the exporter lets through for Metal what the plugin serves and nothing else",
          "[metal][S3.10]") {
  std::ifstream file(TENON_TEST_FALLBACK_KERNELS);
  REQUIRE(file.good());
  std::set<std::string> listed;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("aoti_torch_")) listed.insert(line);
    if (!line.starts_with("at::_ops::")) continue;
    const std::string name = line.substr(10, line.find("::", 10) - 10);
    INFO(line);
    CHECK(served.contains("aoti_torch_mps_" + name));
  }
  CHECK(listed == served);
}

TEST_CASE("what the Metal backend does not serve is not found", "[metal]") {
  using tenon::metal_aoti::find_metal_shim;
  for (const std::string& name : served) CHECK(find_metal_shim(name) != nullptr);
  for (const char* name : {"aoti_torch_mps__linear_fp_act_4bit_weight", "aoti_torch_mps_gather_qmv",
                           "aoti_torch_mps_gated_delta_rule"}) {
    CHECK(find_metal_shim(name) == nullptr);
  }
}
