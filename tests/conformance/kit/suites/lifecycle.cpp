// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/run/budget.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "lifecycle": open, init, execute, destroy and close, in every permitted order.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(lifecycle)

namespace {

/// Copies of all that a context of `init` points to, in memory that can be forbidden: the method's
/// name, the arrays, and the keys and values of their elements.
class ContextCopies {
 public:
  /// Replaces the pointers of `context`, and of its arrays, by pointers to copies.
  void move_away(tenon_init_context& context) {
    context.method_name = text(context.method_name);
    move_array(context.compile_specs, context.num_compile_specs, [&](tenon_compile_spec& spec) {
      spec.key = text(spec.key);
      spec.value = copy(spec.value, static_cast<std::size_t>(spec.value_size));
    });
    move_array(context.runtime_specs, context.num_runtime_specs, [&](tenon_option& option) {
      option.key = text(option.key);
      if (option.type != TENON_OPTION_STRING && option.type != TENON_OPTION_BYTES) return;
      tenon_span& span = option.as.span;
      span.data = copy(span.data, static_cast<std::size_t>(span.size));
    });
  }

  /// Makes any access to the copies fault.
  void forbid() noexcept {
    for (GuardedMemory& memory : copies_) memory.forbid(kept);
  }

 private:
  static constexpr Forbidden kept{"TN-INI-3", "of the context of init, which has ended"};

  [[nodiscard]] void* copy(const void* from, std::size_t size) {
    if (!from || size == 0) return const_cast<void*>(from);
    GuardedMemory& memory = copies_.emplace_back(size, alignof(std::max_align_t), kept);
    std::memcpy(memory.data(), from, size);
    return memory.data();
  }
  [[nodiscard]] const char* text(const char* from) {
    return from ? static_cast<const char*>(copy(from, std::strlen(from) + 1)) : nullptr;
  }
  /// Elements are as long as the first of them says.
  template <class Element, class Change>
  void move_array(const Element*& array, std::uint32_t count, const Change& change) {
    if (count == 0 || !array) return;
    const std::size_t step = array->struct_size;
    auto* const moved = static_cast<std::byte*>(copy(array, count * step));
    array = reinterpret_cast<const Element*>(moved);
    for (std::uint32_t i = 0; i < count; ++i) {
      change(*reinterpret_cast<Element*>(moved + i * step));
    }
  }

  std::list<GuardedMemory> copies_;
};

}  // namespace

TENON_CONFORMANCE_TEST("lifecycle/opens-repeatedly", "the backend opens and closes again and again",
                       "[lifecycle][level-3][backend][TN-BCK-5]") {
  for (int round = 0; round < 10; ++round) {
    const OpenedBackend backend(kit);
    static_cast<void>(backend.backend().is_available());
  }
}

TENON_CONFORMANCE_TEST("lifecycle/serves-two-hosts", "two hosts open the backend at a time",
                       "[lifecycle][level-3][backend][TN-BCK-9]") {
  const OpenedBackend first(kit);
  const Status before = first.backend().is_available();
  {
    const OpenedBackend second(kit);
    kit.expect("TN-BCK-9", second.backend().is_available().error() == before.error(),
               "the second host gets another answer from is_available than the first");
  }
  kit.expect("TN-BCK-9", first.backend().is_available().error() == before.error(),
             "is_available has another answer once a second host has closed the backend");
}

TENON_CONFORMANCE_TEST("lifecycle/runs-repeatedly", "a program runs again and again",
                       "[lifecycle][level-3][case][TN-EXE-1]") {
  LiveCase live(kit);
  const auto method = live.load();
  kit.need(method->execute(method->runs().front()), "the case does not run");
  const int times = kit.options().level >= 10 ? 1000 : 20;
  for (int i = 2; i <= times; ++i) {
    const Status again = method->execute(method->runs().front());
    if (!kit.expect("TN-EXE-1", again.ok(), "run ", i, " failed: ", again.text())) return;
  }
}

TENON_CONFORMANCE_TEST("lifecycle/loads-repeatedly",
                       "a program is loaded and destroyed again and again",
                       "[lifecycle][level-3][case][TN-INI-4][TN-INI-7]") {
  LiveCase live(kit);
  live.load().reset();
  const int times = 1 + rounds_of(loads_of("lifecycle/loads-repeatedly"), kit);
  for (int i = 2; i <= times; ++i) {
    auto again = CaseMethod::load(live.program(), live.backend(), kit.backend());
    if (!kit.expect("TN-INI-7", again.ok(), "load ", i, " failed: ", again.text())) return;
    kit.need((*again)->execute((*again)->runs().front()), "the case does not run");
  }
}

TENON_CONFORMANCE_TEST("lifecycle/other-programs-between",
                       "a program loads and runs as before once others were destroyed",
                       "[lifecycle][level-4][case][TN-INI-8]") {
  LiveCase live(kit);
  const std::vector<Case>& cases = kit.backend().cases;
  const auto self = std::ranges::find(cases, kit.of_case().name, &Case::name);
  if (self == cases.end() || cases.size() < 2) {
    kit.not_applicable("the backend has no other case");
  }
  const CaseRun& run = kit.of_case().runs.front();
  // Alone in its process, which no other program has been in.
  std::vector<std::byte> expected;
  {
    const auto alone = live.load();
    kit.need(alone->execute(run), "the case does not run");
    expected = kit.need(alone->output_bytes(), "the outputs of the case");
    const auto second = live.load();
    kit.need(second->execute(run), "the case does not run");
    if (kit.backend().deterministic &&
        kit.need(second->output_bytes(), "the outputs of the case") != expected) {
      kit.blocked("a second delegate gives other outputs before any was destroyed");
    }
  }
  const auto rounds =
      static_cast<std::size_t>(rounds_of(loads_of("lifecycle/other-programs-between"), kit));
  // The cases after this one in turn, so that over all cases each has followed others.
  const auto at = static_cast<std::size_t>(self - cases.begin());
  std::string before;
  for (std::size_t i = 0; i < rounds; ++i) {
    const Case& other = cases[(at + 1 + i % (cases.size() - 1)) % cases.size()];
    // Tests of its own judge the other one.
    const auto program = CaseProgram::open(other);
    if (!program.ok()) continue;
    if (const auto method = CaseMethod::load(*program, live.backend(), kit.backend());
        method.ok()) {
      static_cast<void>((*method)->execute(other.runs.front()));
    }
    before += concat(before.empty() ? "" : ", ", other.name);
    const auto again = CaseMethod::load(live.program(), live.backend(), kit.backend());
    if (!kit.expect("TN-INI-8", again.ok(), "once other programs were destroyed (", before,
                    "), this one cannot be loaded: ", again.text())) {
      return;
    }
    const Status ran = (*again)->execute(run);
    if (!kit.expect("TN-INI-8", ran.ok(), "once other programs were destroyed (", before,
                    "), this one does not run: ", ran.text())) {
      return;
    }
    if (!kit.backend().deterministic) continue;
    const auto found = kit.need((*again)->output_bytes(), "the outputs of the case");
    if (!kit.expect("TN-INI-8", found == expected, "once other programs were destroyed (", before,
                    "), the outputs differ from the first load's")) {
      return;
    }
  }
}

TENON_CONFORMANCE_TEST("lifecycle/delegates-are-independent", "delegates do not disturb each other",
                       "[lifecycle][level-3][case][TN-DES-1][TN-BCK-9]") {
  LiveCase live(kit);
  if (const std::string alone = live.first_difference(*live.load()); !alone.empty()) {
    kit.blocked("a delegate alone is wrong: ", alone);
  }
  std::vector<std::unique_ptr<CaseMethod>> methods;
  const auto count =
      static_cast<std::size_t>(rounds_of(loads_of("lifecycle/delegates-are-independent"), kit));
  for (std::size_t i = 0; i < count; ++i) methods.push_back(live.load());
  const std::string together = live.first_difference(*methods[0]);
  kit.expect("TN-BCK-9", together.empty(), "with ", count,
             " delegates alive the first is wrong: ", together);
  // Some of the remaining delegates have lost the one created before them, some the one after.
  methods[1].reset();
  methods[3].reset();
  for (std::size_t left = 2; left < count; ++left) {
    if (!methods[left]) continue;
    const std::string found = live.first_difference(*methods[left]);
    kit.expect("TN-DES-1", found.empty(), "delegate ", left + 1, " of ", count,
               " is wrong once its neighbours are destroyed: ", found);
  }
}

TENON_CONFORMANCE_TEST("lifecycle/reads-until-release",
                       "bytes of the host are read inside their bounds until they are released",
                       "[lifecycle][level-3][case][TN-BUF-1][TN-INI-5]") {
  // Blob and named data end at a forbidden page and become forbidden on release.
  LiveCase live(kit);
  const auto method = live.load();
  static_cast<void>(live.run(*method));
}

TENON_CONFORMANCE_TEST("lifecycle/destroyed-unused", "a program is destroyed without having run",
                       "[lifecycle][level-3][case][TN-DES-3]") {
  LiveCase live(kit);
  for (int i = 0; i < 3; ++i) {
    const auto method = live.load();
    kit.expect("TN-DES-3", live.boundary().live_delegates() != 0, "no delegate was made");
  }
}

TENON_CONFORMANCE_TEST("lifecycle/null-delegate", "a delegate that is null runs and is destroyed",
                       "[lifecycle][level-3][case][TN-DES-2]") {
  LiveCase live(kit);
  bool is_null = false;
  live.boundary().on_init = [&](WatchedInit& call) {
    const tenon_status status = call.forward();
    is_null = is_null || (status == TENON_STATUS_OK && !call.delegate.theirs);
    return status;
  };
  const auto method = live.load();
  if (!is_null) kit.not_applicable("init gives no null delegate");
  const Status run = method->execute(method->runs().front());
  kit.expect("TN-DES-2", run.ok(),
             "a delegate for which init gave null does not run: ", run.text());
}

TENON_CONFORMANCE_TEST("lifecycle/keeps-no-context", "init keeps nothing of its context",
                       "[lifecycle][level-3][case][TN-INI-3]") {
  LiveCase live(kit);
  if (const std::string before = live.first_difference(*live.load()); !before.empty()) {
    kit.blocked("the case is wrong without it: ", before);
  }
  ContextCopies copies;
  live.boundary().on_init = [&](WatchedInit& call) {
    copies.move_away(call.context);
    const tenon_status status = call.forward();
    copies.forbid();
    return status;
  };
  const auto method = live.load();
  const std::string found = live.first_difference(*method);
  kit.expect("TN-INI-3", found.empty(), "after the context of init has ended: ", found);
}

}}}  // namespace tenon::TENON_RELEASE::conformance
