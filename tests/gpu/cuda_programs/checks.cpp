// SPDX-License-Identifier: MIT
#include "checks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "kit/fixtures/case_method.hpp"
#include "tenon/conformance/case.hpp"
#include "tenon/host.hpp"
#include "times.hpp"

namespace gpu_programs {

using namespace tenon;
using namespace tenon::conformance;

namespace {

constexpr std::string_view backend_id = "CudaBackend";
/// A graph is captured in the fourth run with the same shapes, and launched from then on.
constexpr int runs_until_a_graph_is_launched = 6;

/// The lines that plugins log, of any thread.
class Log {
 public:
  void add(std::string_view line) {
    const std::scoped_lock lock(mutex_);
    text_.append(line).append("\n");
  }
  [[nodiscard]] std::string text() {
    const std::scoped_lock lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

class Checks {
 public:
  Checks(const Case& of_case, const CaseProgram& program, const tenon::host::BackendRegistry& from,
         const Driver& driver, bool compares, Log& log)
      : case_(of_case),
        program_(program),
        registry_(from),
        driver_(driver),
        compares_(compares),
        log_(log) {}

  void compare_results(Reporter& reporter) {
    check(reporter, "all runs, loaded twice", &Checks::all_runs);
    check(reporter, "as a CUDA graph", &Checks::as_graph);
    check(reporter, "in sessions", &Checks::in_sessions);
    check(reporter, "on streams of the application", &Checks::on_streams);
    check(reporter, "in two threads", &Checks::in_threads);
    // A program with one shape has nothing to show here, and the suite has one with more.
    if (count_shapes() > 1) check(reporter, "shapes in another order", &Checks::other_order);
  }

  void times(Reporter& reporter) { check(reporter, "times", &Checks::time_first_run); }

  /// Loads, runs and destroys the method, often. The driver hands out memory in pieces of 2 MiB, so
  /// less is no loss; and the first rounds load what stays.
  Check memory() {
    constexpr int warm = 3, rounds = 20;
    constexpr std::size_t piece = std::size_t{2} << 20;
    const std::string name = concat(case_.name, ": memory");
    const auto before = driver_.free_memory();
    if (!before) return {Outcome::not_available, name, "the driver has no cuMemGetInfo"};
    std::size_t lowest = *before, settled = 0;
    for (int round = 0; round < rounds; ++round) {
      if (round == warm) settled = driver_.free_memory().value_or(0);
      const Status status = [&]() -> Status {
        TENON_TRY(const Method method, load());
        for (const CaseRun& run : case_.runs) TENON_RETURN_IF_ERROR(method->execute(run));
        lowest = std::min(lowest, driver_.free_memory().value_or(lowest));
        return ok();
      }();
      if (!status.ok()) return {Outcome::fail, name, tenon::describe(status)};
    }
    const std::size_t after = driver_.free_memory().value_or(0);
    const std::size_t lost = settled > after ? settled - after : 0;
    std::string figures = concat("device bytes: ", *before - lowest, " in use when loaded, ", lost,
                                 " lost in ", rounds - warm, " loads");
    return {lost < piece ? Outcome::pass : Outcome::fail, name, std::move(figures)};
  }

 private:
  using Method = std::unique_ptr<CaseMethod>;

  /// Makes one check. Its text are the figures.
  void check(Reporter& reporter, const char* name, Result<std::string> (Checks::*body)()) {
    const std::string full = concat(case_.name, ": ", name);
    auto figures = (this->*body)();
    if (!figures.ok()) {
      reporter.report({Outcome::fail, full, tenon::describe(std::move(figures).status())});
    } else if (compares_) {
      reporter.report({Outcome::pass, full, *figures});
    } else {
      reporter.report(
          {Outcome::skip, full, *figures + "; results not compared: this driver computes nothing"});
    }
  }

  [[nodiscard]] Result<Method> load(bool as_graph = false) const {
    tenon::host::MethodOptions options;
    options.registry = &registry_;
    options.backend_options = case_.runtime_specs;
    if (as_graph) {
      options.backend_options.push_back(
          {std::string(backend_id), "enable_cuda_graph_for_method", case_.method});
    }
    return CaseMethod::load(program_, std::move(options));
  }

  /// Executes a run and compares with what the case expects.
  [[nodiscard]] Status execute(CaseMethod& method, const CaseRun& run) const {
    TENON_RETURN_IF_ERROR(method.execute(run));
    TENON_TRY(const auto differences, method.differences(run, case_.tolerances));
    if (differences.empty() || !compares_) return ok();
    return error(Error::Internal, differences.front().text);
  }

  /// Executes a run with both and compares every bit: equal kernels, and an equal order.
  [[nodiscard]] Status execute_both(CaseMethod& method, CaseMethod& plain,
                                    const CaseRun& run) const {
    TENON_RETURN_IF_ERROR(plain.execute(run));
    TENON_RETURN_IF_ERROR(method.execute(run));
    TENON_TRY(const auto found, method.output_bytes());
    TENON_TRY(const auto expected, plain.output_bytes());
    if (found.size() != expected.size()) {
      return error(Error::Internal, "expected ", expected.size(), " bytes of outputs, found ",
                   found.size());
    }
    const auto [at, same] = std::ranges::mismatch(found, expected);
    if (at == found.end() || !compares_) return ok();
    return error(Error::Internal, "byte ", at - found.begin(), " of the outputs is ",
                 std::to_integer<int>(*at), ", without this option ", std::to_integer<int>(*same));
  }

  /// The backend runs on without a graph where none can be captured, and logs why.
  [[nodiscard]] Status check_captured() const {
    const std::string log = log_.text();
    const auto at = log.find("runs without a CUDA graph");
    if (at == std::string::npos) return ok();
    return error(Error::Internal, log.substr(at, log.find('\n', at) - at));
  }

  Result<std::string> all_runs() {
    for (int round = 0; round < 2; ++round) {
      TENON_TRY(const Method method, load());
      for (std::size_t i = 0; i < case_.runs.size(); ++i) {
        TENON_RETURN_IF_ERROR(
            execute(*method, case_.runs[i]).with_context(concat("load ", round, ", run ", i)));
      }
    }
    return concat(2 * case_.runs.size(), " runs");
  }

  Result<std::string> as_graph() {
    TENON_TRY(const Method plain, load());
    TENON_TRY(const Method method, load(true));
    int count = 0;
    for (int round = 0; round < 2; ++round) {
      for (const CaseRun& run : case_.runs) {
        for (int i = 0; i < runs_until_a_graph_is_launched; ++i, ++count) {
          TENON_RETURN_IF_ERROR(
              execute_both(*method, *plain, run).with_context(concat("run ", count)));
        }
      }
    }
    TENON_RETURN_IF_ERROR(check_captured());
    return concat(count, " runs, beside plain ones");
  }

  Result<std::string> in_sessions() {
    TENON_TRY(const Method method, load());
    TENON_TRY(const auto first, method->method().create_session());
    TENON_TRY(const auto second, method->method().create_session());
    const std::array<const tenon::host::Session*, 3> states = {first.get(), nullptr, second.get()};
    for (std::size_t i = 0; i < case_.runs.size(); ++i) {
      for (std::size_t state = 0; state < states.size(); ++state) {
        method->method().use_session(states[state]);
        TENON_RETURN_IF_ERROR(
            execute(*method, case_.runs[i]).with_context(concat("state ", state, ", run ", i)));
      }
    }
    method->method().use_session(nullptr);
    return concat("2 sessions and the method's own state, in turns, each ", case_.runs.size(),
                  " runs");
  }

  Result<std::string> on_streams() {
    // Destroyed after the methods that run on them.
    TENON_TRY(const Driver::Owned blocking, driver_.create_stream(true));
    TENON_TRY(const Driver::Owned non_blocking, driver_.create_stream(false));
    TENON_TRY(const Method plain, load());
    TENON_TRY(const Method method, load());
    const auto handle = [](std::uintptr_t number) { return reinterpret_cast<void*>(number); };
    const std::pair<const char*, void*> streams[] = {{"a blocking stream", blocking.get()},
                                                     {"a non-blocking stream", non_blocking.get()},
                                                     {"cudaStreamLegacy", handle(1)},
                                                     {"cudaStreamPerThread", handle(2)},
                                                     {"its own stream again", nullptr}};
    for (const auto& [name, stream] : streams) {
      TENON_RETURN_IF_ERROR(method->method().set_stream(backend_id, stream).with_context(name));
      for (const CaseRun& run : case_.runs) {
        TENON_RETURN_IF_ERROR(execute_both(*method, *plain, run).with_context(name));
      }
    }
    return concat(std::size(streams), " streams, beside plain runs");
  }

  Result<std::string> in_threads() {
    constexpr int loads = 3;
    std::array<Status, 2> outcomes = {ok(), ok()};
    const auto body = [&](bool graph) -> Status {
      for (int i = 0; i < loads; ++i) {
        TENON_TRY(const Method method, load(graph));
        for (const CaseRun& run : case_.runs) TENON_RETURN_IF_ERROR(execute(*method, run));
        // So that one captures while the other one loads, copies and runs.
        for (int more = 0; more < runs_until_a_graph_is_launched; ++more) {
          TENON_RETURN_IF_ERROR(method->execute(case_.runs.back()));
        }
      }
      return ok();
    };
    std::thread other([&] { outcomes[1] = body(true); });
    outcomes[0] = body(false);
    other.join();
    TENON_RETURN_IF_ERROR(std::move(outcomes[0]).with_context("plain"));
    TENON_RETURN_IF_ERROR(std::move(outcomes[1]).with_context("as a graph"));
    TENON_RETURN_IF_ERROR(check_captured());
    return concat(loads, " loads in each of two threads, one with graphs");
  }

  /// The least seconds of a load, without what is done once in a process.
  Result<double> time_load() {
    using Clock = std::chrono::steady_clock;
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 6; ++i) {
      const auto begin = Clock::now();
      TENON_TRY(const Method method, load());
      const std::chrono::duration<double> taken = Clock::now() - begin;
      if (i != 0) least = std::min(least, taken.count());
    }
    return least;
  }

  Result<std::string> time_first_run() {
    TENON_TRY(const double seconds_of_load, time_load());
    TENON_TRY(const Driver::Owned stream, driver_.create_stream(false));
    TENON_TRY(const Method method, load());
    TENON_RETURN_IF_ERROR(method->method().set_stream(backend_id, stream.get()));
    TENON_TRY(const std::string members, time_run(driver_, stream.get(), *method,
                                                  case_.runs.front(), case_.tolerances, compares_));
    char load_member[32];
    std::snprintf(load_member, sizeof load_member, "\"load\": %.6f", seconds_of_load);
    return concat("{", load_member, ", ", members, "}");
  }

  Result<std::string> other_order() {
    TENON_TRY(const Method method, load());
    for (std::size_t i = case_.runs.size(); i-- > 0;) {
      TENON_RETURN_IF_ERROR(execute(*method, case_.runs[i]).with_context(concat("run ", i)));
    }
    return concat(count_shapes(), " shapes, the last first");
  }

  /// Different shapes of the first input, over all runs.
  [[nodiscard]] std::size_t count_shapes() const {
    std::set<std::vector<std::int64_t>> shapes;
    const auto method = load();
    if (!method.ok()) return 0;
    for (const CaseRun& run : case_.runs) {
      if (!(*method)->set_inputs(run).ok() || (*method)->method().num_inputs() == 0) return 0;
      const tenon_value& input = (*method)->method().input(0);
      if (input.kind != TENON_VALUE_TENSOR) return 0;
      const auto& dl = input.as.tensor->dl;
      shapes.emplace(dl.shape, dl.shape + dl.ndim);
    }
    return shapes.size();
  }

  const Case& case_;
  const CaseProgram& program_;
  const tenon::host::BackendRegistry& registry_;
  const Driver& driver_;
  bool compares_;
  Log& log_;
};

}  // namespace

Status check_case(Kind kind, const std::filesystem::path& directory,
                  const std::filesystem::path& plugin, const Driver& driver, bool compares,
                  Reporter& reporter) {
  TENON_TRY(const Case of_case, tenon::conformance::read_case(directory));
  for (const CaseRun& run : of_case.runs) {
    if (run.fresh) {
      return error(Error::NotSupported, directory.string(), ": a run that loads the method anew");
    }
  }
  TENON_TRY(const CaseProgram program, CaseProgram::open(of_case));
  Log log;
  tenon::host::BackendRegistry registry(tenon::host::HostInfo{
      .log = [&log](std::int32_t, std::string_view, std::string_view line) { log.add(line); }});
  TENON_RETURN_IF_ERROR(registry.register_backend(plugin));
  Checks checks(of_case, program, registry, driver, compares, log);
  if (kind == Kind::memory) {
    reporter.report(checks.memory());
  } else if (kind == Kind::times) {
    checks.times(reporter);
  } else {
    checks.compare_results(reporter);
  }
  return ok();
}

}  // namespace gpu_programs
