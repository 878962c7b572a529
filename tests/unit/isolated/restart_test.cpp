// SPDX-License-Identifier: MIT
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "tenon/host/sequence/sequence.hpp"

using namespace tenon;
using namespace tenon::test;

/// Sessions and states when a worker has died, and a delegate is loaded again in a new one.
namespace isolated_restart_test {
namespace {

std::vector<host::BackendOption> restarts(std::int64_t times) {
  return {{"Add", "isolated.restart", times}};
}

/// The number of earlier runs in the state of the run, or the failure.
Result<int> count(host::Method& method) {
  TENON_TRY(const std::vector<float> got, add(method));
  return static_cast<int>(got[0] - sum[0]) / 100;
}

void die(host::Method& method) {
  const auto died = add(method, 666);
  INFO(died.text());
  CHECK(died.error() == Error::Internal);
}

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Puts the inputs of `add` in place for a run of a sequence.
struct Inputs {
  explicit Inputs(host::Method& its_method) : method(its_method) {}
  void set(float first) {
    a[0] = first;
    const std::vector<std::int64_t> sizes{2, 3};
    const auto input = [&](std::size_t index, const std::vector<float>& values) {
      const auto bytes = std::as_bytes(std::span(values));
      REQUIRE(method.set_input(index, host::InputTensor{ScalarType::Float, sizes, bytes}).ok());
    };
    input(0, a);
    input(1, b);
  }
  [[nodiscard]] int count() const {
    const auto* data = static_cast<const float*>(method.output(0).as.tensor->dl.data);
    return static_cast<int>(data[0] - sum[0]) / 100;
  }
  host::Method& method;
  std::vector<float> a{0, 1, 2, 3, 4, 5};
  std::vector<float> b{10, 20, 30, 40, 50, 60};
};

TEST_CASE("a sequence continues where it was when its worker has died") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program, restarts(2));
  INFO(method.text());
  REQUIRE(method.ok());
  auto sequence = host::Sequence::create(**method);
  INFO(sequence.text());
  REQUIRE(sequence.ok());
  Inputs inputs(**method);
  for (int i = 0; i < 25; ++i) {
    if (i == 5 || i == 13) {
      inputs.set(666);
      const Status died = (*sequence)->execute();
      CHECK(died.error() == Error::Internal);
    }
    inputs.set(0);
    const Status run = (*sequence)->execute();
    INFO(i << ": " << run.text());
    REQUIRE(run.ok());
    CHECK(inputs.count() == i);
  }
  CHECK((*sequence)->position() == 25);
  REQUIRE((*sequence)->rewind(20).ok());
  inputs.set(0);
  REQUIRE((*sequence)->execute().ok());
  CHECK(inputs.count() == 5);
}

/// A run, one in which the worker dies, and one that must fail.
void check_stays_dead(Application& application, std::vector<host::BackendOption> options) {
  auto method = application.load(add_program, std::move(options));
  REQUIRE(method.ok());
  auto sequence = host::Sequence::create(**method);
  INFO(sequence.text());
  REQUIRE(sequence.ok());
  Inputs inputs(**method);
  inputs.set(0);
  REQUIRE((*sequence)->execute().ok());
  inputs.set(666);
  CHECK_FALSE((*sequence)->execute().ok());
  inputs.set(0);
  const Status later = (*sequence)->execute();
  INFO(later.text());
  CHECK_FALSE(later.ok());
}

TEST_CASE("a sequence whose worker died stays dead without restarts") {
  Application application(TENON_TEST_COUNTS);
  check_stays_dead(application, {});
}

TEST_CASE("a state that was never saved begins anew, and the log says so") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program, restarts(1));
  REQUIRE(method.ok());
  for (int i = 0; i < 3; ++i) CHECK(*count(**method) == i);
  die(**method);
  CHECK(*count(**method) == 0);
  CHECK(has_text(application.log()->lines().back(),
                 "was loaded again in a new worker, without a state"));
}

TEST_CASE("a plugin that refuses the state that was saved is not run without it") {
  Application application(TENON_TEST_COUNTS);
  auto options = restarts(1);
  options.push_back({"Add", "refuses", true});
  check_stays_dead(application, std::move(options));
}

TEST_CASE("sessions are loaded again, each by its next call") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program, restarts(2));
  REQUIRE(method.ok());
  auto session = (*method)->create_session();
  INFO(session.text());
  REQUIRE(session.ok());
  CHECK(*count(**method) == 0);
  CHECK(*count(**method) == 1);
  (*method)->use_session(session->get());
  CHECK(*count(**method) == 0);
  die(**method);
  CHECK(*count(**method) == 0);
  CHECK(*count(**method) == 1);
  // Another one, of a delegate that has not run since.
  auto other = (*method)->create_session();
  INFO(other.text());
  REQUIRE(other.ok());
  (*method)->use_session(other->get());
  CHECK(*count(**method) == 0);
  (*method)->use_session(nullptr);
  CHECK(*count(**method) == 0);
  (*method)->use_session(session->get());
  CHECK(*count(**method) == 2);
  // Once for each of them is left.
  die(**method);
  CHECK(*count(**method) == 0);
  die(**method);
  const auto dead = count(**method);
  CHECK(dead.error() == Error::InvalidState);
  (*method)->use_session(nullptr);
}

TEST_CASE("sessions stay dead without restarts") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program);
  REQUIRE(method.ok());
  auto session = (*method)->create_session();
  REQUIRE(session.ok());
  die(**method);
  (*method)->use_session(session->get());
  CHECK(count(**method).error() == Error::InvalidState);
  (*method)->use_session(nullptr);
  const auto another = (*method)->create_session();
  CHECK(another.error() == Error::InvalidState);
  CHECK(has_text(another.text(), "the worker has died before"));
}

}  // namespace
}  // namespace isolated_restart_test
