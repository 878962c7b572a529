// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kit/boundary/watched_backend.hpp"
#include "kit/fixtures/case_method.hpp"
#include "kit/fixtures/checked_options.hpp"
#include "kit/fixtures/in_threads.hpp"
#include "kit/fixtures/live_case.hpp"
#include "kit/process/breadcrumbs.hpp"
#include "kit/suites/suite.hpp"
#include "tenon/conformance/test.hpp"
#include "tenon/core/options.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"

/// Suite "sessions": several states over one blob (extension "tenon.sessions/1"). A session has no
/// host of its own: it runs with the arguments of another method of the same case, its carrier, and
/// replaces the delegates of that method.
namespace tenon { inline namespace TENON_RELEASE { namespace conformance {

TENON_KIT_SUITE(sessions)

namespace {

/// Methods of a case. The delegates of some are replaced by sessions of the first method's
/// delegates.
class SessionCase {
 public:
  explicit SessionCase(Context& kit) : kit_(kit), live_(kit) {
    if (!live_.backend().backend().extension<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS)) {
      kit.not_applicable("the backend does not offer " TENON_EXTENSION_SESSIONS);
    }
    if (!kit.backend().deterministic) {
      kit.not_applicable("the backend is declared not deterministic");
    }
    live_.boundary().on_init = [this](WatchedInit& call) {
      const tenon_status status = call.forward();
      if (status == TENON_STATUS_OK) delegates_.push_back(&call.delegate);
      return status;
    };
    parent_ = live_.load();
    num_delegates_ = delegates_.size();
    if (num_delegates_ == 0) kit.not_applicable("the method of the case does not use the backend");
  }
  SessionCase(const SessionCase&) = delete;
  SessionCase& operator=(const SessionCase&) = delete;
  ~SessionCase() {
    // A session keeps the arguments of its carrier until it is destroyed (TN-TEN-3), and uses its
    // parent until then (TN-SES-3).
    for (const auto& [carried, session] : sessions_) destroy(session);
    carriers_.clear();
    parent_.reset();
  }

  /// The method whose delegates the sessions are created from.
  [[nodiscard]] CaseMethod& parent() noexcept { return *parent_; }
  [[nodiscard]] LiveCase& live() noexcept { return live_; }

  /// A method whose delegates are sessions, made now.
  CaseMethod& new_session() {
    CaseMethod& carrier = *carriers_.emplace_back(live_.load());
    if (const tenon_status status = create(nullptr); status != TENON_STATUS_OK) {
      kit_.not_applicable("create_session gives ", error_name(static_cast<Error>(status)), ": ",
                          said_error().text);
    }
    return carrier;
  }

  /// A method whose delegates are sessions that begin with the states of `of`: the parent, or a
  /// method with sessions. Null when the backend refuses that with NOT_SUPPORTED.
  CaseMethod* copy_of(const CaseMethod& of) {
    std::vector<tenon_delegate*> states;
    for (std::size_t i = 0; i < num_delegates_; ++i) states.push_back(delegates_[i]->theirs);
    for (std::size_t at = 0; at < carriers_.size(); ++at) {
      if (carriers_[at].get() != &of) continue;
      for (std::size_t i = 0; i < num_delegates_; ++i) {
        states[i] = sessions_[at * num_delegates_ + i].second;
      }
    }
    CaseMethod& carrier = *carriers_.emplace_back(live_.load());
    const tenon_status status = create(&states);
    kit_.expect("TN-SES-4", status == TENON_STATUS_OK || status == TENON_STATUS_NOT_SUPPORTED,
                "create_session with the state of another delegate gives ",
                error_name(static_cast<Error>(status)),
                ", expected NotSupported or a session: ", said_error().text);
    return status == TENON_STATUS_OK ? &carrier : nullptr;
  }

  /// A method whose delegates are sessions with `option`. Null when the backend refuses it.
  CaseMethod* session_with(const tenon_option& option) {
    CaseMethod& carrier = *carriers_.emplace_back(live_.load());
    return create(nullptr, &option) == TENON_STATUS_OK ? &carrier : nullptr;
  }

  /// The result of `create_session` with `option`. A session that it gives is destroyed.
  tenon_status try_option(const tenon_option& option) {
    tenon_delegate* session = nullptr;
    const tenon_status status = create_one(0, nullptr, &option, session);
    if (status == TENON_STATUS_OK) destroy(session);
    return status;
  }

  std::vector<std::byte> outputs(CaseMethod& method, const CaseRun& run) {
    kit_.need(method.execute(run), "the case does not run");
    return kit_.need(method.output_bytes(), "the outputs of the case");
  }

 private:
  /// Makes sessions for the latest carrier, with these states or those that `init` gave, and with
  /// `option`, which may be null.
  tenon_status create(const std::vector<tenon_delegate*>* states,
                      const tenon_option* option = nullptr) {
    for (std::size_t i = 0; i < num_delegates_; ++i) {
      const WatchedDelegate* carried = delegates_[delegates_.size() - num_delegates_ + i];
      tenon_delegate* session = nullptr;
      const tenon_status status = create_one(i, states ? (*states)[i] : nullptr, option, session);
      if (status != TENON_STATUS_OK) return status;
      sessions_.emplace_back(carried, session);
    }
    live_.boundary().on_execute = [this](WatchedExecute& call) { return execute(call); };
    return TENON_STATUS_OK;
  }

  /// Makes a session of the parent's delegate `index`.
  tenon_status create_one(std::size_t index, tenon_delegate* state, const tenon_option* option,
                          tenon_delegate*& out) {
    Boundary& boundary = live_.boundary();
    const tenon_session_context context = {sizeof context, option ? 1U : 0U, option,
                                           nullptr,        memory_.table(),  state};
    return boundary.watched().watch().status_of("create_session", delegates_[index]->number, [&] {
      return boundary.watched().extension<tenon_sessions_v1>().create_session(
          boundary.opened(), delegates_[index]->theirs, &context, &out);
    });
  }

  void destroy(tenon_delegate* session) {
    Boundary& boundary = live_.boundary();
    boundary.watched().watch().nothing_of(session ? "destroy" : destroy_of_null, 0, [&] {
      boundary.theirs().destroy(boundary.opened(), session);
    });
  }

  tenon_status execute(WatchedExecute& call) {
    for (const auto& [carried, session] : sessions_) {
      if (carried != &call.delegate) continue;
      return call.boundary.watched().watch().status_of(
          "execute", call.delegate.number, [&, executed = session] {
            return call.boundary.theirs().execute(call.boundary.opened(), executed,
                                                  call.delegate.execution_context.get(), call.args,
                                                  call.num_args);
          });
    }
    return call.forward();
  }

  Context& kit_;
  host::Arena memory_;  // Memory that sessions take of the host.
  LiveCase live_;
  std::vector<const WatchedDelegate*> delegates_;  // Of the parent first, then of the carriers.
  std::size_t num_delegates_ = 0;                  // Of each.
  std::vector<std::pair<const WatchedDelegate*, tenon_delegate*>> sessions_;
  std::unique_ptr<CaseMethod> parent_;
  std::vector<std::unique_ptr<CaseMethod>> carriers_;
};

/// The outputs of `count` runs of a delegate without sessions. Ends the test when a repetition
/// gives others.
std::vector<std::vector<std::byte>> outputs_alone(Context& kit, SessionCase& sessions, int count) {
  const CaseRun& run = sessions.parent().runs().front();
  std::vector<std::vector<std::byte>> first;
  for (const bool again : {false, true}) {
    const auto method = sessions.live().load();
    std::vector<std::vector<std::byte>> all;
    for (int i = 0; i < count; ++i) all.push_back(sessions.outputs(*method, run));
    if (again && all != first) kit.blocked("two loads give different outputs");
    first = std::move(all);
  }
  return first;
}

/// The outputs of a load with one option more, for `run`; nothing when the load or its run fails.
std::optional<std::vector<std::byte>> outputs_with(Context& kit, LiveCase& live, const CaseRun& run,
                                                   const std::string& key,
                                                   const OptionValue& value) {
  SubjectBackend declared = kit.backend();
  declared.runtime_specs.emplace_back(key, value);
  const auto method = CaseMethod::load(live.program(), live.backend(), declared);
  if (!method.ok() || !(*method)->execute(run).ok()) return std::nullopt;
  auto outputs = (*method)->output_bytes();
  return outputs.ok() ? std::optional(*std::move(outputs)) : std::nullopt;
}

/// Describes a state that a delegate and its two sessions share; empty when they share none.
std::string shared_state(SessionCase& sessions, const std::vector<std::vector<std::byte>>& alone) {
  const CaseRun& run = sessions.parent().runs().front();
  CaseMethod& session = sessions.new_session();
  CaseMethod& other = sessions.new_session();
  static_cast<void>(sessions.outputs(sessions.parent(), run));
  if (sessions.outputs(session, run) != alone[0]) {
    return "a run of the delegate changed what its session gives";
  }
  static_cast<void>(sessions.outputs(session, run));
  if (sessions.outputs(sessions.parent(), run) != alone[1]) {
    return "runs of a session changed what its delegate gives";
  }
  if (sessions.outputs(other, run) != alone[0]) {
    return "runs of a session changed what another session of the same delegate gives";
  }
  return {};
}

}  // namespace

TENON_CONFORMANCE_TEST("sessions/initial-state", "a new session has the state that init gave",
                       "[sessions][level-3][case][TN-SES-1]") {
  SessionCase sessions(kit);
  const auto alone = outputs_alone(kit, sessions, 1);
  const CaseRun& run = sessions.parent().runs().front();
  for (int i = 0; i < 2; ++i) static_cast<void>(sessions.outputs(sessions.parent(), run));
  kit.expect("TN-SES-1", sessions.outputs(sessions.new_session(), run) == alone[0],
             "the first run of a session that was made after two runs of its delegate gives other "
             "outputs than the delegate's first run");
}

TENON_CONFORMANCE_TEST("sessions/own-options",
                       "an option of a session has the effect that it has in a load, or is refused",
                       "[sessions][level-5][case][TN-SES-1]") {
  SessionCase sessions(kit);
  LiveCase& live = sessions.live();
  CheckedOptions options(kit, live.backend());
  const CaseRun& run = sessions.parent().runs().front();
  const std::vector<std::byte> without = outputs_alone(kit, sessions, 1).front();
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_load) continue;
    const OptionValue value = next_value(option, options.need(option.key));
    const auto with = outputs_with(kit, live, run, option.key, value);
    // Without an effect here a session shows none either. Outputs that change by themselves, as an
    // option for fast and inexact sums makes them, prove none.
    if (!with || *with == without || outputs_with(kit, live, run, option.key, value) != with) {
      continue;
    }
    any = true;
    // A session has the state that `init` gave. So it cannot change an option that acts on that
    // state alone, and refuses it (abi/extensions/sessions.h).
    CaseMethod* const session = sessions.session_with(write_option(option.key.c_str(), value));
    if (!session) continue;
    kit.expect("TN-SES-1", sessions.outputs(*session, run) != without, "a session with another '",
               option.key,
               "' than its delegate gives the same outputs, and a load with it others; expected "
               "other outputs, or NotSupported where a session cannot change the option, such as "
               "one of the initial state");
  }
  if (!any) kit.not_applicable("no option for a load changes the outputs of the case");
}

TENON_CONFORMANCE_TEST("sessions/refuses-excluded-option",
                       "a session with a value that the declaration excludes is refused",
                       "[sessions][level-5][case][TN-OPT-5]") {
  SessionCase sessions(kit);
  static_cast<void>(sessions.new_session());  // Not applicable where none can be made at all.
  CheckedOptions options(kit, sessions.live().backend());
  bool any = false;
  for (const host::OptionDeclaration& option : options.declared()) {
    if (!option.at_load) continue;
    for (const OptionValue& value : excluded_values(option)) {
      any = true;
      const tenon_status status = sessions.try_option(write_option(option.key.c_str(), value));
      if (status == TENON_STATUS_NOT_SUPPORTED) continue;
      options.judge_refusal(status, TENON_STATUS_INVALID_ARGUMENT, option.key,
                            concat("'", option.key, "' and a value other than ", option.range()),
                            "TN-OPT-5", "create_session");
    }
  }
  if (!any) kit.not_applicable("no option of the backend for a load has limits");
}

TENON_CONFORMANCE_TEST("sessions/separate-state",
                       "a session and its delegate do not change each other's state",
                       "[sessions][level-3][case][TN-SES-2]") {
  SessionCase sessions(kit);
  const auto alone = outputs_alone(kit, sessions, 2);
  const std::string shared = shared_state(sessions, alone);
  kit.expect("TN-SES-2", shared.empty(), shared);
}

TENON_CONFORMANCE_TEST("sessions/copied-state",
                       "a session begins with the state of another delegate, or is refused",
                       "[sessions][level-3][case][TN-SES-4]") {
  SessionCase sessions(kit);
  LiveCase& live = sessions.live();
  if (const std::string wrong = live.first_difference(*live.load()); !wrong.empty()) {
    kit.blocked("a delegate alone is wrong: ", wrong);
  }
  const auto alone = outputs_alone(kit, sessions, 4);
  const CaseRun& run = sessions.parent().runs().front();
  for (int i = 0; i < 2; ++i) static_cast<void>(sessions.outputs(sessions.parent(), run));
  CaseMethod* const copy = sessions.copy_of(sessions.parent());
  kit.expect("TN-SES-4", sessions.outputs(sessions.parent(), run) == alone[2],
             "a delegate whose state was asked for, after two runs, gives other outputs in its "
             "third run than without that");
  if (!copy) return;
  kit.expect("TN-SES-4", sessions.outputs(*copy, run) == alone[2],
             "the first run of a session with the state of a delegate after two runs gives other "
             "outputs than the delegate's third run");
  CaseMethod* const second = sessions.copy_of(*copy);
  if (!second) return;
  kit.expect("TN-SES-4", sessions.outputs(*second, run) == alone[3],
             "the first run of a session with the state of another session gives other outputs "
             "than that session's next run");
}

TENON_CONFORMANCE_TEST("sessions/run-concurrently", "sessions of one delegate run at the same time",
                       "[sessions][level-9][case][TN-BCK-9]") {
  SessionCase sessions(kit);
  const CaseRun& run = sessions.parent().runs().front();
  const int rounds = rounds_of(kit);
  const auto alone = outputs_alone(kit, sessions, rounds);
  {
    SessionCase one_by_one(kit);
    const std::string shared = shared_state(one_by_one, alone);
    if (!shared.empty()) kit.blocked("also one after the other ", shared);
  }
  std::vector<CaseMethod*> methods = {&sessions.parent()};
  while (methods.size() < num_threads) methods.push_back(&sessions.new_session());
  sessions.live().boundary().watched().watch().watch_process(false);
  Complaints complaints;
  in_threads(methods.size(), [&](std::size_t thread) {
    for (const auto& expected : alone) {
      if (Status executed = methods[thread]->execute(run); !executed.ok()) {
        complaints.add(executed, "while sessions of one delegate run, execute fails");
        return;
      }
      const auto bytes = methods[thread]->output_bytes();
      if (bytes.ok() && *bytes == expected) continue;
      complaints.add("while sessions of one delegate run, outputs differ from a run alone");
      return;
    }
  });
  complaints.report(kit, "TN-BCK-9");
}

}}}  // namespace tenon::TENON_RELEASE::conformance
