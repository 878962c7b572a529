// SPDX-License-Identifier: MIT
//
// Sessions of the C interface: their states, options and hints.
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "c_support.hpp"

using namespace tenon::test;
using Vector = std::vector<float>;

namespace {

/// A method of "Counting" whose option `step` is `step`, and all that a session of it is given.
/// Addresses are fixed.
struct Asked {
  MethodHandle method;
  tenon_option option = real_option("step", 0);
  tenon_backend_options backend = options_for("Counting", &option);
  tenon_session_options options = sized<tenon_session_options>();

  explicit Asked(const std::string& blob, double step = 1) {
    const auto registry = counting_registry();
    option = real_option("step", step);
    auto of_load = sized<tenon_method_options>();
    of_load.registry = registry.get();
    of_load.backend_options = &backend;
    of_load.num_backend_options = 1;
    method = load(blob, of_load);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  /// The session gets `option`.
  void give_option() {
    options.backend_options = &backend;
    options.num_backend_options = 1;
  }

  SessionHandle create() {
    const tenon_session_options* const given = &options;
    tenon_session* out = nullptr;
    call(&tenon_method_create_session, method.get(), given, &out);
    return SessionHandle(out);
  }
  Failed refuse() {
    const tenon_session_options* const given = &options;
    tenon_session* out = nullptr;
    Failed failure = failed(&tenon_method_create_session, method.get(), given, &out);
    CHECK(out == nullptr);
    return failure;
  }
};

/// The output of one run with `session`; null: with the method's own state.
Vector run_with(const Asked& of, const SessionHandle& session) {
  call(&tenon_method_use_session, of.method.get(), session.get());
  return run(of.method.get());
}

const SessionHandle own;

}  // namespace

TEST_CASE("sessions have states of their own, and are kept while they are used", "[c]") {
  auto method = load("count");
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  tenon_session* created = nullptr;
  call(&tenon_method_create_session, method.get(), no_session_options, &created);
  SessionHandle session(created);
  call(&tenon_method_use_session, method.get(), session.get());
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  session.reset();
  CHECK(run(method.get()) == Vector{3, 4, 5, 6});
  call(&tenon_method_use_session, method.get(), session.get());
  CHECK(run(method.get()) == Vector{3, 4, 5, 6});

  const auto other = load("count");
  call(&tenon_method_create_session, other.get(), no_session_options, &created);
  session.reset(created);
  CHECK(failed(&tenon_method_use_session, method.get(), session.get()).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  call(&tenon_method_create_session, method.get(), no_session_options, &created);
  session.reset(created);
  method.reset();  // Before its session.
}

TEST_CASE("a session has its options, and the load's for all others", "[c]") {
  Asked asked("count", 2);
  const auto as_loaded = asked.create();
  asked.give_option();
  asked.option.as.real = 10;
  const auto with_step = asked.create();
  asked.options.state = with_step.get();
  asked.options.num_backend_options = 0;
  const auto copied = asked.create();
  CHECK(run_with(asked, with_step) == Vector{11, 12, 13, 14});
  CHECK(run_with(asked, as_loaded) == Vector{3, 4, 5, 6});
  CHECK(run_with(asked, copied) == Vector{3, 4, 5, 6});  // Options are not part of a state.
  CHECK(run_with(asked, own) == Vector{3, 4, 5, 6});
}

TEST_CASE("a session has its hints, or else the method's", "[c]") {
  Asked asked("hints");
  const auto without = asked.create();
  auto scheduling = sized<tenon_scheduling>();
  scheduling.priority = TENON_PRIORITY_HIGH;
  asked.options.scheduling = &scheduling;
  const auto with = asked.create();
  scheduling.priority = TENON_PRIORITY_LOW;  // Is not used any more.
  CHECK(run_with(asked, with) == Vector{4, 5, 6, 7});
  CHECK(run_with(asked, without) == Vector{1, 2, 3, 4});
  CHECK(run_with(asked, own) == Vector{1, 2, 3, 4});
}

TEST_CASE("a session begins with the state of another one, or with the method's own", "[c]") {
  Asked asked("count");
  CHECK(run(asked.method.get()) == Vector{2, 3, 4, 5});
  CHECK(run(asked.method.get()) == Vector{3, 4, 5, 6});
  asked.options.flags = TENON_SESSION_COPY_OWN_STATE;
  auto first = asked.create();
  CHECK(run_with(asked, first) == Vector{4, 5, 6, 7});
  asked.options.flags = 0;
  asked.options.state = first.get();
  const auto second = asked.create();
  first.reset();  // The copy needs it no more.
  CHECK(run_with(asked, second) == Vector{5, 6, 7, 8});
  asked.options.state = nullptr;
  const auto fresh = asked.create();
  CHECK(run_with(asked, fresh) == Vector{2, 3, 4, 5});
  CHECK(run_with(asked, own) == Vector{4, 5, 6, 7});
}

TEST_CASE("a session that cannot be as it is asked for is refused", "[c]") {
  struct Case {
    std::string text;  // Part of it.
    tenon_status status;
    std::function<void(Asked&)> change;
  };
  Asked other("count");
  const auto others = other.create();
  auto scheduling = sized<tenon_scheduling>();
  scheduling.struct_size = 4;
  const std::array cases{
      Case{"flags is 2", TENON_STATUS_NOT_SUPPORTED, [](Asked& of) { of.options.flags = 2; }},
      Case{"reserved is 1", TENON_STATUS_NOT_SUPPORTED, [](Asked& of) { of.options.reserved = 1; }},
      Case{"struct_size is 8", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) { of.options.struct_size = 8; }},
      Case{"scheduling: struct_size is 4", TENON_STATUS_INVALID_ARGUMENT,
           [&](Asked& of) { of.options.scheduling = &scheduling; }},
      Case{"found one of another", TENON_STATUS_INVALID_ARGUMENT,
           [&](Asked& of) { of.options.state = others.get(); }},
      Case{"backend_options is null", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) { of.options.num_backend_options = 1; }},
      Case{"backend_options[0]: struct_size is 1", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) {
             of.give_option();
             of.backend.struct_size = 1;
           }},
      Case{"backend_id is null", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) {
             of.give_option();
             of.backend.backend_id = nullptr;
           }},
      Case{"options is null", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) {
             of.give_option();
             of.backend.options = nullptr;
           }},
      Case{"key is null", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) {
             of.give_option();
             of.option.key = nullptr;
           }},
      Case{"no delegate of the method uses that backend", TENON_STATUS_INVALID_ARGUMENT,
           [](Asked& of) {
             of.give_option();
             of.backend.backend_id = "Other";
           }},
      Case{"colour", TENON_STATUS_NOT_FOUND,
           [](Asked& of) {
             of.give_option();
             of.option.key = "colour";
           }},
      Case{"unknown type number 99", TENON_STATUS_INVALID_TYPE,
           [](Asked& of) {
             of.give_option();
             of.option.type = 99;
           }},
      Case{"delegate 0: create_session: ", TENON_STATUS_INVALID_TYPE,
           [](Asked& of) {
             of.give_option();
             of.option.type = TENON_OPTION_BOOL;
           }},
      Case{"the label is the load's", TENON_STATUS_NOT_SUPPORTED,
           [](Asked& of) {
             of.give_option();
             of.option.key = "label";
             of.option.type = TENON_OPTION_STRING;
             of.option.as.span = {"a", 1};
           }},
  };
  for (const Case& each : cases) {
    CAPTURE(each.text);
    Asked asked("count");
    each.change(asked);
    const Failed failure = asked.refuse();
    CHECK(failure.status == each.status);
    CHECK_THAT(failure.text, ContainsSubstring(each.text));
    asked.options = sized<tenon_session_options>();
    CHECK(run_with(asked, asked.create()) == Vector{2, 3, 4, 5});
  }
}

TEST_CASE("a state that a backend cannot copy, and two states for one session, are refused",
          "[c]") {
  Asked asked("hints");
  const auto session = asked.create();
  asked.options.state = session.get();
  CHECK(asked.refuse().text == "delegate 0: create_session: there is no state");
  asked.options.flags = TENON_SESSION_COPY_OWN_STATE;
  const Failed two = asked.refuse();
  CHECK(two.status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(two.text, ContainsSubstring("expected one state to copy"));
  asked.options.state = nullptr;
  CHECK(asked.refuse().status == TENON_STATUS_NOT_SUPPORTED);
}
