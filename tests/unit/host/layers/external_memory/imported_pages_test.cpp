// SPDX-License-Identifier: MIT
//
// Planned memory that a backend imports for as long as a method has it.
#include <tenon/abi/static_plugin.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <tenon/tenon.hpp>

#include "support/idle_backend.hpp"
#include "tenon/host/layers/external_memory/imported_pages.hpp"
#include "unit/host/loader/method/method_support.hpp"

using namespace tenon;
using namespace tenon::test;

namespace imported_pages_test { namespace {

/// Imports memory of the host, and counts what it has.
class Importing final : public Backend<Importing>,
                        public IdleDelegates,
                        public WithExternalMemory<Importing> {
 public:
  static constexpr std::string_view id = "ImportingPages";
  struct ImportedMemory {
    explicit ImportedMemory(const ExternalMemory& of) : at(of.handle) { ++live; }
    ImportedMemory(ImportedMemory&& other) noexcept : at(other.at) { ++live; }
    ~ImportedMemory() { --live; }
    void* data() { return at; }
    void* at;
  };
  static constexpr std::array memory_kinds{MemoryKind::HostMemory};
  Result<ImportedMemory> import_memory(const ExternalMemory& memory) {
    last = memory;
    return ImportedMemory(memory);
  }

  static inline int live = 0;
  static inline ExternalMemory last;
};

}}  // namespace imported_pages_test

using imported_pages_test::Importing;

TENON_PLUGIN(Importing);
namespace {

/// One delegate of the backend, and two planned buffers, of which one is larger than a page.
ProgramBuilder program_of_pages() {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.buffer(64);
  const auto large = plan.buffer(100'000);
  plan.input(planned_tensor(ScalarType::Float, {4}, large, 0));
  plan.delegate("ImportingPages", schema::DataLocation::INLINE, builder.inline_blob("any"));
  return builder;
}

}  // namespace

TEST_CASE("planned memory of a page or more is imported for the life of a method", "[pages]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(tenon_static_plugin_Importing).ok());
  host::MethodOptions options;
  options.registry = &registry;
  const auto listed = GENERATE(false, true);
  if (listed)
    options.layers = {host::ImportedPages()};  // A layer that is listed twice counts once.
  {
    const auto method = load_ok(program_of_pages(), options);
    CHECK(Importing::live == 1);
    CHECK(Importing::last.kind == MemoryKind::HostMemory);
    CHECK(Importing::last.handle == method->input(0).as.tensor->dl.data);
    CHECK(Importing::last.nbytes >= 100'000);
    CHECK(Importing::last.is_written);
  }
  CHECK(Importing::live == 0);
}

TEST_CASE("a method without a registry imports its memory when it lists the layer", "[pages]") {
  host::BackendRegistry registry;
  REQUIRE(registry.register_backend(tenon_static_plugin_Importing).ok());
  host::MethodOptions options;
  options.backends = {*registry.lookup_backend("ImportingPages")};
  const auto alone = load_ok(program_of_pages(), options);
  CHECK(Importing::live == 0);
  options.layers = {host::ImportedPages()};
  const auto importing = load_ok(program_of_pages(), options);
  CHECK(Importing::live == 1);
}
