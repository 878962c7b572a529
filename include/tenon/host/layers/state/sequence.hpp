// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenon/core/result.hpp"
#include "tenon/core/status.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace host {

class Method;

namespace detail {
class LoadedSequence;
}

/// How `Sequence::rewind` works.
enum class RewindBy : std::uint8_t {
  /// The host keeps the bytes that each run changed, and puts them back: exact for any program.
  /// Costs one comparison of the whole state in each run, and the memory of what changed.
  Journal,
  /// The position alone is set back. For programs whose caches are indexed by the position, which
  /// write each place before they read it, or mask what is behind the position
  /// (docs/hosts/sequences.md). Costs nothing.
  Position,
};

struct SequenceOptions {
  RewindBy rewind_by = RewindBy::Journal;
  /// The most bytes that a journal keeps; the oldest runs are forgotten first. At most one run
  /// more.
  std::uint64_t journal_bytes = std::uint64_t{256} << 20;
  /// The most tokens that fit into the state; 0 when it is not known.
  std::uint64_t capacity = 0;
  /// The input, a tensor of one integer, that each run gets the position in.
  std::optional<std::size_t> position_input{};
};

/// One state of a method, and how far it has come: a text that a language model continues, with its
/// keys and values. It holds the memory that the program keeps from one run to the next (mutable
/// buffers of an exported program) and the state of delegates whose backends have
/// "tenon.sequence/1".
///
/// Of the sequences of a method, one is in the method's memory; the run of another one first copies
/// its state there. While there are sequences, the method is run by them alone, without sessions,
/// and not asynchronously. One thread at a time, as the method; destroyed before it.
class Sequence {
 public:
  /// The first sequence of `method`, at position 0 and with the state that the method has now;
  /// later ones are forks of it. Best before the first run: `clear` returns to this state.
  ///
  /// errors: InvalidState (a run is pending), InvalidArgument (no such input, or another one than a
  ///         tensor of one Int or Long), NotSupported (a delegate keeps a state for each session,
  ///         but its backend cannot give it), MemoryAllocationFailed, and what a backend fails
  ///         with.
  [[nodiscard]] static Result<std::unique_ptr<Sequence>> create(Method& method,
                                                                SequenceOptions options = {});

  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;
  virtual ~Sequence() = default;

  /// Runs the method once with this state, and advances by `tokens`, the number of tokens that the
  /// inputs are. Inputs are set and outputs read by the method, as for any run.
  ///
  /// A run that fails or is cancelled leaves the position, and with a journal also the state, as it
  /// was.
  ///
  /// errors: as `Method::execute`; OutOfResources beyond the capacity.
  [[nodiscard]] Status execute(std::uint64_t tokens = 1);

  /// How many tokens the state is of.
  [[nodiscard]] std::uint64_t position() const noexcept;
  [[nodiscard]] std::uint64_t capacity() const noexcept;  ///< 0 when it is not known.
  /// Bytes of the state, and those that the journal keeps.
  [[nodiscard]] std::uint64_t num_bytes() const noexcept;
  [[nodiscard]] std::uint64_t num_journal_bytes() const noexcept;

  /// Returns to `tokens` before: later runs compute what they would have computed then.
  ///
  /// errors: InvalidArgument (more than the position; with a journal, in the midst of one run, with
  ///         the places around it), NotFound (the journal does not reach back so far). Nothing
  ///         changes then.
  [[nodiscard]] Status rewind(std::uint64_t tokens);

  /// Another sequence with the same state and position, and the same way back. Neither changes the
  /// other.
  [[nodiscard]] Result<std::unique_ptr<Sequence>> fork();

  /// Returns to position 0 and the state that the method had when its first sequence was made.
  [[nodiscard]] Status clear();

  /// The state and the position as bytes, for `restore` in this process or another one. They do not
  /// have the way back.
  [[nodiscard]] Result<std::vector<std::byte>> save();

  /// Takes the state and the position from bytes of `save`.
  ///
  /// They must be of a program and of plugins with the same bytes, and undamaged; they are trusted
  /// like the program, since a delegate may use what is in its state without a check.
  ///
  /// errors: InvalidExternalData (damaged, or not of `save`), InvalidState (of another program or
  ///         plugin, with the reason). Nothing changes then.
  [[nodiscard]] Status restore(std::span<const std::byte> saved);

 private:
  friend class detail::LoadedSequence;  // The only class that derives from this one.
  Sequence() noexcept = default;
};

}}}  // namespace tenon::TENON_RELEASE::host
