// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/checked_options.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/fixtures/loaded_plugin.hpp"
#include "kit/process/guarded_memory.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/options.hpp"

/// Suite "negotiation": the plugin in newer hosts, whose structs have more bytes, without a meaning
/// yet; behind the structs of each host is a forbidden page.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(negotiation)

namespace {

/// Loads and runs the case in a host of that shape; TN-NEG-3 is violated when that fails or when
/// the outputs differ from the current host's.
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

/// An array of structs as a host of a later ABI has them: with members behind this header's. They
/// look like one more element, whose key must not be read.
template <class Struct>
class LongerElements {
 public:
  explicit LongerElements(const std::vector<Struct>& elements)
      : memory_(elements.size() * step, alignof(Struct),
                {"TN-BCK-10", "behind an array of structs"}),
        trap_(1, 1, {"TN-BCK-10", "around the key of no element"}) {
    trap_.forbid({"TN-BCK-10", "that only a walk by another step than struct_size reaches"});
    Struct unknown{};
    unknown.struct_size = step;
    unknown.key = reinterpret_cast<const char*>(trap_.data());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      Struct longer = elements[i];
      longer.struct_size = step;
      std::memcpy(memory_.data() + i * step, &longer, sizeof longer);
      std::memcpy(memory_.data() + i * step + sizeof longer, &unknown, sizeof unknown);
    }
  }
  [[nodiscard]] const Struct* get() const noexcept {
    return reinterpret_cast<const Struct*>(memory_.data());
  }

 private:
  static constexpr std::uint32_t step = 2 * sizeof(Struct);
  GuardedMemory memory_, trap_;
};

/// The array of a context, with at least two elements: the last one, or `other`, is given again.
template <class Struct>
[[nodiscard]] std::vector<Struct> two_or_more(const Struct* array, std::uint32_t size,
                                              const Struct& other) {
  std::vector<Struct> out(array, array + size);
  while (out.size() < 2) out.push_back(out.empty() ? other : out.back());
  return out;
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

TENON_CONFORMANCE_TEST("negotiation/runs-in-newer-host",
                       "a program runs in a newer host as in today's",
                       "[negotiation][level-3][case][TN-NEG-3]") {
  run_in_shape(kit, HostShape::of_the_future(), "in a host of a later minor");
}

TENON_CONFORMANCE_TEST("negotiation/walks-longer-elements",
                       "elements that are longer than those of today are walked by their size",
                       "[negotiation][level-3][case][TN-BCK-10]") {
  LiveCase live(kit);
  OptionValue value(std::int64_t{1});
  std::string key = unknown_key;
  for (const host::OptionDeclaration& option : live.backend().backend().options()) {
    if (!option.at_load) continue;
    key = option.key;
    value = kit.need(live.backend().backend().get_option(key), "the value of an option");
    break;
  }
  const tenon_compile_spec no_spec{sizeof(tenon_compile_spec), 0, unknown_key, "", 0};
  const tenon_option an_option = write_option(key.c_str(), value);
  bool judged = false;
  for (const bool is_option : {false, true}) {
    // A backend may refuse a list in which one element is given twice.
    for (const bool is_longer : {false, true}) {
      std::list<LongerElements<tenon_compile_spec>> longer_specs;
      std::list<LongerElements<tenon_option>> longer_options;
      live.boundary().on_init = [&](WatchedInit& call) {
        tenon_init_context& context = call.context;
        const auto specs = two_or_more(context.compile_specs, context.num_compile_specs, no_spec);
        const auto options =
            two_or_more(context.runtime_specs, context.num_runtime_specs, an_option);
        if (is_option) {
          context.runtime_specs =
              is_longer ? longer_options.emplace_back(options).get() : options.data();
          context.num_runtime_specs = static_cast<std::uint32_t>(options.size());
        } else {
          context.compile_specs = is_longer ? longer_specs.emplace_back(specs).get() : specs.data();
          context.num_compile_specs = static_cast<std::uint32_t>(specs.size());
        }
        return call.forward();
      };
      auto method = CaseMethod::load(live.program(), live.backend(), kit.backend());
      live.boundary().on_init = nullptr;
      const std::string difference =
          method.ok() ? live.first_difference(**method) : std::string(method.text());
      if (!is_longer && !difference.empty()) break;
      judged = judged || is_longer;
      kit.expect("TN-BCK-10", difference.empty(), "with elements of ",
                 is_option ? "runtime_specs" : "compile_specs",
                 " of twice their size: ", difference);
    }
  }
  if (!judged) kit.not_applicable("the backend takes neither two compile specs nor two options");
}

TENON_CONFORMANCE_TEST("negotiation/runs-in-minimal-hosts",
                       "a program runs in hosts that lack what a host may lack",
                       "[negotiation][level-9][case][TN-NEG-3][TN-HST-1]") {
  const int rounds = kit.options().level >= 10 ? 40 : 8;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t bits = kit.random()();
    HostShape shape;
    shape.tracer = (bits & 2) != 0;
    shape.host_extensions = (bits & 4) != 0;
    shape.unknown_bytes = static_cast<std::uint32_t>((bits >> 3) % 9) * 8;
    shape.abi_minor = static_cast<std::uint16_t>(shape.abi_minor + shape.unknown_bytes / 8);
    run_in_shape(kit, shape,
                 concat("in a host of ABI ", TENON_ABI_MAJOR, ".", shape.abi_minor, " with ",
                        shape.unknown_bytes, " unknown bytes in its structs"));
  }
}

}}}  // namespace tenon::TENON_RELEASE::conformance
