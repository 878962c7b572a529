// SPDX-License-Identifier: MIT
#include "tenon/core/aoti_names.hpp"

#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace tenon::test::aoti_names {

TEST_CASE("names of data files derive from a device's public name", "[aoti][S3.9]") {
  struct Known {
    std::string_view torch_name, name, backend_id, tag;
  };
  for (const Known& known : {
           Known{"cpu", "cpu", "CpuAotiBackend", "aoti_cpu_blob"},
           Known{"cuda", "cuda", "CudaBackend", "aoti_cuda_blob"},
           Known{"mps", "metal", "MetalBackend", "aoti_metal_blob"},
       }) {
    INFO(known.torch_name);
    const aoti::ModelDevice* const device = aoti::find_torch_device(known.torch_name);
    REQUIRE(device != nullptr);
    CHECK(device->name == known.name);
    CHECK(device->backend_id == known.backend_id);
    CHECK(aoti::external_tag(device->name) == known.tag);
    CHECK(aoti::torch_device_of(known.name) == known.torch_name);
    CHECK(device->weights_in_own_file == (known.name == "cuda"));
  }
  CHECK(aoti::find_torch_device("cuda:1") == aoti::find_torch_device("cuda"));
  CHECK(aoti::find_torch_device("metal") == nullptr);
  CHECK(aoti::find_torch_device("") == nullptr);
  CHECK(aoti::torch_device_of("xpu") == "xpu");
  CHECK(aoti::external_tag("xpu") == "aoti_xpu_blob");
}

TEST_CASE("keys of library and weights have a prefix or none", "[aoti][S3.8]") {
  CHECK(aoti::library_key("forward") == "forward_so_blob");
  CHECK(aoti::weights_key("forward") == "forward_weights_blob");
  CHECK(aoti::library_key("") == "so_blob");
  CHECK(aoti::weights_key("") == "weights_blob");
}

TEST_CASE("the key of a description of operator calls derives from the library's key", "[aoti]") {
  check_texts(aoti::operator_calls_key, {{"forward_so_blob", "forward_extern_kernel_nodes"},
                                         {"so_blob", "extern_kernel_nodes"},
                                         {"other", "otherextern_kernel_nodes"}});
}

TEST_CASE("the key of CPU features derives from the library's key", "[aoti][processor]") {
  check_texts(aoti::cpu_features_key, {{"forward_so_blob", "forward_cpu_features"},
                                       {"so_blob", "cpu_features"},
                                       {"other", "othercpu_features"}});
}

}  // namespace tenon::test::aoti_names
