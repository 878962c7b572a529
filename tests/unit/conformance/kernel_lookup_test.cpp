// SPDX-License-Identifier: MIT
#include "tenon/conformance/boundary/kernel_lookup.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tenon/conformance/boundary/host_side.hpp"
#include "tenon/host/impl/plugin/host_table.hpp"

namespace kernel_lookup_test {
namespace {

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
  const host::HostTable original({}, "");
  Faults faults;
  const conformance::detail::OnResize on_resize;
  const conformance::detail::GuardedHost guarded(original.get(), {}, faults, on_resize);
  Lookup lookup;
  const host::detail::KernelLookupScope scope(&lookup);

  const InsidePlugin inside;
  const auto* const table = static_cast<const tenon_kernel_lookup_v1*>(
      guarded.get()->get_extension(guarded.get(), TENON_EXTENSION_KERNEL_LOOKUP));
  REQUIRE(table != nullptr);
  tenon_found_kernel* found = nullptr;
  CHECK(table->find_kernel(guarded.get(), "acme::shift", nullptr, 0, &found) ==
        TENON_STATUS_OPERATOR_MISSING);
  CHECK(std::string(table->last_failure(guarded.get())) == "no acme::shift");
  REQUIRE(table->find_kernel(guarded.get(), "acme::turn", nullptr, 0, &found) == TENON_STATUS_OK);
  tenon_found_kernel* other = nullptr;
  REQUIRE(table->clone_kernel(found, nullptr, 0, &other) == TENON_STATUS_OK);
  CHECK(table->run_kernel(other) == TENON_STATUS_OK);
  table->destroy_kernel(other);
  table->destroy_kernel(found);
  CHECK(lookup.depths == Depths(6, 0));
  CHECK(plugin_depth == 1);
}

}  // namespace
}  // namespace kernel_lookup_test
