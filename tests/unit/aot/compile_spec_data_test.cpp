// SPDX-License-Identifier: MIT
//
// Compile specs as a backend reads them: by a table of those that it has.
#include <tenon/aot/compile_spec_data.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace compile_spec_data_test { namespace {

using namespace tenon;

constexpr aot::CompileSpecRow rows[] = {{"fold", "0|1", "constants are folded"},
                                        {"tag", "a name", "of the file"}};

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Reads `given`; what was set is appended to `out`. A value that begins with '?' does not fit.
Status read(const Pairs& given, std::span<const aot::CompileSpecRow> table, Pairs& out) {
  std::vector<tenon_compile_spec> raw;
  for (const auto& [key, value] : given) {
    tenon_compile_spec& spec = raw.emplace_back();
    spec.struct_size = sizeof spec;
    spec.key = key.c_str();
    spec.value = value.data();
    spec.value_size = value.size();
  }
  const CompileSpecs specs(raw.data(), static_cast<std::uint32_t>(raw.size()));
  return aot::read_specs(specs, table, [&](std::string_view key, std::string_view value) {
    out.emplace_back(key, value);
    return !value.starts_with('?');
  });
}

std::string failure(const Pairs& given, std::span<const aot::CompileSpecRow> table = rows) {
  Pairs out;
  return describe(read(given, table, out));
}

TEST_CASE("compile specs that a table has are passed on in their order", "[aot]") {
  Pairs out;
  CHECK(read({{"tag", "a"}, {"fold", ""}}, rows, out).ok());
  CHECK(out == Pairs{{"tag", "a"}, {"fold", ""}});
  CHECK(read({}, {}, out).ok());
}

TEST_CASE("a compile spec that no row has is refused with those that there are", "[aot]") {
  CHECK(failure({{"flod", "1"}}) ==
        "NotFound (0x20): compile spec 'flod' is unknown; the backend has: fold, tag");
  CHECK(failure({{"fold", "1"}}, {}) ==
        "NotFound (0x20): compile spec 'fold' is unknown; the backend has none");
  CHECK(failure({{std::string(200, 'k'), "1"}}).size() < 150);
}

TEST_CASE("a compile spec with a wrong value is refused with what is expected", "[aot]") {
  CHECK(failure({{"fold", "?2"}}) ==
        "InvalidArgument (0x12): compile spec 'fold': expected 0|1, found '?2'");
  CHECK(failure({{"tag", "?" + std::string(200, 'v')}}).size() < 150);
}

TEST_CASE("a compile spec that is given twice is refused", "[aot]") {
  CHECK(failure({{"fold", "1"}, {"tag", "a"}, {"fold", "1"}}) ==
        "InvalidArgument (0x12): compile spec 'fold' is given twice");
}

}}  // namespace compile_spec_data_test
