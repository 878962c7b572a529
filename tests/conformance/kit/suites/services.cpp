// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/process/faults.hpp"
#include "kit/process/interposition.hpp"
#include "kit/process/resources.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "services": each request of the plugin for memory, data and files fails once, one after
/// the other.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(services)

namespace {

/// The numbers from 1 to `total`, or 60 of them: the first 10, the last 10 and some between.
[[nodiscard]] std::vector<std::uint64_t> requests_to_fail(std::uint64_t total, int level) {
  constexpr std::uint64_t most = 60;
  constexpr std::uint64_t edge = 10;
  std::vector<std::uint64_t> out;
  if (total <= most || level >= 10) {
    for (std::uint64_t n = 1; n <= total; ++n) out.push_back(n);
    return out;
  }
  const std::uint64_t inner = most - 2 * edge;
  for (std::uint64_t n = 1; n <= edge; ++n) out.push_back(n);
  for (std::uint64_t i = 0; i < inner; ++i) {
    out.push_back(edge + 1 + i * (total - 2 * edge) / inner);
  }
  for (std::uint64_t n = total - edge + 1; n <= total; ++n) out.push_back(n);
  return out;
}

/// Loads and runs a case while one service of the host fails.
class FailingService {
 public:
  FailingService(Context& kit, Service service)
      : kit_(kit), service_(service), live_(kit), faults_(live_.boundary().watched().faults()) {
    if (service == Service::file) {
      if (!interposition.present) kit.not_applicable("file operations cannot be made to fail here");
      interposition.faults = &faults_;
    }
    live_.boundary().on_init = [this](WatchedInit& call) {
      const tenon_status status = call.forward();
      if (status == TENON_STATUS_OK) ++loaded_delegates_;
      return status;
    };
    const auto method = live_.load();
    expected_ = kit.need(run(*method), "the case does not run");
    if (kit.backend().deterministic) {
      const auto other = live_.load();
      if (kit.need(run(*other), "the case does not run") != expected_) {
        kit.blocked("two loads give different outputs");
      }
    }
    const auto second = run(*method);
    stateless_ = second.ok() && *second == expected_;
  }
  FailingService(const FailingService&) = delete;
  FailingService& operator=(const FailingService&) = delete;
  ~FailingService() { interposition.faults = nullptr; }

  /// Fails one request after the other and judges the result.
  void judge() {
    faults_.fail(service_, 0);
    {
      const auto method = live_.load();
      kit_.need(run(*method), "the case does not run");
    }
    const std::uint64_t total = faults_.asked(service_);
    if (total == 0) kit_.not_applicable("the plugin asks for no ", service_name(service_));
    for (const std::uint64_t number : requests_to_fail(total, kit_.options().level)) {
      request_ = concat(service_name(service_), " request ", number, " of ", total, " refused: ");
      if (!judge_outcome(number) || !judge_next()) return;
      judge_remains(number);
    }
  }

 private:
  using Bytes = std::vector<std::byte>;

  static Result<Bytes> run(CaseMethod& method) {
    TENON_RETURN_IF_ERROR(method.execute(method.runs().front()));
    return method.output_bytes();
  }
  [[nodiscard]] bool is_expected(const Bytes& outputs) const {
    return !kit_.backend().deterministic || outputs == expected_;
  }
  [[nodiscard]] Result<std::unique_ptr<CaseMethod>> load() {
    loaded_delegates_ = 0;
    return CaseMethod::load(live_.program(), live_.backend(), kit_.backend());
  }

  bool runs_twice() {
    const auto fresh = load();
    return fresh.ok() && run(**fresh).ok() && run(**fresh).ok();
  }

  /// Refuses request `number` and judges the result. False when further requests would report the
  /// same.
  bool judge_outcome(std::uint64_t number) {
    faults_.fail(service_, number);
    const auto method = load();
    failed_to_load_ = !method.ok();
    delegates_before_failure_ = loaded_delegates_;
    if (failed_to_load_) return true;
    const bool in_load = faults_.failed(service_);
    if (in_load && service_ == Service::runtime_memory) {
      faults_.fail(service_, 0);
      return kit_.expect("TN-INI-6", false, request_, "init succeeds all the same");
    }
    const Result<Bytes> outputs = run(**method);
    const bool refused = faults_.failed(service_);
    faults_.fail(service_, 0);
    if (outputs.ok()) {
      return kit_.expect(in_load ? "TN-INI-6" : "TN-EXE-7", !refused || is_expected(*outputs),
                         request_, in_load ? "init" : "execute",
                         " succeeds all the same, and the outputs are wrong");
    }
    if (in_load || !refused) return true;
    const Result<Bytes> again = run(**method);
    // Another test judges delegates that run only once.
    if (!again.ok() && !runs_twice()) return true;
    if (!again.ok()) {
      return kit_.expect("TN-EXE-3", false, request_,
                         "execute fails, and the next run, of which "
                         "nothing is refused, does too: ",
                         again.text());
    }
    return kit_.expect("TN-EXE-3", !stateless_ || is_expected(*again), request_,
                       "execute fails, and the next run gives wrong outputs");
  }

  /// The case must load and run when nothing is refused any more.
  bool judge_next() {
    faults_.fail(service_, 0);
    const auto method = load();
    if (!kit_.expect("TN-INI-6", method.ok(), request_,
                     "the next init, of which nothing is refused, ", "fails: ", method.text())) {
      return false;
    }
    const Result<Bytes> outputs = run(**method);
    return kit_.expect("TN-INI-6", outputs.ok() && is_expected(*outputs), request_,
                       "a program that is loaded afterwards ",
                       outputs.ok() ? "gives wrong outputs" : outputs.text());
  }

  /// Whether each of three further refusals leaves something.
  void judge_remains(std::uint64_t number) {
    // Other tests report what `destroy` of another delegate leaves.
    if (failed_to_load_ && delegates_before_failure_ != 0) return;
    const auto growth = least_growth(number, 3);
    kit_.expect(failed_to_load_ ? "TN-INI-1" : "TN-DES-3", growth.empty(), request_,
                "what is left is ", join_with_and(growth));
  }
  std::vector<std::string> least_growth(std::uint64_t number, int times) {
    std::vector<std::string> out;
    for (int i = 0; i < times; ++i) {
      const ResourceCounts before = ResourceCounts::now();
      refuse(number);
      const ResourceCounts after = ResourceCounts::once_threads_ended(before.threads);
      out.clear();
      const auto note = [&](std::int64_t more, std::string_view what) {
        if (more > 0) out.push_back(concat(more, " ", what));
      };
      note(after.memory_bytes - before.memory_bytes, "bytes of memory");
      note(after.descriptors - before.descriptors, "descriptors");
      note(after.threads - before.threads, "threads");
      note(after.processes - before.processes, "processes");
      if (out.empty()) return out;
    }
    return out;
  }
  void refuse(std::uint64_t number) {
    faults_.fail(service_, number);
    if (const auto method = load(); method.ok()) static_cast<void>(run(**method));
    faults_.fail(service_, 0);
  }

  Context& kit_;
  Service service_;
  LiveCase live_;
  Faults& faults_;
  Bytes expected_;
  std::string request_;                 // The refused request, for texts.
  std::uint32_t loaded_delegates_ = 0;  // Of the last load.
  std::uint32_t delegates_before_failure_ = 0;
  bool stateless_ = false;
  bool failed_to_load_ = false;
};

}  // namespace

TENON_CONFORMANCE_TEST("services/init-memory-refused",
                       "each request for memory of init is refused once",
                       "[services][level-8][case][TN-INI-6][TN-INI-1]") {
  FailingService(kit, Service::runtime_memory).judge();
}

TENON_CONFORMANCE_TEST("services/run-memory-refused",
                       "each request for memory of a run is refused once",
                       "[services][level-8][case][TN-EXE-3][TN-EXE-7][TN-INI-6][TN-DES-3]") {
  FailingService(kit, Service::temp_memory).judge();
}

TENON_CONFORMANCE_TEST("services/named-data-refused", "each request for named data is refused once",
                       "[services][level-8][case][TN-INI-6][TN-INI-1]") {
  FailingService(kit, Service::named_data).judge();
}

TENON_CONFORMANCE_TEST("services/resize-refused",
                       "each request for another size of an output is refused once",
                       "[services][level-8][case][TN-EXE-3][TN-EXE-7][TN-INI-6][TN-DES-3]") {
  FailingService(kit, Service::resize).judge();
}

TENON_CONFORMANCE_TEST(
    "services/file-operations-fail", "each operation on a file fails once",
    "[services][level-8][case][TN-INI-6][TN-INI-1][TN-EXE-3][TN-EXE-7][TN-DES-3]") {
  FailingService(kit, Service::file).judge();
}

}}}  // namespace tenon::TENON_RELEASE::conformance
