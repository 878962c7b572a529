// SPDX-License-Identifier: MIT
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "kernels/kernel_list.hpp"
#include "support/catch.hpp"

namespace {

#define NAME(name, parameters) #name,
const std::set<std::string> served = {TENON_CPU_AOTI_KERNELS(NAME)};
#undef NAME

}  // namespace

TEST_CASE("the exporter accepts exactly the operators that the plugin has", "[aoti][S3.10]") {
  std::ifstream file(TENON_TEST_FALLBACK_KERNELS);
  REQUIRE(file.good());
  std::set<std::string> listed;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("aoti_torch_")) listed.insert(line);
    if (!line.starts_with("at::_ops::")) continue;
    // The exporter writes a kernel in this way when it looks the operator up by name.
    std::string name = line.substr(10, line.find("::", 10) - 10);
    INFO(line);
    CHECK(served.contains("aoti_torch_cpu_" + name));
  }
  for (const std::string& name : served) {
    INFO(name);
    CHECK(listed.contains(name));
  }
  for (const std::string& name : listed) {
    INFO(name);
    CHECK(served.contains(name));
  }
}
