// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/in_threads.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/run/budget.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/opened_backend.hpp"
#include "tenon/conformance/test.hpp"

/// Suite "threads": calls that the boundary allows at the same time. The process is not compared
/// around them, as threads would see each other's calls.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(threads)

namespace {

/// A case whose delegates are used by several threads.
class SharedCase {
 public:
  explicit SharedCase(Context& kit) : kit_(kit), live_(kit) {
    if (!kit.backend().deterministic) {
      kit.not_applicable("the backend is declared not deterministic");
    }
    expected_ = live_.run(*live_.load());
    if (live_.run(*live_.load()) != expected_) kit.blocked("two loads give different outputs");
    for (const bool first_goes : {true, false}) {
      auto first = live_.load();
      auto second = live_.load();
      (first_goes ? first : second).reset();
      if (live_.run(first_goes ? *second : *first) != expected_) {
        kit.blocked("a delegate gives other outputs once its neighbour is destroyed");
      }
    }
    live_.boundary().watched().watch().watch_process(false);
  }

  [[nodiscard]] std::unique_ptr<CaseMethod> load() { return live_.load(); }
  [[nodiscard]] Boundary& boundary() noexcept { return live_.boundary(); }

  /// As `load`, from any thread.
  [[nodiscard]] std::unique_ptr<CaseMethod> try_load(Complaints& complaints) {
    auto method = CaseMethod::load(live_.program(), live_.backend(), kit_.backend());
    if (method.ok()) return *std::move(method);
    complaints.add(std::move(method).status(), "while other threads call the backend, init fails");
    return nullptr;
  }
  /// Executes the runs of the case on a method that has not run, from any thread. False when a
  /// failure was found.
  bool run(CaseMethod& method, Complaints& complaints) {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (Status executed = method.execute(method.runs()[i]); !executed.ok()) {
        complaints.add(executed, "while other threads call the backend, execute fails");
        return false;
      }
      const auto bytes = method.output_bytes();
      if (bytes.ok() && *bytes == expected_[i]) continue;
      complaints.add(concat("while other threads call the backend, run ", i + 1,
                            " gives other outputs than alone"));
      return false;
    }
    return true;
  }

 private:
  Context& kit_;
  LiveCase live_;
  std::vector<std::vector<std::byte>> expected_;
};

}  // namespace

TENON_CONFORMANCE_TEST("threads/delegates-run-concurrently",
                       "different delegates run at the same time",
                       "[threads][level-9][case][TN-BCK-9]") {
  SharedCase shared(kit);
  Complaints complaints;
  const int rounds = rounds_of(loads_of("threads/delegates-run-concurrently"), kit);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<CaseMethod>> methods;
    for (std::size_t i = 0; i < num_threads; ++i) methods.push_back(shared.load());
    in_threads(methods.size(), [&](std::size_t i) { shared.run(*methods[i], complaints); });
  }
  complaints.report(kit, "TN-BCK-9");
}

TENON_CONFORMANCE_TEST("threads/load-run-destroy",
                       "programs are loaded and run and destroyed at the same time",
                       "[threads][level-9][case][TN-BCK-9]") {
  SharedCase shared(kit);
  Complaints complaints;
  const int rounds = rounds_of(loads_of("threads/load-run-destroy"), kit);
  in_threads(num_threads, [&](std::size_t) {
    for (int round = 0; round < rounds; ++round) {
      const auto method = shared.try_load(complaints);
      if (!method || !shared.run(*method, complaints)) return;
    }
  });
  complaints.report(kit, "TN-BCK-9");
}

TENON_CONFORMANCE_TEST("threads/load-while-running",
                       "a program is loaded and destroyed while others run",
                       "[threads][level-9][case][TN-BCK-9]") {
  SharedCase shared(kit);
  Complaints complaints;
  std::vector<std::vector<std::unique_ptr<CaseMethod>>> runners(num_threads - 1);
  const auto rounds =
      static_cast<std::size_t>(rounds_of(loads_of("threads/load-while-running"), kit));
  for (auto& runner : runners) {
    for (std::size_t round = 0; round < rounds; ++round) runner.push_back(shared.load());
  }
  in_threads(num_threads, [&](std::size_t i) {
    for (std::size_t round = 0; round < rounds; ++round) {
      if (i == runners.size()) {
        static_cast<void>(shared.try_load(complaints));
      } else if (!shared.run(*runners[i][round], complaints)) {
        return;
      }
    }
  });
  complaints.report(kit, "TN-BCK-9");
}

TENON_CONFORMANCE_TEST("threads/open-concurrently",
                       "several threads open and close the backend at the same time",
                       "[threads][level-9][backend][TN-BCK-9]") {
  // Each has a boundary of its own, which serves one host, and stays open while the others are
  // used.
  std::vector<std::unique_ptr<OpenedBackend>> backends;
  for (std::size_t i = 0; i < num_threads; ++i) {
    backends.push_back(std::make_unique<OpenedBackend>(kit));
    backends.back()->boundary().watched().watch().watch_process(false);
  }
  const bool available = backends.front()->backend().is_available().ok();
  Complaints complaints;
  in_threads(backends.size(), [&](std::size_t i) {
    for (int round = 0; round < 50; ++round) {
      if (backends[i]->backend().is_available().ok() == available) continue;
      complaints.add("while other threads ask as well, is_available has another answer than alone");
    }
    backends[i].reset();
  });
  complaints.report(kit, "TN-BCK-9");
}

TENON_CONFORMANCE_TEST("threads/set-options-concurrently",
                       "options are set and read at the same time",
                       "[threads][level-9][backend][TN-BCK-9]") {
  OpenedBackend backend(kit);
  Boundary& boundary = backend.boundary();
  const auto table = backend.backend().extension<tenon_options_v1>(TENON_EXTENSION_OPTIONS);
  if (!table || !table->set_option || !table->get_option) {
    kit.not_applicable("the backend has no options to set");
  }
  std::vector<std::pair<std::string, OptionValue>> options;
  for (const host::OptionDeclaration& one : backend.backend().options()) {
    auto value = backend.backend().get_option(one.key);
    if (!one.at_runtime || !value.ok()) continue;
    if (!backend.backend().set_option(one.key, *value).ok()) continue;
    options.emplace_back(one.key, *std::move(value));
  }
  if (options.empty()) kit.not_applicable("no option can be set to the value that it has");
  boundary.watched().watch().watch_process(false);
  Complaints complaints;
  const auto sink = [](void* to, const tenon_option* option) noexcept {
    auto read = read_option(*option);
    if (read.ok()) *static_cast<OptionValue*>(to) = *std::move(read);
  };
  in_threads(num_threads, [&](std::size_t thread) {
    for (int round = 0; round < 10 * rounds_of(kit); ++round) {
      const auto& [key, value] = options[static_cast<std::size_t>(round) % options.size()];
      tenon_status status = TENON_STATUS_OK;
      if (thread % 2 == 0) {
        const tenon_option option = write_option(key.c_str(), value);
        status = table->set_option(backend.backend().raw(), &option);
      } else {
        OptionValue found;
        status = table->get_option(backend.backend().raw(), key.c_str(), sink, &found);
        if (status == TENON_STATUS_OK && found != value) {
          complaints.add(concat("option ", key, " has another value than all threads set"));
        }
      }
      if (status != TENON_STATUS_OK) {
        complaints.add(concat("option ", key, " fails while other threads set and read it: ",
                              error_name(static_cast<Error>(status))));
      }
    }
  });
  complaints.report(kit, "TN-BCK-9");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
