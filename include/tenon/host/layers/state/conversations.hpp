// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/core/status.hpp"
#include "tenon/host/layers/state/sequence.hpp"
#include "tenon/host/loader/method/inputs.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Conversation;
class Method;

namespace detail {
class LoadedConversation;
class LoadedConversations;
}  // namespace detail

struct ConversationsOptions {
  SequenceOptions sequence{};  ///< Of each conversation.
  /// How many texts one run of the program computes: then dimension 0 of its inputs, its outputs
  /// and its state has this size, or a multiple. Steps that wait at the same time run together.
  std::size_t rows = 1;
  /// The most bytes of states and journals in memory; 0 for no limit. Above it the conversations
  /// that were used least recently are stored as files in `directory`, and read at their next use.
  /// A run may exceed the limit by the bytes that it changes.
  std::uint64_t memory_bytes = 0;
  /// For these files: an existing directory that no other user can write to. A file is removed with
  /// its conversation; a process that is killed leaves its files behind.
  std::filesystem::path directory{};
};

/// An output of a step. Later steps reuse its memory.
struct StepOutput {
  ScalarType scalar_type{};
  std::vector<std::int64_t> sizes{};  ///< With rows, of one conversation.
  std::vector<std::byte> bytes{};
};

/// A step of `Conversations::execute`. `inputs` and `outputs` must not change until it returns.
struct ConversationStep {
  Conversation& conversation;
  /// Of each input but the position's, in their order; with rows, of one conversation.
  std::span<const InputTensor> inputs{};
  std::span<StepOutput> outputs{};  ///< Receive the first outputs.
  std::uint64_t tokens = 1;         ///< As in `Sequence::execute`.
  Status outcome{};                 ///< What became of it.
};

/// Where the states of all conversations are.
struct ConversationsMemory {
  std::uint64_t bytes = 0;  ///< Of states and journals in memory.
  std::size_t in_memory = 0;
  std::size_t on_disk = 0;
};

/// Many texts that one method continues: its weights are loaded once, each conversation is a
/// `Sequence`. One run takes place at a time, in the order of the calls.
///
/// While there are conversations, the method is run by them alone, without sessions, and not
/// asynchronously. It must outlive them. threads: any; the calls of one conversation, except
/// `cancel` and `position`, one after the other.
class Conversations {
 public:
  /// errors: as `Sequence::create`; InvalidArgument (no rows; a limit without a directory, or of
  ///         less than `rows` states and one more), NotSupported (a state that cannot be shared out
  ///         to the rows), AccessFailed or NotFound (the directory).
  [[nodiscard]] static Result<std::unique_ptr<Conversations>> create(
      Method& method, ConversationsOptions options = {});

  Conversations(const Conversations&) = delete;
  Conversations& operator=(const Conversations&) = delete;
  virtual ~Conversations() = default;

  /// A conversation at position 0, with the state that the method had in `create`.
  [[nodiscard]] Result<std::unique_ptr<Conversation>> open();
  /// A conversation from bytes of `Conversation::save` or `Sequence::save`.
  ///
  /// errors: as `Sequence::restore`.
  [[nodiscard]] Result<std::unique_ptr<Conversation>> restore(std::span<const std::byte> saved);

  /// Runs `steps`, and returns when each has an outcome: as `Conversation::execute`. Up to `rows`
  /// steps of different conversations, also of other threads, run together when their numbers of
  /// tokens, and their inputs' types and sizes, are equal. A step that fails fails alone.
  void execute(std::span<ConversationStep> steps);

  [[nodiscard]] ConversationsMemory memory() const noexcept;

 private:
  friend class detail::LoadedConversations;  // The only class that derives from this one.
  Conversations() noexcept = default;
};

/// One text. It may outlive its `Conversations`.
class Conversation {
 public:
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  virtual ~Conversation() = default;

  /// Continues the text by `tokens`: `Sequence::execute`, with the inputs and outputs of a
  /// `ConversationStep`.
  ///
  /// errors: as `Sequence::execute`; InvalidArgument (the number of inputs or outputs), Cancelled,
  ///         and what reading or writing a stored state fails with. Nothing changes then.
  [[nodiscard]] Status execute(std::span<const InputTensor> inputs, std::span<StepOutput> outputs,
                               std::uint64_t tokens = 1);

  /// Ends the steps of this conversation that wait or run with Cancelled, unless they are at their
  /// end. Returns without waiting for that. threads: any, also during other calls.
  ///
  /// errors: InvalidState (a step runs, and the method was loaded without the layer
  ///         `Cancellation`).
  [[nodiscard]] Status cancel();

  /// How many tokens the text has. threads: any.
  [[nodiscard]] std::uint64_t position() const noexcept;

  /// As the functions of `Sequence`, also for a conversation whose state is stored as a file.
  [[nodiscard]] Status rewind(std::uint64_t tokens);
  [[nodiscard]] Result<std::unique_ptr<Conversation>> fork();
  [[nodiscard]] Result<std::vector<std::byte>> save();

 private:
  friend class detail::LoadedConversation;  // The only class that derives from this one.
  Conversation() noexcept = default;
};

}}}  // namespace tenon::TENON_RELEASE::host
