// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/layers/state/sequence.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/state/impl/journal.hpp"
#include "tenon/host/layers/state/impl/state_file.hpp"
#include "tenon/host/layers/state/impl/state_memory.hpp"
#include "tenon/host/loader/impl/method/method_state.hpp"
#include "tenon/host/loader/method/inputs.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// The sequences of one method have this in common.
struct MethodSequences {
  MethodState& method;
  const SequenceOptions options;
  StateMemory memory;
  std::vector<LoadedSequence*> active;  ///< Whose state is in the method's memory, by row.
  std::vector<std::int64_t> positions;  ///< The input of the position refers to them.
  std::vector<std::byte> initial{};     ///< The image of `clear`.
  std::optional<Sha256> fingerprint{};  ///< Computed once, since it reads all weights.
  std::vector<std::byte> scratch{};     ///< For a part that is read from far.

  [[nodiscard]] std::size_t rows() const noexcept { return active.size(); }
  [[nodiscard]] bool has_journal() const noexcept { return options.rewind_by == RewindBy::Journal; }
};

class LoadedSequence final : public Sequence {
 public:
  /// A program that computes `rows` texts in a run has a state of each.
  static Result<std::unique_ptr<LoadedSequence>> first(MethodState& method,
                                                       const SequenceOptions& options,
                                                       std::size_t rows) {
    TENON_RETURN_IF_ERROR(check_idle(method));
    TENON_RETURN_IF_ERROR(check_position_input(method, options, rows));
    TENON_TRY(StateMemory memory, StateMemory::of(method, rows));
    auto all = std::make_shared<MethodSequences>(MethodSequences{method, options, std::move(memory),
                                                                 std::vector<LoadedSequence*>(rows),
                                                                 std::vector<std::int64_t>(rows)});
    all->initial.resize(all->memory.nbytes());
    TENON_RETURN_IF_ERROR(all->memory.read(0, all->initial));
    auto out = another(std::move(all));
    out->all_->active[0] = out.get();  // Its state is there already.
    return out;
  }
  /// At position 0.
  static std::unique_ptr<LoadedSequence> another(std::shared_ptr<MethodSequences> all) {
    std::unique_ptr<LoadedSequence> out(new LoadedSequence(std::move(all)));
    out->image_ = out->all_->initial;
    return out;
  }

  ~LoadedSequence() override { leave(); }

  Status run(std::uint64_t tokens) {
    LoadedSequence* const self = this;
    TENON_RETURN_IF_ERROR(check_room(tokens));
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_RETURN_IF_ERROR(place(*all_, {&self, 1}));
    return run_placed(*all_, {&self, 1}, tokens);
  }

  /// errors: OutOfResources (more than the capacity).
  [[nodiscard]] Status check_room(std::uint64_t tokens) const {
    const std::uint64_t capacity = all_->options.capacity;
    if (capacity == 0 || tokens <= capacity - std::min(capacity, position_)) return ok();
    return error(Error::OutOfResources, "a sequence at position ", position_, ": ", tokens,
                 " more tokens, its capacity is ", capacity);
  }

  /// Brings the states of `batch`, at most one for each row, into the method's memory, each into
  /// its `row`. The other rows then have no state.
  static Status place(MethodSequences& all, std::span<LoadedSequence* const> batch) {
    const auto is_in_batch = [&](const LoadedSequence* of) {
      return std::find(batch.begin(), batch.end(), of) != batch.end();
    };
    for (LoadedSequence* const each : all.active) {
      if (!each || is_in_batch(each)) continue;
      TENON_RETURN_IF_ERROR(each->refresh());
      each->leave();
    }
    std::size_t row = 0;
    for (LoadedSequence* const each : batch) {
      if (each->is_active()) continue;
      while (all.active[row]) ++row;
      TENON_RETURN_IF_ERROR(all.memory.write(row, each->image_));
      all.active[row] = each;
      each->row_ = row;
    }
    return ok();
  }
  [[nodiscard]] std::size_t row() const noexcept { return row_; }

  /// Runs the method with the states that `place` brought there. They advance together, or all stay
  /// as they were.
  static Status run_placed(MethodSequences& all, std::span<LoadedSequence* const> batch,
                           std::uint64_t tokens) {
    TENON_RETURN_IF_ERROR(set_positions(all));
    Status outcome = all.method.execute();
    if (!outcome.ok()) {
      for (LoadedSequence* const each : batch) {
        // Its reason comes first. When even this fails, the next run puts the state back.
        if (all.has_journal() && !all.memory.write(each->row_, each->image_).ok()) each->leave();
      }
      return outcome;
    }
    if (all.has_journal()) TENON_RETURN_IF_ERROR(keep_changes(batch, tokens));
    for (LoadedSequence* const each : batch) each->position_ += tokens;
    return ok();
  }

  [[nodiscard]] std::uint64_t get_position() const noexcept { return position_; }
  [[nodiscard]] const std::shared_ptr<MethodSequences>& all() const noexcept { return all_; }
  [[nodiscard]] const Journal& journal() const noexcept { return journal_; }

  Status go_back(std::uint64_t tokens) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    if (tokens > position_) {
      return error(Error::InvalidArgument, "rewind by ", tokens, " tokens: the sequence is at ",
                   position_);
    }
    if (!all_->has_journal()) {
      position_ -= tokens;
      return ok();
    }
    std::size_t steps = 0;
    std::uint64_t back = 0;
    for (; back < tokens && steps < journal_.size(); ++steps) back += journal_.step(steps).tokens;
    if (back > tokens) {
      return error(Error::InvalidArgument, "rewind by ", tokens, " tokens to ", position_ - tokens,
                   ", which is in the midst of the run from ", position_ - back, " to ",
                   position_ - back + journal_.step(steps - 1).tokens);
    }
    if (back < tokens) {
      return error(Error::NotFound, "rewind by ", tokens, " tokens to ", position_ - tokens,
                   ": the journal begins at ", position_ - back);
    }
    for (std::size_t i = 0; i < steps; ++i) {
      const JournalStep& step = journal_.step(i);
      step.undo(image_.data());
      // After a failure the next run writes all of it.
      if (is_active() && !put_back(step).ok()) leave();
    }
    if (is_active() && !all_->memory.written().ok()) leave();
    journal_.drop_latest(steps);
    position_ -= tokens;
    return ok();
  }

  Result<std::unique_ptr<LoadedSequence>> branch() {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_RETURN_IF_ERROR(refresh());
    std::unique_ptr<LoadedSequence> out(new LoadedSequence(all_));
    out->image_ = image_;
    out->journal_ = journal_;
    out->position_ = position_;
    return out;
  }

  Status set_state(std::span<const std::byte> image, std::uint64_t position, Journal journal = {}) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    if (image_.data() != image.data()) image_.assign(image.begin(), image.end());
    journal_ = std::move(journal);
    position_ = position;
    leave();  // The next run writes it.
    return ok();
  }
  Status return_to_initial() { return set_state(all_->initial, 0); }

  Result<std::vector<std::byte>> to_bytes(bool with_journal) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_RETURN_IF_ERROR(refresh());
    return StateFile::write(fingerprint(), position_, image_,
                            with_journal ? journal_.to_bytes() : std::vector<std::byte>());
  }

  Status from_bytes(std::span<const std::byte> saved) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_TRY(const StateFile file, StateFile::read(saved, fingerprint(), image_.size()));
    const std::uint64_t capacity = all_->options.capacity;
    if (capacity != 0 && file.position > capacity) {
      return error(Error::InvalidState, "a saved sequence: it is at position ", file.position,
                   ", the capacity is ", capacity);
    }
    TENON_TRY(Journal journal, Journal::from_bytes(file.journal, image_.size()));
    return set_state(file.image, file.position, std::move(journal));
  }

 private:
  explicit LoadedSequence(std::shared_ptr<MethodSequences> all) : all_(std::move(all)) {}

  static Status check_position_input(const MethodState& method, const SequenceOptions& options,
                                     std::size_t rows) {
    if (!options.position_input) return ok();
    const std::size_t index = *options.position_input;
    if (index >= method.inputs.size()) {
      return error(Error::InvalidArgument, "input ", index, " for the position: the method has ",
                   method.inputs.size());
    }
    const tenon_value& value = value_at(method, *method.plan.inputs(), index);
    const bool is_tensor = value.kind == TENON_VALUE_TENSOR;
    const ScalarType type = is_tensor ? TensorView(*value.as.tensor).scalar_type() : ScalarType();
    if (is_tensor && TensorView(*value.as.tensor).numel() == rows &&
        (type == ScalarType::Long || type == ScalarType::Int)) {
      return ok();
    }
    return error(Error::InvalidArgument, "input ", index,
                 " for the position: expected a tensor of ", rows == 1 ? "one" : "each row's",
                 " Long or Int");
  }

  [[nodiscard]] bool is_active() const noexcept { return all_->active[row_] == this; }
  void leave() noexcept {
    if (is_active()) all_->active[row_] = nullptr;
  }
  [[nodiscard]] const Sha256& fingerprint() {
    if (!all_->fingerprint) all_->fingerprint = fingerprint_of(all_->method, all_->memory);
    return *all_->fingerprint;
  }

  /// Copies the state from the method's memory, if it is only there.
  Status refresh() {
    return is_active() && !all_->has_journal() ? all_->memory.read(row_, image_) : ok();
  }

  /// Copies what `step` changed from the image to the method's memory.
  Status put_back(const JournalStep& step) {
    std::size_t at = 0;
    for (const StateMemory::Part& part : all_->memory.parts()) {
      const std::size_t end = part.offset + part.nbytes;
      const std::size_t first = at;
      for (; at < step.ranges.size() && step.ranges[at].offset < end; ++at) {
        const JournalStep::Range& range = step.ranges[at];
        if (!part.live) continue;
        std::copy_n(image_.data() + range.offset, range.nbytes,
                    part.live_at(row_) + (range.offset - part.offset));
      }
      if (part.live || at == first) continue;
      TENON_RETURN_IF_ERROR(StateMemory::write(part, row_, image_.data() + part.offset));
    }
    return ok();
  }

  /// Copies what the run changed to the image, and what it was before into `step`.
  Status take_changes(JournalStep& step) {
    for (const StateMemory::Part& part : all_->memory.parts()) {
      const std::byte* now = nullptr;
      if (part.live) {
        now = part.live_at(row_);
      } else {
        all_->scratch.resize(part.nbytes);
        TENON_RETURN_IF_ERROR(StateMemory::read_far(part, row_, all_->scratch.data()));
        now = all_->scratch.data();
      }
      step.take(now, image_.data(), part.offset, part.nbytes);
    }
    return ok();
  }

  /// A step of the journal for each of `batch`, or for none.
  static Status keep_changes(std::span<LoadedSequence* const> batch, std::uint64_t tokens) {
    std::vector<std::shared_ptr<JournalStep>> steps;
    const auto undo = [&] {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (i < steps.size()) steps[i]->undo(batch[i]->image_.data());
        batch[i]->leave();
      }
    };
    try {
      steps.reserve(batch.size());
      for (LoadedSequence* const each : batch) {
        steps.push_back(std::make_shared<JournalStep>());
        steps.back()->tokens = tokens;
        if (Status taken = each->take_changes(*steps.back()); !taken.ok()) {
          undo();
          return taken;
        }
      }
      for (LoadedSequence* const each : batch) each->journal_.make_room();
    } catch (const std::bad_alloc&) {
      undo();
      throw;
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      batch[i]->journal_.add(std::move(steps[i]), batch[i]->all_->options.journal_bytes);
    }
    return ok();
  }

  /// The position of each row; 0 of a row without a state.
  static Status set_positions(MethodSequences& all) {
    if (!all.options.position_input) return ok();
    const std::size_t index = *all.options.position_input;
    const TensorView input(*value_at(all.method, *all.method.plan.inputs(), index).as.tensor);
    const std::size_t size = size_of(input.scalar_type());
    auto* const to = reinterpret_cast<std::byte*>(all.positions.data());
    for (std::size_t row = 0; row < all.rows(); ++row) {
      // Little-endian: an Int is the first half of a Long.
      const auto value =
          static_cast<std::int64_t>(all.active[row] ? all.active[row]->position_ : 0);
      std::memcpy(to + row * size, &value, size);
    }
    return all.method.set_input(
        index, InputTensor{input.scalar_type(), input.sizes(), {to, all.rows() * size}});
  }

  const std::shared_ptr<MethodSequences> all_;
  std::vector<std::byte> image_;  ///< The state; with a journal always, else while not active.
  Journal journal_;
  std::uint64_t position_ = 0;
  std::size_t row_ = 0;  ///< Where the state is, when it is in the method's memory.
};

[[nodiscard]] inline LoadedSequence& loaded(Sequence& sequence) noexcept {
  return static_cast<LoadedSequence&>(sequence);
}
[[nodiscard]] inline const LoadedSequence& loaded(const Sequence& sequence) noexcept {
  return static_cast<const LoadedSequence&>(sequence);
}

/// The outcome of `act`, or that there was no memory.
template <class Act>
[[nodiscard]] auto with_memory(const Act& act) -> decltype(act()) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return error(Error::MemoryAllocationFailed, "no memory for the state of a sequence");
  }
}

}}}  // namespace tenon::TENON_RELEASE::host::detail
