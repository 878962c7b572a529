// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tenon/core/bytes.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/result.hpp"
#include "tenon/host/layers/state/conversations.hpp"
#include "tenon/host/layers/state/impl/loaded_sequence.hpp"
#include "tenon/host/platform/new_file.hpp"
#include "tenon/host/platform/path_text.hpp"
#include "tenon/host/platform/read_file.hpp"
#include "tenon/host/platform/trusted_path.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// A conversation, whose state is in memory or in a file.
struct KeptConversation {
  std::unique_ptr<LoadedSequence> sequence{};  ///< Null: it is in the file.
  std::filesystem::path file{};
  std::uint64_t nbytes = 0;                       ///< In memory.
  std::list<KeptConversation*>::iterator used{};  ///< In the order of use, while in memory.
  std::atomic<std::uint64_t> position = 0;
  std::unique_ptr<KeptConversation> next_abandoned{};
};

/// The states of all conversations of a method, up to a limit in memory. One thread at a time, but
/// for `memory`.
class KeptConversations {
 public:
  /// errors: as `Conversations::create`.
  [[nodiscard]] static Result<std::unique_ptr<KeptConversations>> create(
      MethodState& method, const ConversationsOptions& options) {
    if (options.rows == 0) {
      return error(Error::InvalidArgument, "conversations: expected 1 row or more, found 0");
    }
    std::unique_ptr<KeptConversations> out(new KeptConversations(options));
    TENON_TRY(const auto first, LoadedSequence::first(method, options.sequence, options.rows));
    out->all_ = first->all();
    if (options.memory_bytes == 0) return out;
    if (const std::uint64_t least = (options.rows + 1) * out->all_->memory.nbytes();
        options.memory_bytes < least) {
      return error(Error::InvalidArgument, "conversations: expected a limit of ", least,
                   " bytes or more, for ", options.rows + 1, " states, found ",
                   options.memory_bytes);
    }
    if (options.directory.empty()) {
      return error(Error::InvalidArgument,
                   "conversations: a limit of memory needs a directory for what exceeds it");
    }
    std::error_code failed;
    out->directory_ = std::filesystem::absolute(options.directory, failed);
    TENON_RETURN_IF_ERROR(Directory::open(out->directory_).status());
    std::random_device random;
    out->prefix_ = concat("tenon-", random(), "-", random(), "-");
    return out;
  }

  [[nodiscard]] MethodSequences& all() const noexcept { return *all_; }
  [[nodiscard]] ConversationsMemory memory() const noexcept {
    return {nbytes_.load(std::memory_order_relaxed), in_memory_.load(std::memory_order_relaxed),
            on_disk_.load(std::memory_order_relaxed)};
  }

  /// A new one with a state that `make` gives, while the `held` that were used last stay in memory.
  template <class Make>
  [[nodiscard]] Result<std::unique_ptr<KeptConversation>> add(std::size_t held, const Make& make) {
    TENON_RETURN_IF_ERROR(make_room(held, all_->memory.nbytes()));
    auto out = std::make_unique<KeptConversation>();
    TENON_TRY(auto sequence, make());
    put(*out, std::move(sequence));
    return out;
  }
  [[nodiscard]] std::unique_ptr<LoadedSequence> make_new() const {
    return LoadedSequence::another(all_);
  }

  /// Its state is in memory then, and was used last; the `held` that were used last before stay
  /// there.
  [[nodiscard]] Status bring(KeptConversation& of, std::size_t held = 0) {
    if (of.sequence) {
      in_use_.splice(in_use_.end(), in_use_, of.used);
      return make_room(held + 1, 0);
    }
    TENON_RETURN_IF_ERROR(make_room(held, all_->memory.nbytes()));
    TENON_TRY(const std::string saved, read_file(of.file));
    auto sequence = LoadedSequence::another(all_);
    TENON_RETURN_IF_ERROR(
        sequence->from_bytes(std::as_bytes(std::span(saved))).with_context(path_text(of.file)));
    put(of, std::move(sequence));
    remove_file(of);
    return ok();
  }

  /// After a change of its state.
  void changed(KeptConversation& of) noexcept {
    of.position.store(of.sequence->get_position(), std::memory_order_relaxed);
    const std::uint64_t now = all_->memory.nbytes() + of.sequence->journal().nbytes();
    nbytes_.fetch_add(now - of.nbytes, std::memory_order_relaxed);
    of.nbytes = now;
  }

  void remove(KeptConversation& of) noexcept {
    if (of.sequence) {
      leave_memory(of);
    } else {
      remove_file(of);
    }
  }

 private:
  explicit KeptConversations(const ConversationsOptions& options)
      : most_bytes_(options.memory_bytes) {}

  void put(KeptConversation& of, std::unique_ptr<LoadedSequence> sequence) {
    of.used = in_use_.insert(in_use_.end(), &of);
    of.sequence = std::move(sequence);
    in_memory_.fetch_add(1, std::memory_order_relaxed);
    changed(of);
  }
  void leave_memory(KeptConversation& of) noexcept {
    in_use_.erase(of.used);
    of.sequence.reset();
    in_memory_.fetch_sub(1, std::memory_order_relaxed);
    nbytes_.fetch_sub(of.nbytes, std::memory_order_relaxed);
    of.nbytes = 0;
  }
  void remove_file(KeptConversation& of) noexcept {
    std::error_code ignored;
    std::filesystem::remove(of.file, ignored);
    of.file.clear();
    on_disk_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// Stores others than the `held` that were used last until `more` bytes fit.
  Status make_room(std::size_t held, std::uint64_t more) {
    if (most_bytes_ == 0) return ok();
    while (nbytes_.load(std::memory_order_relaxed) + more > most_bytes_ && in_use_.size() > held) {
      KeptConversation& of = *in_use_.front();
      TENON_TRY(const std::vector<std::byte> saved, of.sequence->to_bytes(true));
      std::filesystem::path path = directory_ / concat(prefix_, ++files_, ".conversation");
      TENON_TRY(NewFile file, NewFile::replace(path));
      TENON_RETURN_IF_ERROR(file.write(saved));
      TENON_RETURN_IF_ERROR(file.commit());
      of.file = std::move(path);
      leave_memory(of);
      on_disk_.fetch_add(1, std::memory_order_relaxed);
    }
    return ok();
  }

  const std::uint64_t most_bytes_;
  std::shared_ptr<MethodSequences> all_;
  std::filesystem::path directory_;
  std::string prefix_;  ///< Of the names of files.
  std::uint64_t files_ = 0;
  std::list<KeptConversation*> in_use_;  ///< All in memory, the least recently used first.
  std::atomic<std::uint64_t> nbytes_ = 0;
  std::atomic<std::size_t> in_memory_ = 0, on_disk_ = 0;
};

}}}  // namespace tenon::TENON_RELEASE::host::detail
