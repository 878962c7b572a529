// SPDX-License-Identifier: MIT
//
// Structs that state their size, from callers with other headers than these.
#include "tenon/core/struct_size.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "support/catch.hpp"
#include "tenon/abi/backend.h"
#include "tenon/abi/draft/external_memory.h"
#include "tenon/abi/draft/preprocess.h"
#include "tenon/abi/extensions/scheduling.h"
#include "tenon/abi/host.h"

using namespace tenon;

namespace struct_size_test {

template <class Struct>
struct Longer {
  Struct known{};
  std::array<unsigned char, 16> more{};
};

}  // namespace struct_size_test
using namespace struct_size_test;

TEST_CASE("a struct has the members that its stated size covers", "[core]") {
  tenon_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  CHECK(TENON_HAS_MEMBER(tensor, flags));
  tensor.struct_size = offsetof(tenon_tensor, flags) + sizeof tensor.flags - 1;
  CHECK_FALSE(TENON_HAS_MEMBER(tensor, flags));
  CHECK(TENON_HAS_MEMBER(tensor, shape_dynamism));
  tensor.struct_size = 0;
  CHECK_FALSE(TENON_HAS_MEMBER(tensor, struct_size));
}

TEMPLATE_TEST_CASE("structs that a caller passes have one judge of their sizes", "[core]",
                   tenon_scheduling, tenon_external_memory, tenon_external_fence, tenon_option,
                   tenon_compile_spec, tenon_value, tenon_named_data, tenon_tensor_layout) {
  const auto size = static_cast<std::uint32_t>(sizeof(TestType));
  Longer<TestType> passed;
  const auto read = [&](std::uint32_t stated) {
    passed.known.struct_size = stated;
    TestType out{};
    Status status = tenon::detail::read_struct("it", passed.known, out);
    CHECK(out.struct_size == (status.ok() ? size : 0));
    return status;
  };
  const std::uint32_t wrong[] = {0,        4,        size - 8,       size - 1,       size + 1,
                                 size + 2, 4096 + 8, UINT32_MAX / 2, UINT32_MAX - 7, UINT32_MAX};
  for (const std::uint32_t stated : wrong) {
    CAPTURE(stated);
    const Status refused = read(stated);
    CHECK(refused.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(refused.text()),
               ContainsSubstring("it: struct_size is " + std::to_string(stated) + ", expected " +
                                 std::to_string(size)));
  }
  for (const std::uint32_t more : {0u, 8u, 16u}) CHECK(read(size + more).ok());
  for (std::size_t set = 0; set < passed.more.size(); ++set) {
    passed.more = {};
    passed.more[set] = 1;
    CHECK(read(size).ok());
    CHECK(read(size + 8).error() == (set < 8 ? Error::NotSupported : Error::Ok));
    CHECK(read(size + 16).error() == Error::NotSupported);
  }
}

TEST_CASE("structs in an array state one size, by which they are found", "[core]") {
  std::array<Longer<tenon_option>, 3> passed{};
  const auto size = static_cast<std::uint32_t>(sizeof passed[0]);
  for (std::uint32_t i = 0; i < 3; ++i) {
    passed[i].known.struct_size = size;
    passed[i].known.type = i;
  }
  std::string types;
  const auto read = [&] {
    types.clear();
    return tenon::detail::read_structs(
        "options", &passed[0].known, 3, [&](const tenon_option& option) {
          types += std::to_string(option.type);
          return option.type < 7 ? ok() : error(Error::NotFound, "seven");
        });
  };
  CHECK(read().ok());
  CHECK(types == "012");
  for (const std::uint32_t other : {std::uint32_t{sizeof(tenon_option)}, size + 8, 0u}) {
    passed[1].known.struct_size = other;
    CHECK(read().text() == "options[1]: struct_size is " + std::to_string(other) + ", expected " +
                               std::to_string(size) + " as in the first struct of the array");
    CHECK(types == "0");
  }
  passed[1].known.struct_size = size;
  passed[2].more[15] = 1;
  const Status unknown = read();
  CHECK(unknown.error() == Error::NotSupported);
  CHECK_THAT(std::string(unknown.text()), ContainsSubstring("options[2]: byte "));
  passed[1].known.type = 7;
  CHECK(read().error() == Error::NotFound);
  CHECK(types == "07");
  const tenon_option* const none = nullptr;
  const auto ignore = [](const tenon_option&) { return ok(); };
  CHECK(tenon::detail::read_structs("options", none, 0, ignore).ok());
  CHECK(tenon::detail::read_structs("options", none, 1, ignore).text() == "options is null");
}
