// SPDX-License-Identifier: MIT
//
// Delegates on streams of the application. The streams are the stand-in's, whose work runs when it
// is waited for.
#include <memory>
#include <string>
#include <vector>

#include "device_support.hpp"

using namespace tenon;
using namespace tenon::test;

namespace {

ProgramBuilder program_of_two_delegates() {
  ProgramBuilder builder = resident_program(true);
  PlanBuilder plan(*builder.program.execution_plan[0]);
  const auto second =
      plan.delegate("FarBackend", schema::DataLocation::INLINE, builder.inline_blob("copy"));
  plan.instruction(delegate_call(second, {0, 1}));
  return builder;
}

/// A method that has an input and enqueued its run on a stream.
struct Enqueued {
  Enqueued() {
    REQUIRE(set_floats(*method, 0, counted, two_by_three).ok());
    REQUIRE(method->set_stream("FarBackend", &stream).ok());
    REQUIRE(method->execute().ok());
    CHECK(stream.pending() == 1);
  }

  const FarRegistry far;
  FarStream stream;
  std::unique_ptr<host::Method> method = load_ok(resident_program(true), far.options());
};

}  // namespace

TEST_CASE("on the application's stream execute returns before the work is done, on its own after",
          "[device][TN-EXE-4]") {
  Enqueued run;
  run.stream.finish();
  CHECK(read_output(*run.method) == std::vector<float>(counted.begin(), counted.end()));

  REQUIRE(run.method->set_stream("FarBackend", nullptr).ok());
  REQUIRE(run.method->execute().ok());
  CHECK(run.stream.pending() == 0);
}

TEST_CASE("what comes to the host waits for the application's stream", "[device][TN-DEV-7]") {
  Enqueued run;
  CHECK(read_output(*run.method) == std::vector<float>(counted.begin(), counted.end()));
  CHECK(run.stream.pending() == 0);

  // Also the program's own copies.
  const auto around = load_ok(device_program(), run.far.options());
  REQUIRE(around->set_stream("FarBackend", &run.stream).ok());
  check_adds(*around);
}

TEST_CASE("a new input is copied after the work that reads the old one", "[device][TN-DEV-7]") {
  const FarRegistry far;
  FarStream stream;
  const auto method = load_ok(resident_program(true), far.options());
  REQUIRE(method->set_stream("FarBackend", &stream).ok());
  REQUIRE(set_floats(*method, 0, counted, two_by_three).ok());
  REQUIRE(method->execute().ok());
  REQUIRE(set_floats(*method, 0, ones, two_by_three).ok());
  CHECK(read_output(*method) == std::vector<float>(counted.begin(), counted.end()));
}

TEST_CASE("a stream that one delegate refuses is given to none", "[device][TN-STR-1]") {
  const FarRegistry far;
  FarStream mine, foreign;
  foreign.foreign = true;
  const auto method = load_ok(program_of_two_delegates(), far.options());
  REQUIRE(set_floats(*method, 0, counted, two_by_three).ok());
  REQUIRE(method->set_stream("FarBackend", &mine).ok());
  const Status refused = method->set_stream("FarBackend", &foreign);
  CHECK(refused.error() == Error::NotSupported);
  CHECK(refused.text() == "delegate 0: set_stream: the stream belongs to another device");
  REQUIRE(method->execute().ok());
  CHECK(mine.pending() == 2);
  CHECK(foreign.pending() == 0);

  // The first takes it and the second does not.
  FarStream once;
  once.takers = 1;
  const Status half = method->set_stream("FarBackend", &once);
  CHECK(half.error() == Error::NotSupported);
  CHECK_THAT(std::string(half.text()), ContainsSubstring("delegate 1: set_stream: "));
  REQUIRE(method->execute().ok());
  CHECK(once.pending() == 0);
  CHECK(mine.pending() == 2);
}

TEST_CASE("a stream may go when the delegates have another, or when one of them refused it",
          "[device][TN-STR-5]") {
  const FarRegistry far;
  FarStream mine;
  const auto method = load_ok(program_of_two_delegates(), far.options());
  REQUIRE(set_floats(*method, 0, counted, two_by_three).ok());
  {
    FarStream brief, once;
    REQUIRE(method->set_stream("FarBackend", &brief).ok());
    REQUIRE(method->execute().ok());
    CHECK(brief.pending() == 2);
    REQUIRE(method->set_stream("FarBackend", &mine).ok());
    CHECK(brief.pending() == 0);
    once.takers = 1;
    CHECK_FALSE(method->set_stream("FarBackend", &once).ok());
  }
  REQUIRE(method->execute().ok());
  CHECK(mine.pending() == 2);
}

TEST_CASE("a stream of another kind does not reach the backend", "[device][TN-STR-7]") {
  const FarRegistry far;
  FarStream mine, other;
  other.takers = 0;
  const auto method = load_ok(program_of_two_delegates(), far.options());
  REQUIRE(set_floats(*method, 0, counted, two_by_three).ok());
  REQUIRE(method->set_stream("FarBackend", {TENON_KIND_CUDA_STREAM, &mine}).ok());
  for (const char* const kind : {TENON_KIND_METAL_COMMAND_QUEUE, "acme.queue", ""}) {
    const Status refused = method->set_stream("FarBackend", {kind, &other});
    CHECK(refused.error() == Error::InvalidArgument);
    CHECK(refused.text() == concat("delegate 0: backend FarBackend: expected a stream of kind "
                                   "'cuda.stream', found one of kind '",
                                   std::string_view(kind), "'"));
  }
  REQUIRE(method->execute().ok());
  CHECK(mine.pending() == 2);
  // No stream has no kind.
  REQUIRE(method->set_stream("FarBackend", {TENON_KIND_METAL_COMMAND_QUEUE, nullptr}).ok());
  REQUIRE(method->execute().ok());
  CHECK(mine.pending() == 0);
}

TEST_CASE("streams are for backends that take them and that the method uses", "[device]") {
  const FarRegistry far;
  FarStream stream;
  const auto method = load_ok(chain_of({"quiet"}), far.options());
  const Status without = method->set_stream("Test", &stream);
  CHECK(without.error() == Error::NotSupported);
  CHECK(without.text() ==
        "delegate 0: backend Test runs on no external streams (extension tenon.streams/1)");
  const Status unused = method->set_stream("FarBackend", &stream);
  CHECK(unused.error() == Error::InvalidArgument);
  CHECK(unused.text() == "no delegate of the method uses backend FarBackend");
}

TEST_CASE("each session has the stream that it was given", "[device]") {
  const FarRegistry far;
  FarStream first, second;
  const auto method = load_ok(resident_program(true), far.options());
  REQUIRE(set_floats(*method, 0, counted, two_by_three).ok());
  auto session = method->create_session();
  REQUIRE(session.ok());
  REQUIRE(method->set_stream("FarBackend", &first).ok());
  method->use_session(session->get());
  REQUIRE(method->execute().ok());
  CHECK(first.pending() == 0);
  REQUIRE(method->set_stream("FarBackend", &second).ok());
  REQUIRE(method->execute().ok());
  CHECK(second.pending() == 1);
  method->use_session(nullptr);
  REQUIRE(method->execute().ok());
  CHECK(first.pending() == 1);
  method->use_session(session->get());
  session->reset();  // Waits for what it enqueued; the method returns to its own state.
  CHECK(second.pending() == 0);
  REQUIRE(method->execute().ok());
  CHECK(first.pending() == 2);
}

TEST_CASE("a method waits for its enqueued work before it is destroyed", "[device][TN-STR-4]") {
  Enqueued run;
  run.method.reset();
  CHECK(run.stream.pending() == 0);
}
