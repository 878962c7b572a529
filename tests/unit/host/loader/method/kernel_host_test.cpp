// SPDX-License-Identifier: MIT
//
// The tables that kernels of an application get from their host: of the loader, of the method's
// layers, and of its registry.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "method_support.hpp"
#include "tenon/abi/extensions/cancel.h"
#include "tenon/abi/extensions/prepare.h"
#include "tenon/abi/extensions/threads.h"
#include "tenon/abi/private/changes.h"
#include "tenon/host/async.hpp"

using namespace tenon;
using namespace tenon::test;

namespace kernel_host_test {

constexpr const char* own_id = "test.own/1";

/// A kernel that asks its host for tables.
struct Asking {
  Asking() { REQUIRE(kernels.add("test::ask", host::Kernel{&ask, this}).ok()); }

  /// The ids of `ask` that the host has a table for.
  [[nodiscard]] std::vector<std::string> ids(host::MethodOptions options) {
    ProgramBuilder builder;
    auto plan = builder.plan("forward");
    const auto number = plan.value(int_value(1));
    plan.op("test::ask", "");
    plan.instruction(kernel_call(0, {number}));
    options.kernels = &kernels;
    const auto method = load_ok(builder, std::move(options));
    REQUIRE(method->execute().ok());
    return std::exchange(found, {});
  }

  host::KernelTable kernels;
  std::vector<std::string> found;
  const tenon_thread_pool* pool = nullptr;  ///< Of the latest call.
  std::string name;

 private:
  static tenon_status ask(void* self, const tenon_execution_context* context, tenon_value* const*,
                          std::uint32_t) {
    auto& asking = *static_cast<Asking*>(self);
    const tenon_host& host = *context->host;
    asking.name = host.name;
    host.log(&host, TENON_LOG_INFO, "a line", 6);
    for (const char* id : {TENON_EXTENSION_CHANGES, TENON_EXTENSION_CANCEL_FLAG,
                           TENON_EXTENSION_PREPARE, TENON_EXTENSION_THREADS, own_id, ""}) {
      const void* const table = host.get_extension(&host, id);
      if (!table) continue;
      asking.found.emplace_back(id);
      if (asking.found.back() == TENON_EXTENSION_THREADS) {
        asking.pool = static_cast<const tenon_threads_v1*>(table)->get_pool(context);
      }
    }
    return host.get_extension(&host, nullptr) ? TENON_STATUS_INTERNAL : TENON_STATUS_OK;
  }
};

using Ids = std::vector<std::string>;

}  // namespace kernel_host_test
using namespace kernel_host_test;

TEST_CASE("without a registry and layers kernels find the loader's tables alone", "[method]") {
  Asking asking;
  CHECK(asking.ids({}) == Ids{TENON_EXTENSION_CHANGES});
  CHECK(asking.name.starts_with("tenon host "));
}

TEST_CASE("without a registry kernels find the tables of the method's layers", "[method]") {
  Asking asking;
  const auto pool = host::WorkerPool::create(1);
  REQUIRE(pool.ok());
  CHECK(asking.ids({.layers = {**pool}}) == Ids{TENON_EXTENSION_CHANGES, TENON_EXTENSION_THREADS});
  CHECK(asking.pool == (*pool)->table());
}

TEST_CASE("kernels find the tables of the registry that the method was loaded with", "[method]") {
  Asking asking;
  CHECK(asking.ids(with_registry()) == Ids{TENON_EXTENSION_CHANGES, TENON_EXTENSION_CANCEL_FLAG,
                                           TENON_EXTENSION_PREPARE, TENON_EXTENSION_THREADS});
  CHECK(asking.pool == nullptr);
  static constexpr int own = 0;
  const host::Registry registry({.extensions = {{own_id, &own}}});
  CHECK(asking.ids({.registry = &registry}) == Ids{TENON_EXTENSION_CHANGES, own_id});
}
