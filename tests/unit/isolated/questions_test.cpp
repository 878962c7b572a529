// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hostile_host.hpp"
#include "isolated.hpp"
#include "plain_plugin.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace tenon;
using namespace tenon::test;

/// The questions of a worker reach the delegate that is called, and the sizes that it states are
/// those that were agreed.
namespace isolated_questions_test { namespace {

/// One delegate with named data of its own.
struct Loaded : tenon_named_data_map {
  explicit Loaded(const char* its_weight)
      : tenon_named_data_map{sizeof(tenon_named_data_map), 1, &get_data, &get_layout, &get_key},
        weight(its_weight) {}

  const char* weight;
  tenon_buffer blob{};
  tenon_init_context context{};
  tenon_delegate* delegate = nullptr;
  mutable int num_asked = 0;

 private:
  static const Loaded& of(const tenon_named_data_map* map) {
    const auto& self = *static_cast<const Loaded*>(map);
    ++self.num_asked;
    return self;
  }
  static tenon_status get_data(const tenon_named_data_map* map, const char*, std::uint64_t,
                               tenon_buffer* out) {
    out->data = of(map).weight;
    out->nbytes = 1;
    return TENON_STATUS_OK;
  }
  static tenon_status get_layout(const tenon_named_data_map* map, const char*, std::uint64_t,
                                 tenon_tensor_layout*) {
    static_cast<void>(of(map));
    return TENON_STATUS_NOT_FOUND;
  }
  static tenon_status get_key(const tenon_named_data_map* map, std::uint32_t, const char** key,
                              std::uint64_t* size) {
    *key = of(map).weight;
    *size = 1;
    return TENON_STATUS_OK;
  }
};

/// An application with an isolated plugin, in the worker that `asks` names or in a true one.
class Asked {
 public:
  explicit Asked(const char* asks, const std::string& plugin = TENON_TEST_HELLO)
      : path_(directory_.file("asked.so")), host_(path_) {
    static_cast<void>(marked_process());
    if (asks) ::setenv("TENON_TEST_ASKS", asks, 1);
    const auto made =
        isolate::make_isolated({.template_file = TENON_TEST_ISOLATED_TEMPLATE,
                                .worker = asks ? TENON_TEST_ASKING_WORKER : TENON_TEST_WORKER,
                                .plugin = plugin,
                                .out = path_});
    REQUIRE(std::string(made.text()) == "");
    plugin_.emplace(path_.c_str());
    REQUIRE(api().open(&host_, &backend_) == TENON_STATUS_OK);
    ::unsetenv("TENON_TEST_ASKS");
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    for (const auto& each : all_) api().destroy(backend_, each->delegate);
    api().close(backend_);
  }

  [[nodiscard]] const tenon_backend_api& api() const { return plugin_->api(); }
  [[nodiscard]] tenon_backend* backend() const { return backend_; }
  [[nodiscard]] HostileHost& host() { return host_; }
  template <class Table>
  [[nodiscard]] const Table& table(const char* id) const {
    const auto* const found = static_cast<const Table*>(api().get_extension(backend_, id));
    REQUIRE(found);
    return *found;
  }

  Loaded& init(const char* weight) {
    Loaded& out = *all_.emplace_back(std::make_unique<Loaded>(weight));
    out.blob.struct_size = sizeof out.blob;
    out.context.struct_size = sizeof out.context;
    out.context.host = &host_;
    out.context.method_name = "forward";
    out.context.processed = &out.blob;
    out.context.named_data_map = &out;
    const tenon_status status = api().init(backend_, &out.context, &out.delegate);
    INFO(host_.error);
    REQUIRE(status == TENON_STATUS_OK);
    return out;
  }

  /// Runs a delegate with two numbers; the first one of its output.
  tenon_status run(tenon_delegate* delegate, float first = 0, float second = 0) {
    GuardedTensor a(TENON_SHAPE_STATIC);
    GuardedTensor b(TENON_SHAPE_STATIC);
    GuardedTensor out(TENON_SHAPE_STATIC);
    auto* const numbers = reinterpret_cast<float*>(a.memory.data());
    numbers[0] = first;
    numbers[1] = second;
    tenon_value* args[] = {&a.value, &b.value, &out.value};
    tenon_execution_context context{};
    context.struct_size = sizeof context;
    context.host = &host_;
    context.method_name = "forward";
    host_.error.clear();
    const tenon_status status = api().execute(backend_, delegate, &context, args, 3);
    result = *reinterpret_cast<const float*>(out.memory.data());
    return status;
  }

  float result = 0;

 private:
  TemporaryDirectory directory_;
  std::string path_;
  HostileHost host_;
  std::optional<PlainPlugin> plugin_;
  tenon_backend* backend_ = nullptr;
  std::vector<std::unique_ptr<Loaded>> all_;
};

bool has_text(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Of a session that says nothing of its own; the worker has memory for it.
constexpr tenon_session_context no_context{sizeof no_context, 0,       nullptr,
                                           nullptr,           nullptr, nullptr};

TEST_CASE("what a worker asks in a call reaches the data of the delegate that is called alone") {
  Asked asked("others");
  Loaded& first = asked.init("a");
  Loaded& second = asked.init("b");
  CHECK(first.num_asked + second.num_asked == 0);
  const auto expect = [&](int of_first, int of_second) {
    CHECK(first.num_asked == of_first);
    CHECK(second.num_asked == of_second);
    CHECK(asked.host().num_stored[&first.context] == of_first / 12);
    CHECK(asked.host().num_stored[&second.context] == of_second / 12);
  };
  CHECK(asked.run(second.delegate) == TENON_STATUS_OK);
  expect(0, 12);
  CHECK(asked.run(first.delegate) == TENON_STATUS_OK);
  expect(12, 12);

  // A session has the data of its parent.
  tenon_delegate* session = nullptr;
  const auto& sessions = asked.table<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS);
  REQUIRE(sessions.create_session(asked.backend(), second.delegate, &no_context, &session) ==
          TENON_STATUS_OK);
  expect(12, 24);
  CHECK(asked.run(session) == TENON_STATUS_OK);
  expect(12, 36);
  asked.api().destroy(asked.backend(), session);
  expect(12, 48);

  // A call of no delegate has no data.
  CHECK(asked.api().is_available(asked.backend()) == TENON_STATUS_OK);
  const auto& kernels = asked.table<tenon_kernels_v1>(TENON_EXTENSION_KERNELS);
  const auto sink = [](void*, const char*) {};
  CHECK(kernels.list_operators(asked.backend(), sink, nullptr) == TENON_STATUS_OK);
  expect(12, 48);

  // Data of a context end with its call.
  Loaded third("c");
  third.context = first.context;
  third.context.named_data_map = &third;
  std::uint32_t verdict = 0;
  const auto& check = asked.table<tenon_check_blob_v1>(TENON_EXTENSION_CHECK_BLOB);
  CHECK(check.check_blob(asked.backend(), &third.context, &verdict) == TENON_STATUS_OK);
  CHECK(third.num_asked == 12);
  CHECK(asked.run(first.delegate) == TENON_STATUS_OK);
  CHECK(third.num_asked == 12);
  expect(24, 48);
}

TEST_CASE("a plugin in a worker gets data of a delegate in the calls of it and of its sessions") {
  Asked asked(nullptr, TENON_TEST_ASKS_DATA);
  const Loaded& first = asked.init("a");
  const Loaded& second = asked.init("b");
  tenon_delegate* session = nullptr;
  const auto& sessions = asked.table<tenon_sessions_v1>(TENON_EXTENSION_SESSIONS);
  REQUIRE(sessions.create_session(asked.backend(), first.delegate, &no_context, &session) ==
          TENON_STATUS_OK);
  for (const float in_thread : {0.0f, 1.0f}) {
    INFO(in_thread);
    for (const auto& [delegate, number] :
         {std::pair(first.delegate, 0), {second.delegate, 1}, {session, 0}}) {
      CHECK(asked.run(delegate, static_cast<float>(number), in_thread) == TENON_STATUS_OK);
      CHECK(asked.result == static_cast<float>('a' + number));
      const auto other = static_cast<float>(1 - number);
      CHECK(asked.run(delegate, other, in_thread) == TENON_STATUS_INVALID_STATE);
      CHECK(has_text(asked.host().error, "no data under key 'weight'"));
    }
  }
  asked.api().destroy(asked.backend(), session);
}

TEST_CASE("a worker cannot make the application open prepared bytes without end") {
  Asked asked("entries");
  const Loaded& loaded = asked.init("a");
  CHECK(asked.host().num_opened[&loaded.context] == 256);
}

TEST_CASE("bytes that no call asks for are not read") {
  for (const char* what : {"code", "stored"}) {
    INFO(what);
    Asked asked(what);
    CHECK(asked.run(asked.init("a").delegate) == TENON_STATUS_OK);
  }
}

TEST_CASE("a message has no more bytes than the call may have") {
  Asked asked("text");
  CHECK(asked.run(asked.init("a").delegate) == TENON_STATUS_INTERNAL);
  CHECK(
      has_text(asked.host().error, "has 20971520 bytes, expected 20971520, and at most 16777216"));
}

/// The sizes of parts that `list` adds.
struct Listed : tenon_state_list {
  Listed() : tenon_state_list{sizeof(tenon_state_list), 0, &add_one} {}
  mutable std::vector<std::uint64_t> sizes;

 private:
  static tenon_status add_one(const tenon_state_list* to, const tenon_state_part* part) {
    static_cast<const Listed*>(to)->sizes.push_back(part->nbytes);
    return TENON_STATUS_OK;
  }
};

TEST_CASE("the parts of a state have a limit together") {
  Asked asked("state");
  const auto& sequence = asked.table<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE);
  const Listed listed;
  CHECK(sequence.list(asked.backend(), asked.init("a").delegate, &listed) ==
        TENON_STATUS_OUT_OF_RESOURCES);
  CHECK(listed.sizes.size() == 2);
  CHECK(has_text(asked.host().error, "the state has more than 1073741824 bytes"));
}

TEST_CASE("a part of a state is read when the worker holds all of its bytes, and no others") {
  struct Case {
    const char* what;
    const char* text;  ///< Of the failure; null for success.
  };
  const auto [what, text] =
      GENERATE(values<Case>({{"whole", nullptr},
                             {"hollow", "a file in memory holds 524288 of its "},
                             {"unsealed", "and is not sealed"},
                             {"longer", "a file in memory has 188743"}}));
  INFO(what);
  Asked asked(what);
  tenon_delegate* const delegate = asked.init("a").delegate;
  const auto& sequence = asked.table<tenon_sequence_v1>(TENON_EXTENSION_SEQUENCE);
  const Listed listed;
  std::vector<std::byte> bytes(std::size_t{1} << 20, std::byte{7});
  // Nobody knows how large a part is that was not listed.
  const auto read = [&](std::uint64_t offset, std::uint64_t nbytes) {
    return sequence.read(asked.backend(), delegate, 0, offset, nbytes, bytes.data());
  };
  CHECK(read(0, 1) == TENON_STATUS_INVALID_ARGUMENT);
  REQUIRE(sequence.list(asked.backend(), delegate, &listed) == TENON_STATUS_OK);
  REQUIRE(listed.sizes == std::vector<std::uint64_t>{bytes.size()});
  // A range outside of the part does not reach the worker.
  CHECK(read(1, bytes.size()) == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(read(bytes.size() + 1, 0) == TENON_STATUS_INVALID_ARGUMENT);
  const tenon_status status = read(0, bytes.size());
  CHECK(status == (text ? TENON_STATUS_INTERNAL : TENON_STATUS_OK));
  CHECK(bytes.back() == (text ? std::byte{7} : std::byte{0}));
  if (text) CHECK(has_text(asked.host().error, text));
}

}}  // namespace isolated_questions_test
