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
  std::vector<std::byte> initial{};     ///< The image of `clear`.
  LoadedSequence* active = nullptr;     ///< Whose state is in the method's memory.
  std::optional<Sha256> fingerprint{};  ///< Computed once, since it reads all weights.
  std::vector<std::byte> scratch{};     ///< For a part that is read from far.
  /// The input of the position refers to them.
  alignas(std::int64_t) std::byte position_bytes[sizeof(std::int64_t)] = {};
};

class LoadedSequence final : public Sequence {
 public:
  static Result<std::unique_ptr<LoadedSequence>> first(MethodState& method,
                                                       const SequenceOptions& options) {
    TENON_RETURN_IF_ERROR(check_idle(method));
    TENON_RETURN_IF_ERROR(check_position_input(method, options));
    TENON_TRY(StateMemory memory, StateMemory::of(method));
    auto all =
        std::make_shared<MethodSequences>(MethodSequences{method, options, std::move(memory)});
    all->initial.resize(all->memory.nbytes());
    TENON_RETURN_IF_ERROR(all->memory.read(all->initial));
    std::unique_ptr<LoadedSequence> out(new LoadedSequence(std::move(all)));
    out->image_ = out->all_->initial;
    out->all_->active = out.get();
    return out;
  }

  ~LoadedSequence() override {
    if (all_->active == this) all_->active = nullptr;
  }

  Status run(std::uint64_t tokens) {
    const std::uint64_t capacity = all_->options.capacity;
    if (capacity != 0 && tokens > capacity - std::min(capacity, position_)) {
      return error(Error::OutOfResources, "a sequence at position ", position_, ": ", tokens,
                   " more tokens, its capacity is ", capacity);
    }
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_RETURN_IF_ERROR(activate());
    TENON_RETURN_IF_ERROR(set_position());
    Status outcome = all_->method.execute();
    if (!has_journal()) {
      if (outcome.ok()) position_ += tokens;
      return outcome;
    }
    if (!outcome.ok()) {
      // Its reason comes first. When even this fails, the next run puts the state back.
      if (!all_->memory.write(image_).ok()) all_->active = nullptr;
      return outcome;
    }
    const auto step = std::make_shared<JournalStep>();
    step->tokens = tokens;
    const auto undo = [&] {
      step->undo(image_.data());
      all_->active = nullptr;
    };
    try {
      if (Status taken = take_changes(*step); !taken.ok()) {
        undo();
        return taken;
      }
      journal_.add(step, all_->options.journal_bytes);
    } catch (const std::bad_alloc&) {
      undo();
      throw;
    }
    position_ += tokens;
    return ok();
  }

  [[nodiscard]] std::uint64_t get_position() const noexcept { return position_; }
  [[nodiscard]] const MethodSequences& all() const noexcept { return *all_; }
  [[nodiscard]] const Journal& journal() const noexcept { return journal_; }

  Status go_back(std::uint64_t tokens) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    if (tokens > position_) {
      return error(Error::InvalidArgument, "rewind by ", tokens, " tokens: the sequence is at ",
                   position_);
    }
    if (!has_journal()) {
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
      if (is_active() && !put_back(step).ok()) all_->active = nullptr;
    }
    if (is_active() && !all_->memory.written().ok()) all_->active = nullptr;
    journal_.drop_latest(steps);
    position_ -= tokens;
    return ok();
  }

  Result<std::unique_ptr<Sequence>> branch() {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_RETURN_IF_ERROR(refresh());
    std::unique_ptr<LoadedSequence> out(new LoadedSequence(all_));
    out->image_ = image_;
    out->journal_ = journal_;
    out->position_ = position_;
    return std::unique_ptr<Sequence>(std::move(out));
  }

  Status set_state(std::span<const std::byte> image, std::uint64_t position) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    if (image_.data() != image.data()) image_.assign(image.begin(), image.end());
    journal_.clear();
    position_ = position;
    if (is_active()) all_->active = nullptr;  // The next run writes it.
    return ok();
  }
  Status return_to_initial() { return set_state(all_->initial, 0); }

  Result<std::vector<std::byte>> to_bytes() {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_RETURN_IF_ERROR(refresh());
    return StateFile::write(fingerprint(), position_, image_);
  }

  Status from_bytes(std::span<const std::byte> saved) {
    TENON_RETURN_IF_ERROR(check_idle(all_->method));
    TENON_TRY(const StateFile file, StateFile::read(saved, fingerprint(), image_.size()));
    const std::uint64_t capacity = all_->options.capacity;
    if (capacity != 0 && file.position > capacity) {
      return error(Error::InvalidState, "a saved sequence: it is at position ", file.position,
                   ", the capacity is ", capacity);
    }
    return set_state(file.image, file.position);
  }

 private:
  explicit LoadedSequence(std::shared_ptr<MethodSequences> all) : all_(std::move(all)) {}

  static Status check_position_input(const MethodState& method, const SequenceOptions& options) {
    if (!options.position_input) return ok();
    const std::size_t index = *options.position_input;
    if (index >= method.inputs.size()) {
      return error(Error::InvalidArgument, "input ", index, " for the position: the method has ",
                   method.inputs.size());
    }
    const tenon_value& value = value_at(method, *method.plan.inputs(), index);
    const bool is_tensor = value.kind == TENON_VALUE_TENSOR;
    const ScalarType type = is_tensor ? TensorView(*value.as.tensor).scalar_type() : ScalarType();
    if (is_tensor && TensorView(*value.as.tensor).numel() == 1 &&
        (type == ScalarType::Long || type == ScalarType::Int)) {
      return ok();
    }
    return error(Error::InvalidArgument, "input ", index,
                 " for the position: expected a tensor of one Long or Int");
  }

  [[nodiscard]] bool has_journal() const noexcept {
    return all_->options.rewind_by == RewindBy::Journal;
  }
  [[nodiscard]] bool is_active() const noexcept { return all_->active == this; }
  [[nodiscard]] const Sha256& fingerprint() {
    if (!all_->fingerprint) all_->fingerprint = fingerprint_of(all_->method, all_->memory);
    return *all_->fingerprint;
  }

  /// Copies the state from the method's memory, if it is only there.
  Status refresh() { return is_active() && !has_journal() ? all_->memory.read(image_) : ok(); }

  /// Brings the state into the method's memory.
  Status activate() {
    if (is_active()) return ok();
    if (all_->active) TENON_RETURN_IF_ERROR(all_->active->refresh());
    all_->active = nullptr;
    TENON_RETURN_IF_ERROR(all_->memory.write(image_));
    all_->active = this;
    return ok();
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
                    part.live + (range.offset - part.offset));
      }
      if (part.live || at == first) continue;
      TENON_RETURN_IF_ERROR(StateMemory::write(part, image_.data() + part.offset));
    }
    return ok();
  }

  /// Copies what the run changed to the image, and what it was before into `step`.
  Status take_changes(JournalStep& step) {
    for (const StateMemory::Part& part : all_->memory.parts()) {
      const std::byte* now = part.live;
      if (!now) {
        all_->scratch.resize(part.nbytes);
        TENON_RETURN_IF_ERROR(StateMemory::read_far(part, all_->scratch.data()));
        now = all_->scratch.data();
      }
      step.take(now, image_.data(), part.offset, part.nbytes);
    }
    return ok();
  }

  Status set_position() {
    if (!all_->options.position_input) return ok();
    const std::size_t index = *all_->options.position_input;
    const TensorView input(*value_at(all_->method, *all_->method.plan.inputs(), index).as.tensor);
    std::byte* const to = all_->position_bytes;
    if (input.scalar_type() == ScalarType::Long) {
      const auto value = static_cast<std::int64_t>(position_);
      std::memcpy(to, &value, sizeof value);
    } else {
      const auto value = static_cast<std::int32_t>(position_);
      std::memcpy(to, &value, sizeof value);
    }
    return all_->method.set_input(
        index, InputTensor{input.scalar_type(), input.sizes(), {to, size_of(input.scalar_type())}});
  }

  const std::shared_ptr<MethodSequences> all_;
  std::vector<std::byte> image_;  ///< The state; with a journal always, else while not active.
  Journal journal_;
  std::uint64_t position_ = 0;
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

namespace tenon { inline namespace TENON_RELEASE { namespace host {

Result<std::unique_ptr<Sequence>> Sequence::create(Method& method, SequenceOptions options) {
  return detail::with_memory([&]() -> Result<std::unique_ptr<Sequence>> {
    TENON_TRY(auto made, detail::LoadedSequence::first(detail::state_of(method), options));
    return std::unique_ptr<Sequence>(std::move(made));
  });
}

Status Sequence::execute(std::uint64_t tokens) {
  return detail::with_memory([&] { return detail::loaded(*this).run(tokens); });
}

std::uint64_t Sequence::position() const noexcept { return detail::loaded(*this).get_position(); }

std::uint64_t Sequence::capacity() const noexcept {
  return detail::loaded(*this).all().options.capacity;
}

std::uint64_t Sequence::num_bytes() const noexcept {
  return detail::loaded(*this).all().memory.nbytes();
}

std::uint64_t Sequence::num_journal_bytes() const noexcept {
  return detail::loaded(*this).journal().nbytes();
}

Status Sequence::rewind(std::uint64_t tokens) {
  return detail::with_memory([&] { return detail::loaded(*this).go_back(tokens); });
}

Result<std::unique_ptr<Sequence>> Sequence::fork() {
  return detail::with_memory([&] { return detail::loaded(*this).branch(); });
}

Status Sequence::clear() {
  return detail::with_memory([&] { return detail::loaded(*this).return_to_initial(); });
}

Result<std::vector<std::byte>> Sequence::save() {
  return detail::with_memory([&] { return detail::loaded(*this).to_bytes(); });
}

Status Sequence::restore(std::span<const std::byte> saved) {
  return detail::with_memory([&] { return detail::loaded(*this).from_bytes(saved); });
}

}}}  // namespace tenon::TENON_RELEASE::host
