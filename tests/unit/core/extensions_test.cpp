// SPDX-License-Identifier: MIT
#include "tenon/core/extensions.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

namespace extensions_list_test {
namespace {

using namespace tenon;

/// What code that walks the list reads of one function.
struct Entry {
  std::string_view name;
  bool may_be_null;

  bool operator==(const Entry&) const = default;
};

template <class Table>
std::vector<Entry> entries_of() {
  const auto read = []<class... Functions>(TypeList<Functions...>) {
    static_assert((std::is_same_v<typename Functions::Table, Table> && ...));
    return std::vector<Entry>{{Functions::name, Functions::may_be_null}...};
  };
  return read(typename BackendExtension<Table>::Functions());
}

}  // namespace

TEST_CASE("the ids of extensions are sorted, and each is there once", "[core]") {
  const std::vector<std::string_view> ids(backend_extensions.begin(), backend_extensions.end());
  CHECK(std::ranges::adjacent_find(ids, std::ranges::greater_equal()) == ids.end());
  CHECK(std::ranges::find(ids, std::string_view(TENON_EXTENSION_CANCEL)) != ids.end());
  CHECK(std::ranges::find(ids, std::string_view(TENON_EXTENSION_CANCEL_FLAG)) == ids.end());
}

TEST_CASE("the list has the functions of a table in its order", "[core]") {
  CHECK(entries_of<tenon_kernels_v1>() == std::vector<Entry>{{"list_operators", false},
                                                             {"create_kernel", false},
                                                             {"run_kernel", false},
                                                             {"destroy_kernel", false}});
  CHECK(entries_of<tenon_sequence_v1>() ==
        std::vector<Entry>{{"list", false}, {"read", true}, {"write", true}, {"written", true}});
}

TEST_CASE("an extension says whether it may still change", "[core]") {
  CHECK(BackendExtension<tenon_cancel_v1>::stage == ExtensionStage::frozen);
  CHECK(BackendExtension<tenon_sequence_v1>::stage == ExtensionStage::draft);
}

}  // namespace extensions_list_test
