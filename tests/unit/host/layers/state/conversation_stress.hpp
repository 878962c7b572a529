// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/host/sequence.hpp"

namespace tenon::test {

/// What the conversations of `stress` run, and what they have to compute.
class StressSubject {
 public:
  virtual ~StressSubject() = default;
  virtual int random_token(std::mt19937& random) const = 0;
  /// The input of a step with `token`; `bytes` keeps its bytes.
  virtual host::InputTensor input(int token, std::vector<std::byte>& bytes) const = 0;
  /// The output after these tokens in a run of their own, or nothing when it is not compared.
  virtual std::vector<std::byte> expected(const std::vector<int>& tokens) = 0;
};

struct StressPlan {
  std::size_t threads = 4, conversations = 64, steps = 10000, most_tokens = 40;
  unsigned seed = 1;
  bool has_journal = true;  ///< Then a restored conversation goes back no further.
};

/// Steps, forks, rewinds, saves, restores and new conversations in random order, from several
/// threads. Returns what went wrong; nothing when all outputs equal those that single runs gave.
inline std::vector<std::string> stress(host::Conversations& all, StressSubject& subject,
                                       const StressPlan& plan) {
  std::mutex mutex;
  std::vector<std::string> problems;
  struct Text {
    std::unique_ptr<host::Conversation> conversation;
    std::vector<int> tokens{};
    std::size_t oldest = 0;  ///< A rewind reaches this position.
  };
  const auto work = [&](unsigned number) {
    std::mt19937 random(plan.seed * 1000 + number);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    const auto report = [&](std::string_view what, const Status& status) {
      const std::lock_guard lock(mutex);
      problems.push_back(concat(what, ": ", status.text()));
    };
    const auto open = [&](auto made, Text& text) {
      if (!made.ok()) return report("open", std::move(made).status());
      text.conversation = *std::move(made);
    };
    std::vector<Text> texts(plan.conversations / plan.threads);
    for (Text& text : texts) open(all.open(), text);
    std::vector<std::byte> bytes;
    std::vector<host::StepOutput> output(1);
    for (std::size_t step = 0; step < plan.steps / plan.threads;) {
      Text& text = texts[below(texts.size())];
      if (!text.conversation) return;
      const std::size_t act = below(100);
      if (act < 75 && text.tokens.size() < plan.most_tokens) {
        ++step;
        const int token = subject.random_token(random);
        const host::InputTensor input = subject.input(token, bytes);
        const Status outcome = text.conversation->execute({&input, 1}, output);
        if (!outcome.ok()) return report("execute", outcome);
        text.tokens.push_back(token);
        const std::vector<std::byte> expected = subject.expected(text.tokens);
        if (expected.empty() || expected == output[0].bytes) continue;
        report("the output differs from the output of a single run", ok());
      } else if (act < 82) {
        Text fork{nullptr, text.tokens, text.oldest};
        open(text.conversation->fork(), fork);
        texts[below(texts.size())] = std::move(fork);
      } else if (act < 92 || text.tokens.size() == plan.most_tokens) {
        const std::size_t most = text.tokens.size() - text.oldest;
        const std::size_t tokens = below(most + 1);
        const Status outcome = text.conversation->rewind(tokens);
        if (!outcome.ok()) return report("rewind", outcome);
        text.tokens.resize(text.tokens.size() - tokens);
        if (most == 0 && text.tokens.size() == plan.most_tokens) text.conversation = nullptr;
      } else if (act < 98) {
        auto saved = text.conversation->save();
        if (!saved.ok()) return report("save", std::move(saved).status());
        open(all.restore(*saved), text);
        if (plan.has_journal) text.oldest = text.tokens.size();
      } else {
        text.conversation = nullptr;
      }
      if (text.conversation) {
        if (text.conversation->position() == text.tokens.size()) continue;
        report("the position differs", ok());
      }
      text = Text{};
      open(all.open(), text);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < plan.threads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  return problems;
}

}  // namespace tenon::test
