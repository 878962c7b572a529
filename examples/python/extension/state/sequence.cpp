// SPDX-License-Identifier: MIT
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../busy.hpp"
#include "../error.hpp"
#include "../interpreter.hpp"
#include "../method.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/sequence.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

/// `tenon.Sequence`.
struct SequenceObject {
  MethodObject of;
  std::unique_ptr<host::Sequence> sequence;

  SequenceObject(MethodObject method, std::unique_ptr<host::Sequence> made)
      : of(std::move(method)), sequence(std::move(made)) {}
  SequenceObject(const SequenceObject&) = delete;
  SequenceObject& operator=(const SequenceObject&) = delete;
  /// While the method runs it may use what all its sequences share: then the method takes it.
  ~SequenceObject() {
    if (of.state->is_busy.load(std::memory_order_acquire)) {
      of.state->abandoned_sequences.push_back(std::move(sequence));
    }
  }
};

std::shared_ptr<SequenceObject> create(const MethodObject& method, const std::string& rewind_by,
                                       std::uint64_t journal_bytes, std::uint64_t capacity) {
  check_open(method);
  const auto options = sequence_options(rewind_by, journal_bytes, capacity);
  const Busy busy(method);
  return std::make_shared<SequenceObject>(
      MethodObject{method.name, method.variant, method.state, nullptr},
      take(host::Sequence::create(*method.state->method, options)));
}

nb::object run(SequenceObject& self, const nb::tuple& inputs, std::uint64_t tokens, bool borrow,
               bool as_list) {
  return run_sequence(self.of, inputs, *self.sequence, tokens, borrow, as_list);
}

/// Calls `act` of the sequence, without the GIL, while nothing else uses the method.
template <class Act>
auto exclusively(const SequenceObject& self, const Act& act) {
  const Busy busy(self.of);
  auto outcome = [&] {
    const ReleasedGil released;
    return act(*self.sequence);
  }();
  return outcome;
}

std::shared_ptr<SequenceObject> fork(const SequenceObject& self) {
  auto made = exclusively(self, [](host::Sequence& of) { return of.fork(); });
  return std::make_shared<SequenceObject>(self.of, take(std::move(made)));
}

nb::bytes save(const SequenceObject& self) {
  const std::vector<std::byte> saved =
      take(exclusively(self, [](host::Sequence& of) { return of.save(); }));
  return nb::bytes(reinterpret_cast<const char*>(saved.data()), saved.size());
}

void restore(const SequenceObject& self, const nb::bytes& saved) {
  const auto bytes = std::as_bytes(std::span(static_cast<const char*>(saved.data()), saved.size()));
  check(exclusively(self, [&](host::Sequence& of) { return of.restore(bytes); }));
}

}  // namespace

host::SequenceOptions sequence_options(const std::string& rewind_by, std::uint64_t journal_bytes,
                                       std::uint64_t capacity) {
  host::SequenceOptions options;
  options.journal_bytes = journal_bytes;
  options.capacity = capacity;
  if (rewind_by == "position") {
    options.rewind_by = host::RewindBy::Position;
  } else if (rewind_by != "journal") {
    throw nb::value_error(
        concat("rewind_by: expected \"journal\" or \"position\", found \"", rewind_by, "\"")
            .c_str());
  }
  return options;
}

void bind_sequence(nb::module_& module, nb::class_<MethodObject>& method) {
  nb::class_<SequenceObject> type(module, "Sequence",
                                  R"(A state of a method, and its position.

    prompt = method.sequence()
    logits = prompt(token)           # one run; advances by one token
    other = prompt.fork()            # the same past, another future
    prompt.rewind(1)                 # as if the last run had not been

The state is the memory that the program and the delegates keep between runs. A method that has
sequences runs through them only.)");
  type.attr("__module__") = "tenon";
  type.def(
          "__call__",
          [](SequenceObject& self, const nb::args& inputs, std::uint64_t tokens, bool borrow) {
            return run(self, inputs, tokens, borrow, false);
          },
          nb::arg("inputs"), nb::kw_only(), nb::arg("tokens") = 1, nb::arg("borrow") = false,
          "Runs the method with this state, and advances by `tokens`. Returns what a call of the "
          "method returns. A run that fails changes nothing, with a journal also not the state.")
      .def(
          "execute",
          [](SequenceObject& self, const nb::sequence& inputs, std::uint64_t tokens, bool borrow) {
            return run(self, nb::tuple(inputs), tokens, borrow, true);
          },
          nb::arg("inputs"), nb::kw_only(), nb::arg("tokens") = 1, nb::arg("borrow") = false,
          "Runs the method with this state; returns a list of the outputs.")
      .def_prop_ro(
          "position", [](const SequenceObject& self) { return self.sequence->position(); },
          "Number of tokens in the state.")
      .def_prop_ro(
          "capacity", [](const SequenceObject& self) { return self.sequence->capacity(); },
          "The most tokens; 0 when unknown.")
      .def_prop_ro(
          "nbytes", [](const SequenceObject& self) { return self.sequence->num_bytes(); },
          "Bytes of the state.")
      .def_prop_ro(
          "journal_nbytes",
          [](const SequenceObject& self) { return self.sequence->num_journal_bytes(); },
          "Bytes of the journal.")
      .def(
          "rewind",
          [](const SequenceObject& self, std::uint64_t tokens) {
            check(exclusively(self, [&](host::Sequence& of) { return of.rewind(tokens); }));
          },
          nb::arg("tokens"),
          "Steps back by `tokens`. NotFound when the journal does not reach back.")
      .def("fork", &fork, "An independent copy of this sequence.")
      .def(
          "clear",
          [](const SequenceObject& self) {
            check(exclusively(self, [](host::Sequence& of) { return of.clear(); }));
          },
          "Returns to position 0 and the first state.")
      .def("save", &save,
           "The state and the position as bytes, for `restore` here or in another process.")
      .def("restore", &restore, nb::arg("saved"),
           "Restores bytes of `save`, from the same program and plugins. They are trusted like the "
           "program.")
      .def("__repr__", [](const SequenceObject& self) {
        return concat("<tenon.Sequence of ", self.of.name, " at ", self.sequence->position(), ">");
      });
  method.def("sequence", &create, nb::kw_only(), nb::arg("rewind_by") = "journal",
             nb::arg("journal_bytes") = std::uint64_t{256} << 20, nb::arg("capacity") = 0,
             "The first sequence of the method, at position 0. `rewind_by` is \"journal\", which "
             "stores changed bytes up to `journal_bytes`, or \"position\" "
             "(docs/hosts/sequences.md). A positive `capacity` limits the tokens.");
}

}  // namespace tenon::python
