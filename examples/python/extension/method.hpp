// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "array.hpp"
#include "input_array.hpp"
#include "registry.hpp"
#include "tenon/host/async.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/layers/sessions/session.hpp"
#include "tenon/host/layers/trace/trace.hpp"
#include "tenon/host/loader/method/method.hpp"
#include "tenon/host/loader/method/options.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/prepared.hpp"
#include "tenon/host/sequence.hpp"

namespace tenon::python {

/// A loaded method and what it refers to. Shared by the object of Python, arrays that borrow from
/// it, and sessions.
struct MethodState {
  /// Facts of an input, known when the method is loaded.
  struct Input {
    std::uint32_t kind = 0;                   ///< TENON_VALUE_...
    const std::uint8_t* dim_order = nullptr;  ///< Of a tensor.
    std::size_t rank = 0;
    bool is_written = false;  ///< The program writes to it.
    std::string where;        ///< "method forward: input 0: "
  };

  std::shared_ptr<host::BackendRegistry> registry;
  std::shared_ptr<host::Trace> trace;
  std::shared_ptr<const host::WorkerPool> threads;      ///< Null: backends have their own.
  std::shared_ptr<const host::PreparedCache> prepared;  ///< Null: nothing is kept.
  std::vector<Input> inputs;
  std::unique_ptr<InputArray[]> arrays;  ///< One for each input; hold memory during a call.
  std::vector<std::unique_ptr<std::byte[]>> output_memory;
  std::vector<RawMemory> copies;  ///< One for each output; of tensors, from run to result.
  std::atomic<bool> is_busy = false;
  /// Whether the next run may take so long that Ctrl-C has to end it: the latest one did, or there
  /// was none.
  bool may_be_long = true;
  bool has_conversations = false;        ///< Why it is busy. Under the GIL.
  std::unique_ptr<host::Method> method;  // After all that it refers to.
  /// Sessions that Python forgot while the method ran; destroyed when it does not. Under the GIL.
  std::vector<std::unique_ptr<host::Session>> abandoned;
  std::vector<std::unique_ptr<host::Sequence>> abandoned_sequences;  ///< As `abandoned`.
};

/// A state of its own for each delegate of a method.
struct SessionState {
  std::shared_ptr<MethodState> method;
  std::unique_ptr<host::Session> session;

  SessionState(std::shared_ptr<MethodState> of, std::unique_ptr<host::Session> made)
      : method(std::move(of)), session(std::move(made)) {}
  /// While the method runs its delegates must not be destroyed: then the method takes the session.
  ~SessionState();
};

/// `tenon.Method`. Null state: closed.
struct MethodObject {
  std::string name;
  std::optional<std::string> variant;
  std::shared_ptr<MethodState> state;
  std::shared_ptr<SessionState> session;  ///< In use; null: the method's own state.
};

/// Runs the method with the state of `sequence`, which then advances by `tokens`; returns a list of
/// its outputs when `as_list`, otherwise what a call of the method returns.
nanobind::object run_sequence(MethodObject& method, const nanobind::tuple& inputs,
                              host::Sequence& sequence, std::uint64_t tokens, bool borrow,
                              bool as_list);

/// Throws ValueError when `rewind_by` is neither "journal" nor "position".
[[nodiscard]] host::SequenceOptions sequence_options(const std::string& rewind_by,
                                                     std::uint64_t journal_bytes,
                                                     std::uint64_t capacity);

/// `tenon.Conversations`, and the function of `tenon.Method` that makes them.
void bind_conversations(nanobind::module_& module, nanobind::class_<MethodObject>& method);

/// `tenon.Sequence`, and the function of `tenon.Method` that makes one.
void bind_sequence(nanobind::module_& module, nanobind::class_<MethodObject>& method);

/// The arguments of `Program.load_method`, read.
struct LoadArguments {
  std::shared_ptr<const host::Program> program;
  std::string name;
  host::MethodOptions options;
  std::shared_ptr<host::BackendRegistry> registry;
  std::shared_ptr<host::Trace> trace;
  std::shared_ptr<const host::WorkerPool> threads;
  std::uint64_t output_bytes;  ///< At most, of outputs that the program has no memory for.
  std::shared_ptr<const host::PreparedCache> prepared;
};

/// Loads a method on another thread; `progress` is called with the number of delegates that are
/// loaded and the number of all. Fails as `host::Method::load`.
[[nodiscard]] std::unique_ptr<MethodObject> load_method(LoadArguments arguments,
                                                        nanobind::object progress);

void bind_method(nanobind::module_& module);

/// `tenon.Intermediate`, and the functions of `tenon.Method` that are about them.
void bind_intermediates(nanobind::module_& module, nanobind::class_<MethodObject>& method);

}  // namespace tenon::python
