// SPDX-License-Identifier: MIT
//
// What a plugin sees of the host's extensions.
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "support/catch.hpp"
#include "tenon/abi/private/changes.h"
#include "tenon/conformance/boundary.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup_table.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/calls.hpp"

namespace kernel_lookup_test { namespace {

using namespace tenon;
using namespace tenon::conformance;
using host::detail::HostFoundKernel;

/// The depth of the plugin under test at each call of the host.
using Depths = std::vector<int>;

class Kernel final : public HostFoundKernel {
 public:
  explicit Kernel(Depths& depths) : depths_(depths) {}
  ~Kernel() override { depths_.push_back(plugin_depth); }

  Result<std::unique_ptr<HostFoundKernel>> clone(std::span<tenon_value* const>) const override {
    depths_.push_back(plugin_depth);
    return std::unique_ptr<HostFoundKernel>(new Kernel(depths_));
  }
  Status run() override {
    depths_.push_back(plugin_depth);
    return ok();
  }

 private:
  Depths& depths_;
};

class Lookup final : public host::detail::KernelLookup {
 public:
  Result<std::unique_ptr<HostFoundKernel>> find(const std::string& op,
                                                std::span<tenon_value* const>) override {
    depths.push_back(plugin_depth);
    if (op != "acme::turn") return error(Error::OperatorMissing, "no ", op);
    return std::unique_ptr<HostFoundKernel>(new Kernel(depths));
  }

  Depths depths;
};

TEST_CASE("what runs for a plugin that asks for kernels is not the plugin's", "[conformance]") {
  const host::HostTable original(host::all_layers(), "");
  Faults faults;
  const conformance::OnResize on_resize;
  const conformance::detail::GuardedHost guarded(original.get(), {}, faults, on_resize);
  Lookup lookup;
  const host::detail::Service service{&host::detail::KernelLookup::key,
                                      static_cast<host::detail::KernelLookup*>(&lookup)};
  host::detail::InitCall context;
  context.services = &service;
  context.host = original.get();
  tenon_init_context copy = context;
  copy.host = guarded.get();
  const conformance::detail::GuardedStruct<tenon_init_context, tenon_init_context> shown(copy, 0,
                                                                                         &context);

  const InsidePlugin inside;
  const auto* const table = static_cast<const tenon_kernel_lookup_v1*>(
      guarded.get()->get_extension(guarded.get(), TENON_EXTENSION_KERNEL_LOOKUP));
  REQUIRE(table != nullptr);
  tenon_found_kernel* found = nullptr;
  const tenon_kernel_context shift{sizeof shift, 0, "acme::shift", nullptr};
  const tenon_kernel_context turn{sizeof turn, 0, "acme::turn", nullptr};
  const tenon_kernel_context nameless{sizeof nameless, 0, nullptr, nullptr};
  CHECK(table->find_kernel(shown.get(), &shift, &found) == TENON_STATUS_OPERATOR_MISSING);
  CHECK(std::string(table->last_failure(guarded.get())) == "no acme::shift");
  REQUIRE(table->find_kernel(shown.get(), &turn, &found) == TENON_STATUS_OK);
  tenon_found_kernel* other = nullptr;
  REQUIRE(table->clone_kernel(found, nullptr, 0, &other) == TENON_STATUS_OK);
  CHECK(table->run_kernel(other) == TENON_STATUS_OK);
  table->destroy_kernel(other);
  table->destroy_kernel(found);
  table->destroy_kernel(nullptr);
  CHECK(table->find_kernel(shown.get(), &turn, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(table->find_kernel(shown.get(), &nameless, &found) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(lookup.depths == Depths(6, 0));
  CHECK(plugin_depth == 1);
}

TEST_CASE("a plugin that asks for changes gets the host's changes, which sees its own context",
          "[conformance]") {
  const host::HostTable original(host::all_layers(), "");
  Faults faults;
  const conformance::OnResize on_resize;
  const conformance::detail::GuardedHost guarded(original.get(), {}, faults, on_resize);
  tenon_changes changes{sizeof(tenon_changes), 0, 3};
  const host::detail::CallContext counted(original.get(), "forward", nullptr, nullptr, &changes);
  const host::detail::CallContext uncounted(original.get(), "forward", nullptr, nullptr);
  const auto* const table = static_cast<const tenon_changes_v1*>(
      guarded.get()->get_extension(guarded.get(), TENON_EXTENSION_CHANGES));
  REQUIRE(table != nullptr);
  Boundary boundary(tenon_backend_api{}, nullptr, {});
  const auto asked = [&](const tenon_execution_context& context) {
    WatchedDelegate delegate(boundary.watched(), 0, tenon_init_context{}, faults, false);
    delegate.original_context = &context;
    tenon_execution_context copy = context;
    copy.host = guarded.get();
    const conformance::detail::GuardedStruct<tenon_execution_context, WatchedDelegate> shown(
        copy, 0, &delegate);
    return table->get_changes(shown.get());
  };
  CHECK(asked(counted) == &changes);
  CHECK(asked(uncounted) == nullptr);
}

TEST_CASE("a plugin gets no extension that the host has not, or has in part", "[conformance]") {
  static tenon_changes_v1 short_changes{offsetof(tenon_changes_v1, get_changes), 0, nullptr};
  tenon_host host = *host::HostTable({}, "").get();
  host.get_extension = [](const tenon_host*, const char* id) -> const void* {
    return std::string_view(id) == TENON_EXTENSION_CHANGES ? &short_changes : nullptr;
  };
  Faults faults;
  const conformance::OnResize on_resize;
  const conformance::detail::GuardedHost guarded(&host, {}, faults, on_resize);
  const auto ask = [&](const char* id) { return guarded.get()->get_extension(guarded.get(), id); };
  CHECK(ask(TENON_EXTENSION_CHANGES) == nullptr);
  CHECK(ask(TENON_EXTENSION_KERNEL_LOOKUP) == nullptr);
  CHECK(ask("acme.other/1") == nullptr);
  CHECK(ask(nullptr) == nullptr);
}

}}  // namespace kernel_lookup_test
