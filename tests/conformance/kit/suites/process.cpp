// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/platform/system.hpp"
#include "kit/process/interposition.hpp"
#include "kit/process/resources.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/sanitizer.hpp"

/// Suite "process": a plugin is a guest in the process of an application. `Watch` compares the
/// process around every call of every test, and the runner detects crashes and hangs; the tests
/// here call everything once and judge nothing else.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(process)

TENON_CONFORMANCE_TEST("process/unchanged-by-backend",
                       "every function of the backend returns and leaves the process unchanged",
                       "[process][level-3][backend][TN-BCK-1][TN-BCK-7][TN-BCK-8][TN-PRC-1]"
                       "[TN-PRC-2][TN-PRC-3][TN-PRC-4][TN-PRC-5]") {
  OpenedBackend backend(kit);
  static_cast<void>(backend.backend().is_available());
  for (const host::OptionDeclaration& option : backend.backend().options()) {
    static_cast<void>(backend.backend().get_option(option.key));
  }
  const auto devices = backend.backend().extension<tenon_devices_v1>(TENON_EXTENSION_DEVICES);
  if (devices && devices->list_devices) {
    const auto sink = [](void*, const tenon_device_info*) noexcept {};
    static_cast<void>(devices->list_devices(backend.backend().raw(), sink, nullptr));
  }
  static_cast<void>(backend.boundary().api().get_extension(backend.backend().raw(),
                                                           "tenon.conformance.unknown/1"));
}

TENON_CONFORMANCE_TEST("process/unchanged-by-runs",
                       "loading and running and destroying return and leave the process unchanged",
                       "[process][level-3][case][TN-BCK-1][TN-BCK-7][TN-BCK-8][TN-PRC-1]"
                       "[TN-PRC-2][TN-PRC-3][TN-PRC-4][TN-PRC-5]") {
  LiveCase live(kit);
  static_cast<void>(live.run(*live.load()));
}

TENON_CONFORMANCE_TEST("process/small-stack", "a stack of 256 KiB is enough",
                       "[process][level-3][case][TN-BCK-7]") {
#if TENON_DETAIL_ADDRESS_SANITIZER
  kit.not_applicable("a sanitizer takes more of the stack");
#endif
  LiveCase live(kit);
  // The kit's and the host's own share of the stack.
  constexpr std::size_t of_host = std::size_t{64} << 10;
  std::optional<Status> outcome;
  const bool ran = platform::run_with_stack((std::size_t{256} << 10) + of_host, [&] {
    auto method = CaseMethod::load(live.program(), live.backend(), kit.backend());
    outcome =
        method.ok() ? (*method)->execute((*method)->runs().front()) : std::move(method).status();
  });
  if (!ran) kit.blocked("no thread with such a stack");
  if (!outcome) kit.blocked("a function of the plugin ended the thread");
  kit.need(*outcome, "the case does not run in a thread of its own");
}

TENON_CONFORMANCE_TEST("process/frees-nothing-of-host", "the plugin frees nothing of the host",
                       "[process][level-4][case][TN-BCK-2]") {
  if (!interposition.present) kit.not_applicable("calls of free cannot be seen here");
  // The boundary reports each call that does.
  LiveCase live(kit);
  static_cast<void>(live.run(*live.load()));
}

}}}  // namespace tenon::TENON_RELEASE::conformance
