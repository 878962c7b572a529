// SPDX-License-Identifier: MIT
#include <signal.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "isolated.hpp"
#include "support/catch.hpp"
#include "tenon/abi/draft/sequence.h"
#include "tenon/abi/extensions/sessions.h"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/layers/state/sequence.hpp"
#include "tenon/host/loader/impl/method/arena.hpp"
#include "tenon/host/loader/plugin/calls.hpp"
#include "tenon/host/loader/plugin/plugin.hpp"

using namespace tenon;
using namespace tenon::test;

/// Sessions and states in a worker: also when it has died, and a delegate is loaded again in a new
/// one.
namespace isolated_restart_test { namespace {

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

/// A run, a run in which the worker dies, and a run that must fail.
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

TEST_CASE("a session keeps the hints that it was made with when it is loaded again") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program, restarts(2));
  REQUIRE(method.ok());
  // A high priority adds 10000.
  const auto urgent = [&] {
    auto made = (*method)->create_session({.scheduling = Scheduling{.priority = Priority::High}});
    INFO(made.text());
    REQUIRE(made.ok());
    return *std::move(made);
  };
  const auto session = urgent();
  (*method)->use_session(session.get());
  CHECK(*count(**method) == 100);
  die(**method);
  // A delegate that is made in a new worker, and a delegate that is loaded again there.
  const auto other = urgent();
  CHECK(*count(**method) == 100);
  (*method)->use_session(other.get());
  CHECK(*count(**method) == 100);
  (*method)->use_session(nullptr);
  CHECK(*count(**method) == 0);
}

TEST_CASE(
    "hints that are set after the worker died are followed by the delegate and its sessions") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program, restarts(3));
  REQUIRE(method.ok());
  die(**method);
  const Status set = (*method)->set_scheduling({.priority = Priority::High});
  INFO(set.text());
  REQUIRE(set.ok());
  CHECK(*count(**method) == 100);
  const auto session = (*method)->create_session();
  INFO(session.text());
  REQUIRE(session.ok());
  (*method)->use_session(session->get());
  CHECK(*count(**method) == 100);
  // The session is loaded again with them, and one is made of a delegate whose worker is dead.
  die(**method);
  CHECK(*count(**method) == 100);
  const auto other = (*method)->create_session();
  INFO(other.text());
  REQUIRE(other.ok());
  (*method)->use_session(other->get());
  CHECK(*count(**method) == 100);
  (*method)->use_session(nullptr);
  CHECK(*count(**method) == 100);
}

TEST_CASE("hints cannot be set after the worker died without restarts, and the error says why") {
  Application application(TENON_TEST_COUNTS);
  auto method = application.load(add_program);
  REQUIRE(method.ok());
  die(**method);
  const Status set = (*method)->set_scheduling({.priority = Priority::High});
  INFO(set.text());
  CHECK(set.error() == Error::InvalidState);
  CHECK(has_text(set.text(), "the worker has died before"));
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

/// One delegate in a worker, by the functions of the boundary.
struct Direct {
  explicit Direct(std::int64_t restarts = 0) {
    auto loaded = host::Plugin::load(application.path(), host::all_layers());
    REQUIRE(loaded.ok());
    plugin = *loaded;
    auto found = plugin->backend("Add");
    INFO(found.text());
    REQUIRE(found.ok());
    backend = *found;
    REQUIRE(backend->set_option("isolated.restart", restarts).ok());
    sessions = *backend->extension<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS);
    sequence = *backend->extension<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE);
    host::detail::InitCall context;
    context.host = backend->host();
    context.method_name = "forward";
    context.processed = &blob;
    context.runtime_allocator = memory.table();
    REQUIRE(backend->api().init(backend->raw(), &context, &first) == TENON_STATUS_OK);
    list(first);
  }
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;
  ~Direct() {
    for (tenon_delegate* each : made) backend->api().destroy(backend->raw(), each);
    backend->api().destroy(backend->raw(), first);
  }

  [[nodiscard]] tenon_status try_list(tenon_delegate* of) const {
    const tenon_state_list parts{
        sizeof parts, 0, [](const tenon_state_list*, const tenon_state_part*) -> tenon_status {
          return TENON_STATUS_OK;
        }};
    return sequence.list(backend->raw(), of, &parts);
  }
  /// The sizes of parts are known only after it.
  void list(tenon_delegate* of) const { REQUIRE(try_list(of) == TENON_STATUS_OK); }
  [[nodiscard]] tenon_status create(tenon_delegate* state, const tenon_option* option = nullptr) {
    const tenon_session_context context{sizeof context, option ? 1u : 0u, option,
                                        nullptr,        memory.table(),   state};
    tenon_delegate* out = nullptr;
    const tenon_status status = sessions.create_session(backend->raw(), first, &context, &out);
    if (status != TENON_STATUS_OK) return status;
    made.push_back(out);
    list(out);
    return status;
  }
  /// A part, in two calls.
  [[nodiscard]] float read(tenon_delegate* of, std::uint64_t part) const {
    std::array<std::byte, sizeof(float)> bytes{};
    REQUIRE(sequence.read(backend->raw(), of, part, 0, 3, bytes.data()) == TENON_STATUS_OK);
    REQUIRE(sequence.read(backend->raw(), of, part, 3, 1, bytes.data() + 3) == TENON_STATUS_OK);
    return std::bit_cast<float>(bytes);
  }
  [[nodiscard]] tenon_status write(tenon_delegate* of, std::uint64_t part, float value) const {
    const auto bytes = std::bit_cast<std::array<std::byte, sizeof(float)>>(value);
    const tenon_status status = sequence.write(backend->raw(), of, part, 0, 1, bytes.data());
    if (status != TENON_STATUS_OK) return status;
    return sequence.write(backend->raw(), of, part, 1, 3, bytes.data() + 1);
  }

  Application application{TENON_TEST_COUNTS};
  std::shared_ptr<host::Plugin> plugin;
  std::shared_ptr<const host::LoadedBackend> backend;
  tenon_sessions_v1 sessions{};
  tenon_sequence_v1 sequence{};
  host::Arena memory;
  tenon_buffer blob{sizeof blob, 0, "b", 1, nullptr, [](tenon_buffer*) {}};
  tenon_delegate* first = nullptr;
  std::vector<tenon_delegate*> made;
};

TEST_CASE("a session in a worker begins with the state that it is given") {
  Direct direct;
  // One part has an address in the worker, the other none.
  REQUIRE(direct.write(direct.first, 0, 3) == TENON_STATUS_OK);
  REQUIRE(direct.write(direct.first, 1, 4) == TENON_STATUS_OK);
  CHECK(direct.sequence.write(direct.backend->raw(), direct.first, 0, 2, 3, "abc") ==
        TENON_STATUS_INVALID_ARGUMENT);
  REQUIRE(direct.create(nullptr) == TENON_STATUS_OK);
  REQUIRE(direct.create(direct.first) == TENON_STATUS_OK);
  REQUIRE(direct.write(direct.made[1], 1, 5) == TENON_STATUS_OK);
  REQUIRE(direct.create(direct.made[1]) == TENON_STATUS_OK);
  for (const std::uint64_t part : {std::uint64_t{0}, std::uint64_t{1}}) {
    CHECK(direct.read(direct.first, part) == (part == 0 ? 3 : 4));
    CHECK(direct.read(direct.made[0], part) == 0);
    CHECK(direct.read(direct.made[1], part) == (part == 0 ? 3 : 5));
    CHECK(direct.read(direct.made[2], part) == (part == 0 ? 3 : 5));
  }
}

// To be run with the thread sanitizer, too.
TEST_CASE("a session is made while its delegate is loaded again in another worker") {
  Direct direct(1000);
  tenon_backend* const backend = direct.backend->raw();
  std::atomic<bool> is_over = false;
  int num_made = 0;
  std::thread creator([&] {
    host::Arena memory;
    const tenon_session_context context{sizeof context, 0,      nullptr, nullptr,
                                        memory.table(), nullptr};
    while (!is_over) {
      tenon_delegate* made = nullptr;
      const tenon_status status =
          direct.sessions.create_session(backend, direct.first, &context, &made);
      if (status != TENON_STATUS_OK) continue;
      ++num_made;
      direct.backend->api().destroy(backend, made);
    }
  });
  int num_loaded = 0;
  for (int death = 0; death < 5; ++death) {
    for (const pid_t each : worker_processes()) ::kill(each, SIGKILL);
    tenon_status status = TENON_STATUS_INTERNAL;
    for (int i = 0; i < 20 && status != TENON_STATUS_OK; ++i)
      status = direct.try_list(direct.first);
    if (status == TENON_STATUS_OK) ++num_loaded;
  }
  is_over = true;
  creator.join();
  CHECK(num_loaded == 5);
  CHECK(num_made > 0);
}

TEST_CASE("a session in a worker has options of its own") {
  Direct direct;
  tenon_option option{sizeof option, TENON_OPTION_BOOL, "refuses", {}};
  option.as.boolean = 1;
  REQUIRE(direct.create(nullptr, &option) == TENON_STATUS_OK);
  CHECK(direct.write(direct.made[0], 1, 2) == TENON_STATUS_INVALID_STATE);
  CHECK(direct.write(direct.first, 1, 2) == TENON_STATUS_OK);
  option.key = "unknown";
  CHECK(direct.create(nullptr, &option) == TENON_STATUS_NOT_FOUND);
  option.key = "isolated.own_worker";
  CHECK(direct.create(nullptr, &option) == TENON_STATUS_NOT_SUPPORTED);
  option.key = "isolated.restart";
  CHECK(direct.create(nullptr, &option) == TENON_STATUS_INVALID_TYPE);
  option.key = "isolated.unknown";
  CHECK(direct.create(nullptr, &option) == TENON_STATUS_NOT_FOUND);
}

}}  // namespace isolated_restart_test
