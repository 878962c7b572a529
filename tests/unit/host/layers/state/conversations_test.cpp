// SPDX-License-Identifier: MIT
//
// Many conversations over one method: each computes what it would compute alone.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host.hpp"
#include "tenon/host/sequence.hpp"
#include "unit/host/layers/state/conversation_stress.hpp"
#include "unit/host/layers/state/step_model.hpp"

using namespace tenon;
using namespace tenon::test;
using namespace tenon::test::step_model;
using host::Conversation;
using host::Conversations;
using host::ConversationsOptions;
using host::ConversationStep;
using host::Method;
using host::RewindBy;
using host::StepOutput;

namespace conversations_test {
namespace {

constexpr std::uint64_t state_bytes = num_places * width * 4 + width * 4;

/// The output after the last of `tokens`, computed without a host.
std::vector<float> alone(const std::vector<int>& tokens, bool forgets = false) {
  std::vector<float> cache(num_places * width), sum(width), y(width);
  std::int64_t position = 0;
  for (const int token : tokens) {
    if (forgets) sum.assign(width, 0);
    take(x_of(token).data(), position, cache.data(), sum.data());
    give(position, cache.data(), sum.data(), y.data());
    ++position;
  }
  return y;
}

class StepModel final : public StressSubject {
 public:
  StepModel(std::size_t rows, bool forgets) : sizes_{width}, forgets_(forgets) {
    if (rows != 1) sizes_ = {1, width};
  }
  int random_token(std::mt19937& random) const override { return static_cast<int>(random() % 900); }
  host::InputTensor input(int token, std::vector<std::byte>& bytes) const override {
    const std::array<float, width> x = x_of(token);
    const auto as_bytes = std::as_bytes(std::span(x));
    bytes.assign(as_bytes.begin(), as_bytes.end());
    return {ScalarType::Float, sizes_, bytes};
  }
  std::vector<std::byte> expected(const std::vector<int>& tokens) override {
    const std::vector<float> y = alone(tokens, forgets_);
    const auto bytes = std::as_bytes(std::span(y));
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::vector<std::int64_t> sizes_;
  const bool forgets_;
};

/// A method, and conversations over it.
struct Chat {
  explicit Chat(ConversationsOptions options = {}, bool forgets = false, host::Layers layers = {})
      : model(options.rows, forgets),
        method(load_ok(step_model::model(forgets, static_cast<std::int32_t>(options.rows)), kernels,
                       std::move(layers))) {
    options.sequence.position_input = 1;
    auto made = Conversations::create(*method, std::move(options));
    INFO(made.text());
    REQUIRE(made.ok());
    all = *std::move(made);
  }

  std::unique_ptr<Conversation> open() const {
    auto made = all->open();
    INFO(made.text());
    REQUIRE(made.ok());
    return *std::move(made);
  }
  /// The output after `token`.
  Result<std::vector<float>> run(Conversation& of, int token) const {
    std::vector<std::byte> bytes;
    std::vector<StepOutput> output(1);
    const host::InputTensor input = model.input(token, bytes);
    TENON_RETURN_IF_ERROR(of.execute({&input, 1}, output));
    std::vector<float> y(output[0].bytes.size() / sizeof(float));
    std::memcpy(y.data(), output[0].bytes.data(), output[0].bytes.size());
    return y;
  }
  std::vector<float> run_ok(Conversation& of, int token) const {
    auto y = run(of, token);
    INFO(y.text());
    REQUIRE(y.ok());
    return *std::move(y);
  }

  StepModel model;
  Kernels kernels;
  std::unique_ptr<Method> method;
  std::unique_ptr<Conversations> all;
};

}  // namespace

TEST_CASE("conversations in turns compute what each computes alone", "[conversations]") {
  const Chat chat;
  const auto one = chat.open(), other = chat.open();
  CHECK(chat.run_ok(*one, 3) == alone({3}));
  CHECK(chat.run_ok(*other, 5) == alone({5}));
  CHECK(chat.run_ok(*one, 4) == alone({3, 4}));
  const auto fork = one->fork();
  REQUIRE(fork.ok());
  CHECK(chat.run_ok(**fork, 6) == alone({3, 4, 6}));
  CHECK(chat.run_ok(*one, 7) == alone({3, 4, 7}));
  CHECK((*fork)->position() == 3);
  REQUIRE((*fork)->rewind(2).ok());
  CHECK(chat.run_ok(**fork, 8) == alone({3, 8}));
  const auto saved = one->save();
  REQUIRE(saved.ok());
  const auto restored = chat.all->restore(*saved);
  REQUIRE(restored.ok());
  CHECK(chat.run_ok(**restored, 9) == alone({3, 4, 7, 9}));
  CHECK(chat.run_ok(*other, 1) == alone({5, 1}));
  CHECK(chat.all->memory().in_memory == 4);
  CHECK(chat.all->restore(std::span(*saved).first(70)).error() == Error::InvalidExternalData);
  CHECK(chat.all->memory().in_memory == 4);
}

TEST_CASE("64 conversations and 10,000 steps in random order equal single runs",
          "[conversations][threads]") {
  struct Row {
    std::size_t rows;
    RewindBy by;
    std::size_t in_memory;  // At most; 0: no limit.
  };
  for (const Row& row : {Row{1, RewindBy::Journal, 0}, Row{1, RewindBy::Position, 16},
                         Row{4, RewindBy::Position, 0}, Row{4, RewindBy::Journal, 20}}) {
    const TemporaryDirectory directory;
    ConversationsOptions options{.rows = row.rows, .directory = directory.path()};
    options.sequence.rewind_by = row.by;
    options.memory_bytes = row.in_memory * (state_bytes + 64);
    CAPTURE(row.rows, row.in_memory);
    // With the position alone the sum does not go back.
    Chat chat(options, row.by == RewindBy::Position);
    const auto problems =
        stress(*chat.all, chat.model, {.has_journal = row.by == RewindBy::Journal});
    CAPTURE(problems.empty() ? std::string() : problems.front());
    CHECK(problems.empty());
    CHECK(chat.all->memory().bytes == 0);
    CHECK(std::filesystem::is_empty(directory.path()));
  }
}

TEST_CASE("states above the limit are files until they are used", "[conversations]") {
  const TemporaryDirectory directory;
  ConversationsOptions options{.memory_bytes = 4 * state_bytes, .directory = directory.path()};
  const Chat chat(options);
  std::vector<std::unique_ptr<Conversation>> many;
  for (int i = 0; i < 10; ++i) {
    many.push_back(chat.open());
    CHECK(chat.run_ok(*many.back(), i) == alone({i}));
  }
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(directory.path()), {});
  };
  CHECK(chat.all->memory().on_disk == static_cast<std::size_t>(files()));
  CHECK(chat.all->memory().on_disk >= 6);
  CHECK(chat.all->memory().in_memory + chat.all->memory().on_disk == 10);
  // The first are in files, with their way back.
  CHECK(chat.run_ok(*many[0], 50) == alone({0, 50}));
  REQUIRE(many[1]->rewind(1).ok());
  CHECK(chat.run_ok(*many[1], 51) == alone({51}));
  CHECK(many[2]->position() == 1);
  SECTION("a file that is damaged is refused, and the others go on") {
    for (const auto& file : std::filesystem::directory_iterator(directory.path())) {
      std::filesystem::resize_file(file, 1000);
    }
    const auto refused = chat.run(*many[3], 1);
    CHECK(refused.error() == Error::InvalidExternalData);
    CHECK_THAT(std::string(refused.text()), ContainsSubstring("damaged"));
    CHECK(chat.run_ok(*many[1], 2) == alone({51, 2}));
  }
  SECTION("without the directory a step that needs room fails, and changes nothing") {
    std::filesystem::remove_all(directory.path());
    const auto saved = many[1]->save();
    REQUIRE(saved.ok());
    const auto failed = chat.all->restore(*saved);
    CHECK(failed.error() == Error::AccessFailed);
    CHECK(chat.run_ok(*many[1], 2) == alone({51, 2}));
  }
  many.clear();
  CHECK(chat.all->memory().in_memory == 0);
  CHECK(chat.all->memory().on_disk == 0);
}

TEST_CASE("steps run together where the program has rows, and one that fails fails alone",
          "[conversations]") {
  Chat chat({.rows = 4});
  std::vector<std::unique_ptr<Conversation>> many;
  std::vector<std::vector<std::byte>> bytes(6);
  std::vector<host::InputTensor> inputs;
  std::vector<StepOutput> outputs(6);
  std::vector<ConversationStep> steps;
  inputs.reserve(6);
  for (std::size_t i = 0; i < 6; ++i) {
    many.push_back(chat.open());
    inputs.push_back(chat.model.input(static_cast<int>(i), bytes[i]));
    steps.push_back({*many[i], {&inputs[i], 1}, {&outputs[i], 1}});
  }
  const auto y = [&](std::size_t i) {
    std::vector<float> out(width);
    REQUIRE(outputs[i].bytes.size() == width * 4);
    std::memcpy(out.data(), outputs[i].bytes.data(), outputs[i].bytes.size());
    return out;
  };
  chat.all->execute(steps);
  CHECK(chat.kernels.calls == 2);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(steps[i].outcome.ok());
    CHECK(outputs[i].sizes == std::vector<std::int64_t>{1, width});
    CHECK(y(i) == alone({static_cast<int>(i)}));
  }
  chat.kernels.refused = x_of(2)[0];
  chat.all->execute(steps);
  for (std::size_t i = 0; i < 6; ++i) {
    const int token = static_cast<int>(i);
    CHECK(many[i]->position() == (i == 2 ? 1 : 2));
    CHECK(steps[i].outcome.error() == (i == 2 ? Error::InvalidArgument : Error::Ok));
    if (i != 2) CHECK(y(i) == alone({token, token}));
  }
  CHECK(chat.run_ok(*many[2], 7) == alone({2, 7}));
  // Two steps of one conversation take place one after the other.
  std::vector<ConversationStep> twice;
  for (std::size_t i = 0; i < 2; ++i)
    twice.push_back({*many[5], {&inputs[i], 1}, {&outputs[i], 1}});
  chat.all->execute(twice);
  CHECK(y(0) == alone({5, 5, 0}));
  CHECK(y(1) == alone({5, 5, 0, 1}));
}

TEST_CASE("a conversation is cancelled alone", "[conversations][threads]") {
  Chat chat({.rows = 2}, false, {host::Cancellation()});
  const auto one = chat.open(), other = chat.open(), late = chat.open();
  std::vector<std::byte> bytes;
  const host::InputTensor input = chat.model.input(1, bytes);
  std::atomic<int> runs = 0;
  std::atomic<bool> may_go = false;
  chat.kernels.waits = [&] {
    ++runs;
    while (!may_go) std::this_thread::yield();
  };
  std::vector<ConversationStep> steps;
  for (Conversation* const each : {one.get(), other.get()}) steps.push_back({*each, {&input, 1}});
  std::thread running([&] { chat.all->execute(steps); });
  while (runs == 0) std::this_thread::yield();
  // One step waits, and another one runs.
  std::atomic<bool> is_over = false;
  Status of_late;
  std::thread waiting([&] {
    of_late = late->execute({&input, 1}, {});
    is_over = true;
  });
  while (!is_over) {
    if (!late->cancel().ok()) break;
    std::this_thread::yield();
  }
  waiting.join();
  CHECK(of_late.error() == Error::Cancelled);
  CHECK(one->cancel().ok());
  may_go = true;
  running.join();
  CHECK(steps[0].outcome.error() == Error::Cancelled);
  CHECK(steps[1].outcome.ok());
  CHECK(runs == 2);
  CHECK(one->position() == 0);
  CHECK(other->position() == 1);
  // Without a step it has no effect, also not on the next one.
  CHECK(one->cancel().ok());
  CHECK(chat.run_ok(*one, 3) == alone({3}));
}

TEST_CASE("a step that runs needs the layer that cancels", "[conversations][threads]") {
  Chat chat;
  const auto one = chat.open();
  std::atomic<bool> runs = false, may_go = false;
  chat.kernels.waits = [&] {
    runs = true;
    while (!may_go) std::this_thread::yield();
  };
  Error of_step{};
  std::thread running([&] { of_step = chat.run(*one, 1).error(); });
  while (!runs) std::this_thread::yield();
  const Status outcome = one->cancel();
  may_go = true;
  running.join();
  CHECK(of_step == Error::Ok);
  CHECK(outcome.error() == Error::InvalidState);
  CHECK_THAT(std::string(outcome.text()), ContainsSubstring("Cancellation"));
}

TEST_CASE("what conversations cannot do is refused", "[conversations]") {
  Kernels kernels;
  const auto method = load_ok(model(), kernels);
  const auto refused = [&](const ConversationsOptions& options, Error expected,
                           const std::string& text) {
    const auto made = Conversations::create(*method, options);
    INFO(made.text());
    CHECK(made.error() == expected);
    CHECK_THAT(std::string(made.text()), ContainsSubstring(text));
  };
  refused({.rows = 0}, Error::InvalidArgument, "expected 1 row or more");
  refused({.rows = 3}, Error::NotSupported, "expected a size of 3 or a multiple in dimension 0");
  refused({.memory_bytes = 100, .directory = "/"}, Error::InvalidArgument, "for 2 states");
  refused({.memory_bytes = 1 << 20}, Error::InvalidArgument, "needs a directory");
  refused({.memory_bytes = 1 << 20, .directory = "/nowhere"}, Error::NotFound, "/nowhere");
  ConversationsOptions bounded;
  bounded.sequence.capacity = 2;
  const Chat chat(bounded);
  const auto one = chat.open();
  CHECK(one->execute({}, {}).error() == Error::InvalidArgument);
  std::vector<StepOutput> outputs(2);
  std::vector<std::byte> bytes;
  const host::InputTensor input = chat.model.input(1, bytes);
  CHECK(one->execute({&input, 1}, outputs).error() == Error::InvalidArgument);
  CHECK(one->execute({&input, 1}, {}, 3).error() == Error::OutOfResources);
  CHECK(one->position() == 0);
  CHECK(chat.run_ok(*one, 1) == alone({1}));
  Chat other;
  std::vector<ConversationStep> steps;
  steps.push_back({*one, {&input, 1}});
  other.all->execute(steps);
  CHECK(steps[0].outcome.error() == Error::InvalidArgument);
}

}  // namespace conversations_test
