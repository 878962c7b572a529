// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../array.hpp"
#include "../busy.hpp"
#include "../error.hpp"
#include "../input_array.hpp"
#include "../interpreter.hpp"
#include "../long_work.hpp"
#include "../method.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/scalar_type.hpp"
#include "tenon/host/sequence.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

/// The conversations of a method, which is busy while there are any.
struct Conversing {
  MethodObject method;
  std::optional<Busy> busy;
  std::unique_ptr<host::Conversations> all;

  explicit Conversing(MethodObject of) : method(std::move(of)), busy(method) {
    method.state->has_conversations = true;
  }
  Conversing(const Conversing&) = delete;
  Conversing& operator=(const Conversing&) = delete;
  ~Conversing() {
    all.reset();
    method.state->has_conversations = false;
  }
};

struct ConversationsObject {
  std::shared_ptr<Conversing> of;
};

struct ConversationObject {
  std::shared_ptr<Conversing> of;
  std::unique_ptr<host::Conversation> conversation;
  std::atomic<bool> is_used = false;
  bool may_be_long = true;

  ConversationObject(std::shared_ptr<Conversing> all, std::unique_ptr<host::Conversation> made)
      : of(std::move(all)), conversation(std::move(made)) {}
};

/// One call of a conversation at a time.
class Used {
 public:
  explicit Used(ConversationObject& self) : self_(self) {
    if (!self.is_used.exchange(true, std::memory_order_acquire)) return;
    raise(error(Error::InvalidState,
                "a conversation: another thread calls it; fork it for a second continuation"));
  }
  ~Used() { self_.is_used.store(false, std::memory_order_release); }
  Used(const Used&) = delete;
  Used& operator=(const Used&) = delete;

 private:
  ConversationObject& self_;
};

std::shared_ptr<ConversationsObject> create_conversations(
    const MethodObject& method, const std::string& rewind_by, std::uint64_t journal_bytes,
    std::uint64_t capacity, std::optional<std::size_t> position_input, std::size_t rows,
    std::uint64_t memory_bytes, const std::string& directory) {
  check_open(method);
  host::ConversationsOptions options;
  options.sequence = sequence_options(rewind_by, journal_bytes, capacity);
  options.sequence.position_input = position_input;
  options.rows = rows;
  options.memory_bytes = memory_bytes;
  options.directory = std::filesystem::path(directory);
  auto made = std::make_shared<Conversing>(
      MethodObject{method.name, method.variant, method.state, nullptr});
  made->all = take(host::Conversations::create(*method.state->method, std::move(options)));
  return std::make_shared<ConversationsObject>(ConversationsObject{std::move(made)});
}

std::shared_ptr<ConversationObject> object_of(const std::shared_ptr<Conversing>& of,
                                              Result<std::unique_ptr<host::Conversation>> made) {
  return std::make_shared<ConversationObject>(of, take(std::move(made)));
}

std::unique_ptr<Array> array_of(const host::StepOutput& output) {
  auto array = std::make_unique<Array>();
  array->type = output.scalar_type;
  array->rank = static_cast<std::int32_t>(output.sizes.size());
  auto stride = static_cast<Py_ssize_t>(size_of(output.scalar_type));
  for (std::size_t i = output.sizes.size(); i-- > 0;) {
    array->sizes[i] = static_cast<Py_ssize_t>(output.sizes[i]);
    array->strides[i] = stride;
    stride *= array->sizes[i];
  }
  array->nbytes = output.bytes.size();
  array->own = allocate_raw(std::max<std::size_t>(array->nbytes, 1));
  std::copy(output.bytes.begin(), output.bytes.end(), array->own.get());
  array->data = array->own.get();
  return array;
}

nb::object run_step(ConversationObject& self, const nb::args& objects, std::uint64_t tokens) {
  const Used used(self);
  const MethodState& method = *self.of->method.state;
  const std::unique_ptr<InputArray[]> arrays(new InputArray[objects.size()]);
  std::vector<host::InputTensor> inputs;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    arrays[i].hold(nb::handle(objects[i]).ptr(), concat("a step: input ", i, ": "));
    std::vector<std::uint8_t> dim_order(arrays[i].sizes().size());
    for (std::size_t at = 0; at < dim_order.size(); ++at) {
      dim_order[at] = static_cast<std::uint8_t>(at);
    }
    if (!arrays[i].is_dense(dim_order.data())) {
      raise(error(Error::InvalidArgument, "a step: input ", i,
                  ": expected a contiguous array, pass a contiguous copy"));
    }
    inputs.push_back({arrays[i].type(),
                      arrays[i].sizes(),
                      {arrays[i].data(), arrays[i].nbytes()},
                      arrays[i].device()});
  }
  std::vector<host::StepOutput> outputs(method.method->num_outputs());
  Status outcome;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto work = [&] { outcome = self.conversation->execute(inputs, outputs, tokens); };
  if (self.may_be_long) {  // As for a run of a method: Ctrl-C ends it.
    run_cancellably(work, [&] { static_cast<void>(self.conversation->cancel()); });
  } else {
    const ReleasedGil released;
    work();
  }
  self.may_be_long = Clock::now() - start > std::chrono::milliseconds(50);
  check(outcome);
  if (outputs.size() == 1) return nb::cast(array_of(outputs[0]));
  nb::list list;
  for (const host::StepOutput& output : outputs) list.append(nb::cast(array_of(output)));
  return nb::tuple(list);
}

/// `act` of the conversation, without the GIL.
template <class Act>
auto of_conversation(ConversationObject& self, const Act& act) {
  const Used used(self);
  const ReleasedGil released;
  return act(*self.conversation);
}

nb::bytes save_conversation(ConversationObject& self) {
  const auto saved = take(of_conversation(self, [](host::Conversation& of) { return of.save(); }));
  return nb::bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
}

std::shared_ptr<ConversationObject> restore_conversation(const ConversationsObject& self,
                                                         const nb::bytes& saved) {
  const auto bytes = std::as_bytes(std::span(static_cast<const char*>(saved.data()), saved.size()));
  auto made = [&] {
    const ReleasedGil released;
    return self.of->all->restore(bytes);
  }();
  return object_of(self.of, std::move(made));
}

nb::dict memory_of(const ConversationsObject& self) {
  const host::ConversationsMemory found = self.of->all->memory();
  nb::dict out;
  out["bytes"] = found.bytes;
  out["in_memory"] = found.in_memory;
  out["on_disk"] = found.on_disk;
  return out;
}

}  // namespace

void bind_conversations(nb::module_& module, nb::class_<MethodObject>& method) {
  nb::class_<ConversationObject> one(module, "Conversation",
                                     "One text of `Conversations`, with its position.");
  one.attr("__module__") = "tenon";
  one.def(
         "__call__", &run_step, nb::arg("inputs"), nb::kw_only(), nb::arg("tokens") = 1,
         "Continues the text by `tokens`; returns the output, or a tuple of several. Waits for its "
         "turn without the GIL. A step that fails or is cancelled changes nothing.")
      .def(
          "cancel", [](const ConversationObject& self) { check(self.conversation->cancel()); },
          "From another thread: ends the step that waits or runs; its call raises Cancelled.")
      .def_prop_ro(
          "position", [](const ConversationObject& self) { return self.conversation->position(); },
          "Number of tokens in the text.")
      .def(
          "rewind",
          [](ConversationObject& self, std::uint64_t tokens) {
            check(of_conversation(self, [&](host::Conversation& of) { return of.rewind(tokens); }));
          },
          nb::arg("tokens"),
          "Steps back by `tokens`. NotFound when the journal does not reach back.")
      .def(
          "fork",
          [](ConversationObject& self) {
            return object_of(
                self.of, of_conversation(self, [](host::Conversation& of) { return of.fork(); }));
          },
          "An independent copy of this conversation.")
      .def("save", &save_conversation,
           "The state and the position as bytes, for `Conversations.restore`.");
  nb::class_<ConversationsObject> all(
      module, "Conversations",
      R"(Texts that one method continues, over one load of its weights.

    conversations = method.conversations(capacity=384)
    one = conversations.open()
    logits = await asyncio.to_thread(one, token, place)

Threads may call different conversations at the same time. Runs take place one after the other; with
`rows`, steps that wait at the same time run together. The method runs through them only.)");
  all.attr("__module__") = "tenon";
  all.def(
         "open",
         [](const ConversationsObject& self) {
           auto made = [&] {
             const ReleasedGil released;
             return self.of->all->open();
           }();
           return object_of(self.of, std::move(made));
         },
         "A conversation at position 0.")
      .def("restore", &restore_conversation, nb::arg("saved"),
           "A conversation from bytes of `save`, from the same program and plugins. They are "
           "trusted like the program.")
      .def_prop_ro("memory", &memory_of, "`bytes` and `in_memory`, and how many are `on_disk`.");
  method.def("conversations", &create_conversations, nb::kw_only(),
             nb::arg("rewind_by") = "journal", nb::arg("journal_bytes") = std::uint64_t{256} << 20,
             nb::arg("capacity") = 0, nb::arg("position_input") = nb::none(), nb::arg("rows") = 1,
             nb::arg("memory_bytes") = 0, nb::arg("directory") = "",
             "Many conversations with this method (docs/hosts/sequences.md). With "
             "`position_input`, the host sets that input, and calls leave it out. `rows`: texts "
             "that one run computes. Above `memory_bytes`, states are files in `directory`.");
}

}  // namespace tenon::python
