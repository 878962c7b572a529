// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/state/conversations.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/state/impl/conversation_turns.hpp"
#include "tenon/host/layers/state/impl/kept_conversation.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {
namespace detail {

class LoadedConversation final : public Conversation {
 public:
  LoadedConversation(std::shared_ptr<ConversationTurns> turns,
                     std::unique_ptr<KeptConversation> kept)
      : turns_(std::move(turns)), kept_(std::move(kept)) {}
  ~LoadedConversation() override { turns_->drop(std::move(kept_)); }

  [[nodiscard]] ConversationTurns& turns() const noexcept { return *turns_; }
  [[nodiscard]] KeptConversation& kept() const noexcept { return *kept_; }

  /// `act(KeptConversations&, LoadedSequence&)` in a turn, with the state in memory.
  template <class Act>
  auto in_turn(const Act& act)
      -> decltype(act(std::declval<KeptConversations&>(), std::declval<LoadedSequence&>())) {
    return with_memory([&] {
      return turns_->in_turn(
          kept_.get(),
          [&](KeptConversations& all) -> decltype(act(all, std::declval<LoadedSequence&>())) {
            TENON_RETURN_IF_ERROR(all.bring(*kept_));
            auto outcome = act(all, *kept_->sequence);
            all.changed(*kept_);
            return outcome;
          });
    });
  }

  /// A conversation with the state that `make` gives, in a turn.
  template <class Make>
  [[nodiscard]] static Result<std::unique_ptr<Conversation>> add(
      const std::shared_ptr<ConversationTurns>& turns, KeptConversations& all, std::size_t held,
      const Make& make) {
    TENON_TRY(auto kept, all.add(held, make));
    return std::unique_ptr<Conversation>(
        std::make_unique<LoadedConversation>(turns, std::move(kept)));
  }
  [[nodiscard]] Result<std::unique_ptr<Conversation>> branch() {
    return in_turn([&](KeptConversations& all, LoadedSequence& from) {
      return add(turns_, all, 1, [&] { return from.branch(); });
    });
  }

 private:
  const std::shared_ptr<ConversationTurns> turns_;
  std::unique_ptr<KeptConversation> kept_;
};

[[nodiscard]] inline LoadedConversation& loaded(Conversation& conversation) noexcept {
  return static_cast<LoadedConversation&>(conversation);
}

class LoadedConversations final : public Conversations {
 public:
  explicit LoadedConversations(std::shared_ptr<ConversationTurns> turns)
      : turns_(std::move(turns)) {}

  [[nodiscard]] const ConversationTurns& turns() const noexcept { return *turns_; }

  /// A conversation whose state `fill` changes.
  template <class Fill>
  [[nodiscard]] Result<std::unique_ptr<Conversation>> add(const Fill& fill) {
    return with_memory([&] {
      return turns_->in_turn(nullptr, [&](KeptConversations& all) {
        return LoadedConversation::add(turns_, all, 0,
                                       [&]() -> Result<std::unique_ptr<LoadedSequence>> {
                                         auto made = all.make_new();
                                         TENON_RETURN_IF_ERROR(fill(*made));
                                         return made;
                                       });
      });
    });
  }

  void run(std::span<ConversationStep> steps) {
    std::vector<ConversationTurns::Request> requests;
    requests.reserve(steps.size());
    for (ConversationStep& step : steps) {
      LoadedConversation& of = loaded(step.conversation);
      if (&of.turns() == turns_.get()) {
        requests.push_back({.of = &of.kept(), .step = &step});
      } else {
        step.outcome =
            error(Error::InvalidArgument, "a step: its conversation is another method's");
      }
    }
    turns_->run(requests);
  }

 private:
  const std::shared_ptr<ConversationTurns> turns_;
};

}  // namespace detail

Result<std::unique_ptr<Conversations>> Conversations::create(Method& method,
                                                             ConversationsOptions options) {
  return detail::with_memory([&]() -> Result<std::unique_ptr<Conversations>> {
    TENON_TRY(auto turns, detail::ConversationTurns::create(detail::state_of(method), options));
    return std::unique_ptr<Conversations>(
        std::make_unique<detail::LoadedConversations>(std::move(turns)));
  });
}

Result<std::unique_ptr<Conversation>> Conversations::open() {
  return static_cast<detail::LoadedConversations&>(*this).add(
      [](detail::LoadedSequence&) { return ok(); });
}

Result<std::unique_ptr<Conversation>> Conversations::restore(std::span<const std::byte> saved) {
  return static_cast<detail::LoadedConversations&>(*this).add(
      [&](detail::LoadedSequence& made) { return made.from_bytes(saved); });
}

void Conversations::execute(std::span<ConversationStep> steps) {
  const Status outcome = detail::with_memory([&] {
    static_cast<detail::LoadedConversations&>(*this).run(steps);
    return ok();
  });
  if (outcome.ok()) return;
  for (ConversationStep& step : steps) step.outcome = error(outcome.error(), outcome.text());
}

ConversationsMemory Conversations::memory() const noexcept {
  return static_cast<const detail::LoadedConversations&>(*this).turns().kept().memory();
}

Status Conversation::execute(std::span<const InputTensor> inputs, std::span<StepOutput> outputs,
                             std::uint64_t tokens) {
  return detail::with_memory([&] {
    detail::LoadedConversation& self = detail::loaded(*this);
    ConversationStep step{*this, inputs, outputs, tokens};
    detail::ConversationTurns::Request request{.of = &self.kept(), .step = &step};
    self.turns().run({&request, 1});
    return std::move(step.outcome);
  });
}

Status Conversation::cancel() {
  detail::LoadedConversation& self = detail::loaded(*this);
  return self.turns().cancel(self.kept());
}

std::uint64_t Conversation::position() const noexcept {
  return static_cast<const detail::LoadedConversation&>(*this).kept().position.load(
      std::memory_order_relaxed);
}

Status Conversation::rewind(std::uint64_t tokens) {
  return detail::loaded(*this).in_turn(
      [&](detail::KeptConversations&, detail::LoadedSequence& of) { return of.go_back(tokens); });
}

Result<std::unique_ptr<Conversation>> Conversation::fork() {
  return detail::loaded(*this).branch();
}

Result<std::vector<std::byte>> Conversation::save() {
  return detail::loaded(*this).in_turn(
      [](detail::KeptConversations&, detail::LoadedSequence& of) { return of.to_bytes(false); });
}

}}}  // namespace tenon::TENON_RELEASE::host
