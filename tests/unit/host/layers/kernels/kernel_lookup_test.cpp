// SPDX-License-Identifier: MIT
//
// Delegates that run kernels of other plugins (tenon.kernel_lookup/1).
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tenon/abi/private/changes.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/layers/kernels/impl/kernel_lookup.hpp"
#include "tenon/host/layers/kernels/plugin_kernels.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "unit/host/loader/method/method_support.hpp"
#include "unit/host/loader/method/test_backend.hpp"

using namespace tenon;
using namespace tenon::test;

namespace kernel_lookup_test {

constexpr std::array<float, 4> ramp = {1, 2, 3, 4};

std::ptrdiff_t times(std::string_view call) { return std::ranges::count(calls(), call); }

/// A registry with plugins that have kernels, and the backend that asks for some.
struct AskingRegistry {
  AskingRegistry() {
    REQUIRE(registry.register_backend(tenon_static_plugin_FirstKernels).ok());
    calls().clear();
  }
  [[nodiscard]] host::MethodOptions options() const {
    host::MethodOptions out;
    out.registry = &registry;
    return out;
  }
  [[nodiscard]] Result<std::unique_ptr<host::Method>> load(const std::string& operators) const {
    return tenon::test::load(chain_of({operators}, "Asking"), options());
  }
  [[nodiscard]] host::BackendState state_of(std::string_view id) const {
    for (const host::BackendInfo& info : registry.enumerate_backends()) {
      if (info.id() == id) return info.state;
    }
    return host::BackendState::refused;
  }
  host::BackendRegistry registry;
};

TEST_CASE("a delegate runs a kernel of another plugin, which stays loaded with it",
          "[method][kernels]") {
  const AskingRegistry plugins;
  {
    auto method = plugins.load("test::scale.out");
    INFO(method.text());
    REQUIRE(method.ok());
    CHECK(plugins.state_of("FirstKernels") == host::BackendState::loaded);
    CHECK(plugins.state_of("SecondKernels") == host::BackendState::known);
    for (int run = 0; run < 2; ++run) {
      REQUIRE(set_floats(**method, 0, ramp, {4}).ok());
      REQUIRE((*method)->execute().ok());
      CHECK(floats((*method)->output(0)) == std::vector<float>{2, 4, 6, 8});
    }
  }
  CHECK(times("close First") == 1);
  CHECK(times("First: destroy scale.out") == 1);
}

TEST_CASE("a plugin is closed after the last delegate that has a kernel of it",
          "[method][kernels]") {
  const AskingRegistry plugins;
  auto first = plugins.load("test::quiet_scale.out");
  auto second = plugins.load("test::quiet_scale.out");
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  first->reset();
  CHECK(times("close First") == 0);
  REQUIRE(set_floats(**second, 0, ramp, {4}).ok());
  REQUIRE((*second)->execute().ok());
  CHECK(floats((*second)->output(0)) == std::vector<float>{2, 4, 6, 8});
  second->reset();
  CHECK(times("close First") == 1);
}

TEST_CASE("a steady run of a kernel for a delegate allocates nothing", "[method][kernels]") {
  const AskingRegistry plugins;
  auto method = plugins.load("test::quiet_scale.out");
  REQUIRE(method.ok());
  REQUIRE(set_floats(**method, 0, ramp, {4}).ok());
  REQUIRE((*method)->execute().ok());
  const std::size_t before = num_allocations();
  for (int run = 0; run < 10; ++run) static_cast<void>((*method)->execute());
  CHECK(num_allocations() == before);
}

TEST_CASE("a kernel for a delegate has temporary memory for each run", "[method][kernels]") {
  const AskingRegistry plugins;
  auto method = plugins.load("test::count test::count");
  REQUIRE(method.ok());
  REQUIRE(set_floats(**method, 0, ramp, {4}).ok());
  for (int run = 0; run < 3; ++run) CHECK((*method)->execute().ok());
}

TEST_CASE("a session has kernels of its own, by the same plugin", "[method][kernels]") {
  const AskingRegistry plugins;
  {
    auto method = plugins.load("test::scale.out");
    REQUIRE(method.ok());
    auto session = (*method)->create_session();
    INFO(session.text());
    REQUIRE(session.ok());
    (*method)->use_session(session->get());
    REQUIRE(set_floats(**method, 0, ramp, {4}).ok());
    REQUIRE((*method)->execute().ok());
    CHECK(floats((*method)->output(0)) == std::vector<float>{2, 4, 6, 8});
    CHECK(times("First: create scale.out") == 2);
  }
  CHECK(times("First: destroy scale.out") == 2);
  CHECK(times("close First") == 1);
}

TEST_CASE("the states of a session are destroyed in the order of the delegates",
          "[method][kernels][TN-SES-3]") {
  const AskingRegistry plugins;
  auto method =
      tenon::test::load(chain_of({"test::scale.out", "test::count"}, "Asking"), plugins.options());
  REQUIRE(method.ok());
  auto session = (*method)->create_session();
  REQUIRE(session.ok());
  calls().clear();
  session->reset();
  CHECK(calls() == std::vector<std::string>{"First: destroy scale.out", "First: destroy count"});
}

TEST_CASE("a kernel for a delegate has the cancel flag of the run, and so has its clone",
          "[method][kernels][cancel]") {
  const AskingRegistry plugins;
  for (const bool cancellable : {true, false}) {
    calls().clear();
    host::MethodOptions options = plugins.options();
    if (cancellable) options.layers.add(host::Cancellation());
    auto method = tenon::test::load(chain_of({"test::flag"}, "Asking"), std::move(options));
    REQUIRE(method.ok());
    auto session = (*method)->create_session();
    REQUIRE(session.ok());
    for (const host::Session* each : {static_cast<const host::Session*>(nullptr),
                                      static_cast<const host::Session*>(session->get())}) {
      (*method)->use_session(each);
      REQUIRE(set_floats(**method, 0, ramp, {4}).ok());
      REQUIRE((*method)->execute().ok());
    }
    CHECK(times("First: has flag") == (cancellable ? 2 : 0));
    CHECK(times("First: lacks flag") == (cancellable ? 0 : 2));
  }
}

TEST_CASE("an operator that no plugin has is missing, with the answer of each",
          "[method][kernels][TN-KRN-2]") {
  const AskingRegistry plugins;
  const auto method = plugins.load("test::scale.out test::third");
  CHECK(method.error() == Error::OperatorMissing);
  CHECK(method.text() ==
        "test.pte: method forward: delegate 0 (Asking): init: no plugin has a kernel for "
        "test::third: AbsentKernels: backend AbsentKernels is not available: no driver: "
        "libacme.so.1 not found; FirstKernels: backend FirstKernels has no kernel for test::third; "
        "SecondKernels: only three operators, found test::third");
  // The kernel that was found is destroyed, and its plugin released.
  CHECK(times("First: destroy scale.out") == 1);
  CHECK(times("close First") == 1);

  auto asking = plugins.registry.lookup_backend("Asking");
  REQUIRE(asking.ok());
  host::MethodOptions alone;
  alone.backends = {*asking};
  alone.layers = {host::PluginKernels()};
  CHECK(tenon::test::load(chain_of({"test::third"}, "Asking"), alone).text() ==
        "test.pte: method forward: delegate 0 (Asking): init: no plugin has a kernel for "
        "test::third: none that is known offers kernels");
}

TEST_CASE("a plugin that has not the dtypes leaves the call to the next", "[method][kernels]") {
  const AskingRegistry plugins;
  const auto method = plugins.load("test::picky");
  REQUIRE(method.ok());
  CHECK(times("Second: create picky") == 1);
}

TEST_CASE("a plugin that refuses the arguments of a delegate ends the load", "[method][kernels]") {
  const AskingRegistry plugins;
  const auto method = plugins.load("test::refuse");
  CHECK(method.error() == Error::InvalidArgument);
  CHECK_THAT(std::string(method.text()),
             ContainsSubstring("init: kernel test::refuse (FirstKernels): argument 0: expected "
                               "less, found more"));
}

TEST_CASE("a kernel that fails for a delegate gives its reason, and runs again",
          "[method][kernels][TN-KRN-4]") {
  const AskingRegistry plugins;
  auto method = plugins.load("test::fails_first");
  REQUIRE(method.ok());
  REQUIRE(set_floats(**method, 0, ramp, {4}).ok());
  const Status failed = (*method)->execute();
  CHECK(failed.error() == Error::OutOfResources);
  CHECK_THAT(std::string(failed.text()),
             ContainsSubstring("kernel test::fails_first (FirstKernels): the first run fails"));
  CHECK((*method)->execute().ok());
}

/// Fails in each way in which a host's own code can.
struct FailingLookup final : host::detail::KernelLookup {
  struct Kernel final : host::detail::HostFoundKernel {
    [[nodiscard]] Result<std::unique_ptr<HostFoundKernel>> clone(
        std::span<tenon_value* const>) const override {
      throw std::runtime_error("clone");
    }
    [[nodiscard]] Status run() override { throw std::bad_alloc(); }
  };
  [[nodiscard]] Result<std::unique_ptr<host::detail::HostFoundKernel>> find(
      const std::string& op, std::span<tenon_value* const>) override {
    if (op == "throws") throw 1;
    if (op == "memory") throw std::bad_alloc();
    return std::unique_ptr<host::detail::HostFoundKernel>(std::make_unique<Kernel>());
  }
};

TEST_CASE("exceptions and null pointers at the extension for kernels are failures with a reason",
          "[kernels]") {
  const host::HostTable table(host::all_layers(), "");
  const tenon_host* const raw = table.get();
  const auto& kernels = *static_cast<const tenon_kernel_lookup_v1*>(
      raw->get_extension(raw, TENON_EXTENSION_KERNEL_LOOKUP));
  FailingLookup lookup;
  const host::detail::Service service{&host::detail::KernelLookup::key,
                                      static_cast<host::detail::KernelLookup*>(&lookup)};
  host::detail::InitCall asking;
  asking.services = &service;
  const host::detail::InitCall alone;
  const auto reason = [&] { return std::string(kernels.last_failure(raw)); };
  tenon_found_kernel* kernel = nullptr;
  const auto find = [&](const tenon_init_context* context, const char* op, std::uint32_t num_args,
                        tenon_found_kernel** out) {
    const tenon_kernel_context call{sizeof call, num_args, op, nullptr};
    return kernels.find_kernel(context, &call, out);
  };

  CHECK(find(&asking, "throws", 0, &kernel) == TENON_STATUS_INTERNAL);
  CHECK(reason() == "an exception in the host");
  CHECK(find(&asking, "memory", 0, &kernel) == TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  CHECK(reason() == "the host is out of memory");
  CHECK(find(&asking, nullptr, 0, &kernel) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(reason() == "find_kernel: a pointer is NULL");
  CHECK(find(nullptr, "works", 0, &kernel) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(find(&alone, "works", 0, &kernel) == TENON_STATUS_OPERATOR_MISSING);
  CHECK(reason() == "no kernel for works: the host has no kernels of other plugins");
  CHECK(find(&asking, "works", 0, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(find(&asking, "works", 1, &kernel) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(kernels.find_kernel(&asking, nullptr, &kernel) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(kernel == nullptr);

  REQUIRE(find(&asking, "works", 0, &kernel) == TENON_STATUS_OK);
  tenon_found_kernel* other = nullptr;
  CHECK(kernels.run_kernel(kernel) == TENON_STATUS_MEMORY_ALLOCATION_FAILED);
  CHECK(kernels.clone_kernel(kernel, nullptr, 0, &other) == TENON_STATUS_INTERNAL);
  CHECK(kernels.clone_kernel(kernel, nullptr, 0, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(kernels.clone_kernel(kernel, nullptr, 1, &other) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(kernels.clone_kernel(nullptr, nullptr, 0, &other) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(reason() == "clone_kernel: a pointer is NULL");
  CHECK(kernels.run_kernel(nullptr) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(reason() == "run_kernel: a pointer is NULL");
  kernels.destroy_kernel(kernel);
  kernels.destroy_kernel(nullptr);
}

TEST_CASE("a blob is judged with the kernels of a registry, or none", "[kernels]") {
  const AskingRegistry plugins;
  const auto asking = plugins.registry.lookup_backend("Asking");
  REQUIRE(asking.ok());
  const auto program = open_program(chain_of({"test::scale.out"}, "Asking"));
  const auto plan = program->plan("forward");
  REQUIRE(plan.ok());
  const auto judge = [&](const host::BackendRegistry* registry) {
    return host::check_blob(**asking, *program, "forward", *(*plan)->delegates()->Get(0), nullptr,
                            registry);
  };
  CHECK(judge(&plugins.registry).ok());
  const auto missing = judge(nullptr);
  CHECK(missing.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(missing.text()), ContainsSubstring("none that is known offers kernels"));
}

TEST_CASE("a host has the extensions for kernels and for changes, and no other", "[kernels]") {
  const host::HostTable host(tenon::host::all_layers(), "");
  const auto ask = [&](const char* id) { return host.get()->get_extension(host.get(), id); };
  CHECK(ask(TENON_EXTENSION_KERNEL_LOOKUP) != nullptr);
  CHECK(ask(TENON_EXTENSION_CHANGES) != nullptr);
  CHECK(ask("tenon.kernel_lookup/2") == nullptr);
  CHECK(ask("") == nullptr);
  CHECK(ask(nullptr) == nullptr);
}

}  // namespace kernel_lookup_test
