// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/fixtures/loaded_plugin.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "negotiation": the plugin in older and newer hosts. The structs of an older host are
/// shorter, with a forbidden page in place of the rest; those of a newer host have more bytes,
/// without a meaning yet.
namespace tenon::inline TENON_RELEASE::conformance {

TENON_KIT_SUITE(negotiation)

namespace {

/// Loads and runs the case in a host of that shape; TN-NEG-3 is violated when that fails or when
/// the outputs differ from those of the current host.
void run_in_shape(Context& kit, const HostShape& shape, std::string_view when) {
  const auto difference_in = [&](const HostShape& as) {
    LiveCase live(kit, {.host = as});
    auto method = CaseMethod::load(live.program(), live.backend(), kit.backend());
    return method.ok() ? live.first_difference(**method) : std::string(method.text());
  };
  if (const std::string today = difference_in(HostShape{}); !today.empty()) {
    kit.blocked("in today's host: ", today);
  }
  const std::string then = difference_in(shape);
  kit.expect("TN-NEG-3", then.empty(), when, ": ", then);
}

/// The host of ABI 1.`minor`, if the plugin supports it.
HostShape old_shape(Context& kit) {
  const auto record = kit.need(host::peek(kit.plugin()), "the record");
  if (record.min_host_abi_minor > 0) {
    kit.not_applicable("the plugin needs a host of ABI 1.", record.min_host_abi_minor);
  }
  return HostShape::of_1_0();
}

}  // namespace

TENON_CONFORMANCE_TEST("negotiation/table-is-complete",
                       "the table has the size that it states and the functions it must have",
                       "[negotiation][level-2][backend][TN-BCK-3]") {
  const LoadedPlugin plugin = kit.need(LoadedPlugin::load(kit.plugin()), "the plugin");
  const tenon_backend_api* table = plugin.table(kit.backend().id);
  if (!table) kit.blocked("the plugin has no table for backend ", kit.backend().id);
  // A size can count at most the bytes up to the next page boundary.
  constexpr std::uint32_t most = 4096;
  kit.expect("TN-BCK-3",
             table->struct_size % alignof(tenon_backend_api) == 0 && table->struct_size <= most,
             "struct_size is ", table->struct_size, ", expected a multiple of ",
             alignof(tenon_backend_api), " up to ", most);
  const auto complete = host::complete_api(*table, kit.backend().id);
  kit.expect("TN-BCK-3", complete.ok(), complete.text());
}

TENON_CONFORMANCE_TEST("negotiation/serves-older-host", "an older host is served",
                       "[negotiation][level-2][backend][TN-NEG-3][TN-HST-1]") {
  const Status opened = OpenedBackend::try_open(kit, old_shape(kit));
  kit.expect("TN-NEG-3", opened.ok(), "open in a host of ABI 1.0: ", opened.text());
}

TENON_CONFORMANCE_TEST("negotiation/serves-newer-host", "a newer host is served",
                       "[negotiation][level-2][backend][TN-NEG-3]") {
  const Status opened = OpenedBackend::try_open(kit, HostShape::of_the_future());
  kit.expect("TN-NEG-3", opened.ok(), "open in a host of a later minor: ", opened.text());
}

TENON_CONFORMANCE_TEST("negotiation/refuses-other-major",
                       "a host of another major is refused with both versions",
                       "[negotiation][level-2][backend][TN-BCK-4]") {
  HostShape shape;
  shape.abi_major = TENON_ABI_MAJOR + 1;
  const Status today = OpenedBackend::try_open(kit, HostShape{});
  if (!today.ok()) kit.blocked("open in today's host: ", today.text());
  const Status opened = OpenedBackend::try_open(kit, shape);
  const std::string theirs = concat(shape.abi_major, ".");
  const std::string ours = concat(TENON_ABI_MAJOR, ".");
  kit.expect("TN-BCK-4", opened.error() == Error::NotSupported, "open in a host of ABI major ",
             shape.abi_major, " gave ", error_name(opened.error()), ", expected NotSupported");
  if (opened.ok()) return;
  kit.expect("TN-BCK-4",
             opened.text().find(theirs) != std::string_view::npos &&
                 opened.text().find(ours) != std::string_view::npos,
             "the text does not name both versions (", theirs, "x and ", ours,
             "x): ", opened.text());
}

TENON_CONFORMANCE_TEST("negotiation/runs-in-older-host",
                       "a program runs in an older host as in today's",
                       "[negotiation][level-3][case][TN-NEG-3][TN-HST-1]") {
  run_in_shape(kit, old_shape(kit), "in a host of ABI 1.0");
}

TENON_CONFORMANCE_TEST("negotiation/runs-in-newer-host",
                       "a program runs in a newer host as in today's",
                       "[negotiation][level-3][case][TN-NEG-3]") {
  run_in_shape(kit, HostShape::of_the_future(), "in a host of a later minor");
}

TENON_CONFORMANCE_TEST("negotiation/runs-in-minimal-hosts",
                       "a program runs in hosts that lack what a host may lack",
                       "[negotiation][level-9][case][TN-NEG-3][TN-HST-1]") {
  const HostShape old = old_shape(kit);
  const int rounds = kit.options().level >= 10 ? 40 : 8;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t bits = kit.random()();
    const bool is_old = (bits & 1) != 0;
    HostShape shape = is_old ? old : HostShape{};
    shape.tracer = (bits & 2) != 0;
    shape.host_extensions = (bits & 4) != 0;
    // Members that an old host lacks are known by now: only bytes behind all of them are unknown.
    shape.unknown_bytes = is_old ? 0 : static_cast<std::uint32_t>((bits >> 3) % 9) * 8;
    shape.abi_minor = static_cast<std::uint16_t>(shape.abi_minor + shape.unknown_bytes / 8);
    run_in_shape(kit, shape,
                 concat("in a host of ABI 1.", shape.abi_minor, " with ", shape.unknown_bytes,
                        " unknown bytes in its structs"));
  }
}

}  // namespace tenon::inline TENON_RELEASE::conformance
