// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/host/layers/observed/impl/run_observer.hpp"
#include "tenon/host/layers/observed/impl/run_observers.hpp"
#include "tenon/host/layers/state/conversations.hpp"
#include "tenon/host/layers/state/impl/kept_conversation.hpp"
#include "tenon/host/layers/state/impl/step_batch.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Who may use the conversations of a method, and the method: one call at a time, in the order in
/// which they came. A turn of a step also runs the steps behind it that fit into the same run.
class ConversationTurns final : public RunObserver {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ConversationTurns>> create(
      MethodState& method, const ConversationsOptions& options) {
    TENON_TRY(auto kept, KeptConversations::create(method, options));
    auto out = std::make_shared<ConversationTurns>(std::move(kept));
    observe(method, *out, {});
    return out;
  }
  explicit ConversationTurns(std::unique_ptr<KeptConversations> kept)
      : kept_(std::move(kept)), method_(kept_->all().method), batch_(kept_->all()) {
    const std::size_t rows = kept_->all().rows();
    chosen_.reserve(rows);
    run_.reserve(rows);
    steps_.reserve(rows);
    sequences_.reserve(rows);
  }
  ConversationTurns(const ConversationTurns&) = delete;
  ConversationTurns& operator=(const ConversationTurns&) = delete;
  ~ConversationTurns() { unobserve(method_, *this); }

  [[nodiscard]] const KeptConversations& kept() const noexcept { return *kept_; }

  /// `act(KeptConversations&)` in a turn; `of`, when it is not null, is the conversation that it
  /// changes.
  template <class Act>
  auto in_turn(KeptConversation* of, const Act& act)
      -> decltype(act(std::declval<KeptConversations&>())) {
    const Turn turn(*this, of);
    return act(*kept_);
  }

  struct Request {
    enum class State : std::uint8_t { waiting, running, done };

    KeptConversation* of = nullptr;
    ConversationStep* step = nullptr;         ///< Null: it wants a turn.
    std::condition_variable* turn = nullptr;  ///< Of the thread that waits.
    State state = State::waiting;
    bool is_cancelled = false;
    bool is_alone = false;  ///< It runs without others, since a run with them failed.
  };

  /// `requests` have steps. All are done on return.
  void run(std::span<Request> requests) {
    std::condition_variable turn;
    std::unique_lock lock(mutex_);
    waiting_.reserve(waiting_.size() + requests.size());
    for (Request& request : requests) {
      request.turn = &turn;
      waiting_.push_back(&request);
    }
    const auto is_mine = [&] {
      const Request* const front = is_busy_ || waiting_.empty() ? nullptr : waiting_.front();
      return front && front->turn == &turn;
    };
    const auto is_done = [&] {
      return std::ranges::all_of(
          requests, [](const Request& each) { return each.state == Request::State::done; });
    };
    for (;;) {
      turn.wait(lock, [&] { return is_mine() || is_done(); });
      if (!is_mine()) return;
      is_busy_ = true;
      choose();
      lock.unlock();
      Status outcome = run_chosen();
      lock.lock();
      settle(std::move(outcome));
      end_turn();
    }
  }

  /// errors: as `Conversation::cancel`.
  [[nodiscard]] Status cancel(const KeptConversation& of) {
    // With the lock, no other run begins meanwhile.
    const std::lock_guard lock(mutex_);
    Request* running = nullptr;
    for (std::size_t i = 0; i < waiting_.size();) {
      Request& each = *waiting_[i];
      if (each.of != &of || !each.step) {
        ++i;
      } else if (each.state == Request::State::running) {
        running = &each;
        ++i;
      } else {
        each.step->outcome = error(Error::Cancelled, "the step was cancelled before it began");
        finish(each);
      }
    }
    if (!is_busy_ && !waiting_.empty()) waiting_.front()->turn->notify_one();
    if (!running) return ok();
    TENON_RETURN_IF_ERROR(method_.cancel());
    running->is_cancelled = true;
    return ok();
  }

  /// From the destructor of a conversation, which does not wait.
  void drop(std::unique_ptr<KeptConversation> of) noexcept {
    const std::lock_guard lock(mutex_);
    if (is_busy_) {
      of->next_abandoned = std::move(abandoned_);
      abandoned_ = std::move(of);
    } else {
      kept_->remove(*of);
    }
  }

 private:
  class Turn {
   public:
    Turn(ConversationTurns& all, KeptConversation* of) : all_(all) {
      std::condition_variable turn;
      Request request{.of = of, .turn = &turn};
      std::unique_lock lock(all_.mutex_);
      all_.waiting_.push_back(&request);
      turn.wait(lock, [&] { return !all_.is_busy_ && all_.waiting_.front() == &request; });
      all_.waiting_.erase(all_.waiting_.begin());
      all_.is_busy_ = true;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
      const std::lock_guard lock(all_.mutex_);
      all_.end_turn();
    }

   private:
    ConversationTurns& all_;
  };

  /// A run that was cancelled before it began is cancelled now. The layer that cancels runs was
  /// added before, and so has seen the beginning.
  [[nodiscard]] bool begin_run(MethodState& method) noexcept override {
    const std::lock_guard lock(mutex_);
    if (std::ranges::any_of(chosen_, &Request::is_cancelled)) {
      static_cast<void>(method.cancel());  // The layer is there: it has cancelled before.
    }
    return true;
  }

  /// The front, and what fits into its run. With the lock.
  void choose() noexcept {
    chosen_.clear();
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      Request& each = **at;
      const bool is_first_of_its_own = std::none_of(
          waiting_.begin(), at, [&](const Request* earlier) { return earlier->of == each.of; });
      if (!each.step || !is_first_of_its_own) continue;
      if (!chosen_.empty() &&
          (each.is_alone || !StepBatch::fit(*chosen_.front()->step, *each.step))) {
        continue;
      }
      each.state = Request::State::running;
      chosen_.push_back(&each);
      if (each.is_alone || chosen_.size() == kept_->all().rows()) return;
    }
  }

  /// The outcome of those in `run_`; the others have theirs.
  [[nodiscard]] Status run_chosen() noexcept {
    run_.clear();
    steps_.clear();
    sequences_.clear();
    for (Request* const each : chosen_) {
      Status brought = with_memory([&] { return kept_->bring(*each->of, run_.size()); });
      if (brought.ok()) brought = each->of->sequence->check_room(each->step->tokens);
      if (!brought.ok()) {
        each->step->outcome = std::move(brought);
        continue;
      }
      run_.push_back(each);
      steps_.push_back(each->step);
      sequences_.push_back(each->of->sequence.get());
    }
    if (run_.empty()) return ok();
    Status outcome = with_memory([&] { return batch_.run(steps_, sequences_); });
    for (Request* const each : run_) kept_->changed(*each->of);
    return outcome;
  }

  /// With the lock.
  void settle(Status outcome) noexcept {
    const bool was_cancelled =
        outcome.error() == Error::Cancelled && std::ranges::any_of(run_, &Request::is_cancelled);
    const bool is_one = run_.size() == 1;
    for (Request* const each : run_) {
      if (outcome.ok()) {
        each->step->outcome = ok();
      } else if (is_one) {
        each->step->outcome = std::move(outcome);
        break;
      } else if (each->is_cancelled) {
        each->step->outcome = error(outcome.error(), outcome.text());
      } else {  // Again, and for another reason alone.
        each->state = Request::State::waiting;
        each->is_alone = !was_cancelled;
      }
    }
    for (Request* const each : chosen_) {
      if (each->state == Request::State::running) finish(*each);
    }
    chosen_.clear();
  }

  /// With the lock.
  void finish(Request& each) noexcept {
    each.state = Request::State::done;
    std::erase(waiting_, &each);
    each.turn->notify_one();
  }
  /// With the lock.
  void end_turn() noexcept {
    while (abandoned_) {
      const std::unique_ptr<KeptConversation> of = std::move(abandoned_);
      abandoned_ = std::move(of->next_abandoned);
      kept_->remove(*of);
    }
    is_busy_ = false;
    if (!waiting_.empty()) waiting_.front()->turn->notify_one();
  }

  const std::unique_ptr<KeptConversations> kept_;
  MethodState& method_;
  StepBatch batch_;
  std::mutex mutex_;
  std::vector<Request*> waiting_;  ///< Also those that run.
  std::vector<Request*> chosen_;   ///< Requests of the present turn.
  bool is_busy_ = false;
  std::unique_ptr<KeptConversation> abandoned_;
  // Of the thread whose turn it is: the requests in `chosen_` that run.
  std::vector<Request*> run_;
  std::vector<ConversationStep*> steps_;
  std::vector<LoadedSequence*> sequences_;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
