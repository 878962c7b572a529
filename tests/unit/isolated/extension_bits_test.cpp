// SPDX-License-Identifier: MIT
#include "boundary/extension_bits.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "boundary/protocol.hpp"
#include "support/catch.hpp"

namespace extension_bits_test {
namespace {

using namespace tenon;
using namespace tenon::isolated;

/// The bits of all extensions and of all their functions that have one.
std::vector<std::uint32_t> all_bits() {
  std::vector<std::uint32_t> out;
  const auto add_functions = [&]<class... Functions>(TypeList<Functions...>) {
    for (const std::uint32_t bit : {function_bit<Functions::member>...}) {
      if (bit != 0) out.push_back(bit);
    }
  };
  const auto add = [&]<class... Tables>(TypeList<Tables...>) {
    (out.push_back(extension_bit<Tables>), ...);
    (add_functions(typename BackendExtension<Tables>::Functions()), ...);
  };
  add(BackendExtensions());
  return out;
}

}  // namespace

TEST_CASE("each extension of the answer to load has a bit of its own", "[isolated]") {
  const std::vector<std::uint32_t> bits = all_bits();
  CHECK(bits.size() == backend_extensions.size() + 4);
  std::uint32_t together = 0;
  for (const std::uint32_t bit : bits) {
    CHECK(std::has_single_bit(bit));
    CHECK((together & bit) == 0);
    together |= bit;
  }
}

TEST_CASE("the version of the protocol is another one for other lists of extensions",
          "[isolated]") {
  const std::array ids = {"tenon.cancel/1", "tenon.sequence/1", "tenon.streams/1"};
  const std::uint16_t number = number_of_list(ids);
  CHECK(number_of_list(std::array{ids[0], "tenon.sequence/2", ids[2]}) != number);
  CHECK(number_of_list(std::array{ids[1], ids[0], ids[2]}) != number);
  CHECK(number_of_list(std::array{ids[0], ids[1]}) != number);
  CHECK(protocol_version == (5u << 16 | number_of_list(backend_extensions)));
}

TEST_CASE("an extension is there when its table has each function that it must have",
          "[isolated]") {
  tenon_device_memory_v1 table{};
  table.struct_size = sizeof table;
  CHECK(bits_of_table(table) == 0);
  table.allocate = [](tenon_backend*, tenon_dl_device, std::uint64_t, std::uint64_t, void**) {
    return tenon_status{TENON_STATUS_OK};
  };
  table.free = [](tenon_backend*, tenon_dl_device, void*) {};
  table.copy_to_device = [](tenon_backend*, tenon_dl_device, void*, const void*, std::uint64_t) {
    return tenon_status{TENON_STATUS_OK};
  };
  CHECK(bits_of_table(table) == 0);
  table.copy_to_host = table.copy_to_device;
  CHECK(bits_of_table(table) == extension_bit<tenon_device_memory_v1>);
  table.copy_on = [](tenon_backend*, void*, tenon_dl_device, void*, tenon_dl_device, const void*,
                     std::uint64_t) { return tenon_status{TENON_STATUS_OK}; };
  CHECK(bits_of_table(table) ==
        (extension_bit<tenon_device_memory_v1> | function_bit<&tenon_device_memory_v1::copy_on>));
  CHECK(bits_of_table(tenon_scheduling_v1{}) == extension_bit<tenon_scheduling_v1>);
}

}  // namespace extension_bits_test
