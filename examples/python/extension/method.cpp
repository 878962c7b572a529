// SPDX-License-Identifier: MIT
#include "method.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "array.hpp"
#include "busy.hpp"
#include "error.hpp"
#include "interpreter.hpp"
#include "long_work.hpp"
#include "outputs.hpp"
#include "tenon/core/args.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/core/tensor.hpp"
#include "tenon/host/layers/budget/memory.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

std::string tuple_text(std::span<const std::int64_t> numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += concat(text.empty() ? "(" : ", ", number);
  return text.empty() ? "()" : text + ")";
}

[[noreturn]] void raise_not_dense(const MethodState::Input& input, const InputArray& array) {
  std::string order;
  for (std::size_t i = 0; i < input.rank; ++i) {
    order += concat(i == 0 ? "(" : ", ", static_cast<unsigned>(input.dim_order[i]));
  }
  std::array<std::int64_t, max_rank> expected{};
  std::int64_t stride = 1;
  for (std::size_t i = input.rank; i-- > 0;) {
    expected[input.dim_order[i]] = stride;
    stride *= array.sizes()[input.dim_order[i]];
  }
  raise(error(Error::InvalidArgument, input.where, "expected dense elements in dim order ", order,
              "), strides ", tuple_text(std::span(expected).first(input.rank)), ", found strides ",
              tuple_text(array.strides()), "; pass a contiguous copy"));
}

void set_tensor(MethodState& state, std::size_t index, PyObject* object) {
  const MethodState::Input& input = state.inputs[index];
  InputArray& array = state.arrays[index];
  array.hold(object, input.where);
  if (array.sizes().size() == input.rank && !array.is_dense(input.dim_order)) [[unlikely]]
    raise_not_dense(input, array);
  if (input.is_written && array.is_read_only()) [[unlikely]] {
    raise(error(Error::InvalidArgument, input.where,
                "the program writes to it: expected a writable array, found a read-only one"));
  }
  const std::size_t size = array.nbytes();
  check(state.method->set_input(
      index, host::InputTensor{array.type(), array.sizes(), {array.data(), size}, array.device()}));
}

[[noreturn]] void raise_wrong_type(const MethodState::Input& input, std::string_view expected,
                                   PyObject* object) {
  throw nb::type_error(
      concat(input.where, "expected ", expected, ", found ", name_of_type(object)).c_str());
}

void set_input(MethodState& state, std::size_t index, PyObject* object) {
  const MethodState::Input& input = state.inputs[index];
  switch (input.kind) {
    [[likely]] case TENON_VALUE_TENSOR:
      return set_tensor(state, index, object);
    case TENON_VALUE_NONE:
      if (object != Py_None) raise_wrong_type(input, "None", object);
      return;
    case TENON_VALUE_BOOL:
      if (!PyBool_Check(object)) raise_wrong_type(input, "bool", object);
      return check(state.method->set_input(index, host::InputScalar(object == Py_True)));
    case TENON_VALUE_INT: {
      if (!PyLong_Check(object) || PyBool_Check(object)) raise_wrong_type(input, "int", object);
      const std::int64_t value = nb::cast<std::int64_t>(nb::handle(object));
      return check(state.method->set_input(index, host::InputScalar(value)));
    }
    case TENON_VALUE_DOUBLE: {
      const bool is_number =
          PyFloat_Check(object) || (PyLong_Check(object) && !PyBool_Check(object));
      if (!is_number) raise_wrong_type(input, "float", object);
      const double value = PyFloat_AsDouble(object);
      if (value == -1.0 && PyErr_Occurred()) throw nb::python_error();
      return check(state.method->set_input(index, host::InputScalar(value)));
    }
    case TENON_VALUE_STRING: {
      if (!PyUnicode_Check(object)) raise_wrong_type(input, "str", object);
      const std::string value = nb::cast<std::string>(nb::handle(object));
      return check(state.method->set_input(index, host::InputScalar(std::string_view(value))));
    }
    default:
      raise(error(Error::NotSupported, input.where, "is of kind ", value_kind_name(input.kind),
                  "; expected a tensor or a number"));
  }
}

/// The objects of a tuple as an array, borrowed from it. The stable ABI does not give the tuple's
/// own: the pointers are copied, on the stack where they are few.
class TupleItems {
 public:
  explicit TupleItems(nb::handle tuple) {
#ifdef Py_LIMITED_API
    size_ = static_cast<std::size_t>(PyTuple_Size(tuple.ptr()));
    PyObject** items = few_.data();
    if (size_ > few_.size()) {
      many_ = std::make_unique<PyObject*[]>(size_);
      items = many_.get();
    }
    for (std::size_t i = 0; i < size_; ++i) {
      items[i] = PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(i));
    }
    data_ = items;
#else
    size_ = static_cast<std::size_t>(PyTuple_GET_SIZE(tuple.ptr()));
    data_ = &PyTuple_GET_ITEM(tuple.ptr(), 0);
#endif
  }
  TupleItems(const TupleItems&) = delete;
  TupleItems& operator=(const TupleItems&) = delete;

  [[nodiscard]] PyObject* const* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
#ifdef Py_LIMITED_API
  std::array<PyObject*, 16> few_;
  std::unique_ptr<PyObject*[]> many_;
#endif
  PyObject* const* data_;
  std::size_t size_;
};

/// Holds the memory of all inputs for the duration of one call.
class HeldInputs {
 public:
  HeldInputs(const MethodObject& method, PyObject* const* objects, std::size_t count)
      : state_(*method.state) {
    if (count != state_.inputs.size()) {
      throw nb::type_error(concat("method ", method.name, ": expected ", state_.inputs.size(),
                                  " inputs, found ", count)
                               .c_str());
    }
    try {
      for (; set_ < count; ++set_) set_input(state_, set_, objects[set_]);
    } catch (...) {
      release();
      throw;
    }
  }
  ~HeldInputs() { release(); }
  HeldInputs(const HeldInputs&) = delete;
  HeldInputs& operator=(const HeldInputs&) = delete;

  [[nodiscard]] std::span<const InputArray> arrays() const noexcept {
    return {state_.arrays.get(), state_.inputs.size()};
  }

 private:
  void release() noexcept {
    // The one that failed may hold memory as well.
    for (std::size_t i = 0; i < state_.inputs.size() && i <= set_; ++i) state_.arrays[i].release();
  }

  MethodState& state_;
  std::size_t set_ = 0;
};

/// Runs the method and copies its outputs, without the GIL. A run that may take long is made on
/// another thread, while this one handles signals: a handler that raises, as for Ctrl-C, cancels
/// it. That takes 50 us, so that a method whose latest run was short runs on this thread.
template <class Execute>
Status run_method(MethodState& state, OutputReader& reader, const Execute& execute) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds longest{50};
  Status outcome;
  Clock::duration took{};
  const auto work = [&] {
    const Clock::time_point start = Clock::now();
    outcome = execute();
    if (outcome.ok()) reader.copy_tensors();
    took = Clock::now() - start;
  };
  if (state.may_be_long) {
    run_cancellably(work, [&] { static_cast<void>(state.method->cancel()); });
  } else {
    const ReleasedGil released;
    work();
  }
  state.may_be_long = took > longest;
  return outcome;
}

/// Runs the method; returns one object for all outputs when `as_list`, otherwise what a call
/// returns.
template <class Execute>
PyObject* run(MethodObject& method, PyObject* const* objects, std::size_t count, bool borrow,
              bool as_list, const Execute& execute) {
  check_open(method);
  // The method may be closed by another thread while this one runs without the GIL.
  const std::shared_ptr<MethodState> state = method.state;
  const Busy busy(method);
  const HeldInputs inputs(method, objects, count);
  OutputReader reader(state, inputs.arrays(), borrow);
  check(run_method(*state, reader, [&] { return execute(*state->method); }));
  const std::size_t num_outputs = state->method->num_outputs();
  if (!as_list && num_outputs == 0) return Py_NewRef(Py_None);
  if (!as_list && num_outputs == 1) return reader.output(0).release().ptr();
  nb::object sequence = nb::steal(as_list ? PyList_New(static_cast<Py_ssize_t>(num_outputs))
                                          : PyTuple_New(static_cast<Py_ssize_t>(num_outputs)));
  if (!sequence) throw nb::python_error();
  for (std::size_t i = 0; i < num_outputs; ++i) {
    PyObject* const output = reader.output(i).release().ptr();
    if (as_list) {
      PyList_SetItem(sequence.ptr(), static_cast<Py_ssize_t>(i), output);
    } else {
      PyTuple_SetItem(sequence.ptr(), static_cast<Py_ssize_t>(i), output);
    }
  }
  return sequence.release().ptr();
}

PyObject* run(MethodObject& method, PyObject* const* objects, std::size_t count, bool borrow,
              bool as_list) {
  return run(method, objects, count, borrow, as_list,
             [](host::Method& of) { return of.execute(); });
}

/// Whether the keyword argument `borrow`, the only one that there is, is true.
bool read_borrow(PyObject* keywords) {
  static PyObject* const borrow = PyUnicode_InternFromString("borrow");
  PyObject *key, *value;
  bool found = false;
  for (Py_ssize_t at = 0; PyDict_Next(keywords, &at, &key, &value) != 0;) {
    if (PyUnicode_Compare(key, borrow) != 0) {
      throw nb::type_error(concat("expected the keyword argument borrow, found ",
                                  nb::cast<std::string>(nb::str(nb::handle(key))))
                               .c_str());
    }
    const int truth = PyObject_IsTrue(value);
    if (truth < 0) throw nb::python_error();
    found = truth != 0;
  }
  return found;
}

/// `method(*inputs, borrow=False)`. The slot of the type: what the binding library does for each
/// call of a function would cost as much as a small network.
PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) noexcept {
  try {
    if (!nb::inst_ready(self)) throw nb::type_error("the method was not made by a program");
    const bool borrow = keywords && read_borrow(keywords);
    const TupleItems items(args);
    return run(*nb::inst_ptr<MethodObject>(self), items.data(), items.size(), borrow, false);
  } catch (nb::python_error& failure) {
    failure.restore();
  } catch (const nb::builtin_exception& failure) {
    PyErr_SetString(
        failure.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_RuntimeError,
        failure.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& failure) {
    PyErr_SetString(PyExc_RuntimeError, failure.what());
  }
  return nullptr;
}

PyType_Slot method_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call)}, {0, nullptr}};

nb::object execute(MethodObject& method, const nb::sequence& inputs, bool borrow) {
  const nb::tuple objects(inputs);
  const TupleItems items(objects);
  return nb::steal(run(method, items.data(), items.size(), borrow, true));
}

std::shared_ptr<SessionState> create_session(const MethodObject& method) {
  check_open(method);
  const Busy busy(method);
  return std::make_shared<SessionState>(method.state, take(method.state->method->create_session()));
}

void use_session(MethodObject& method, std::shared_ptr<SessionState> session) {
  check_open(method);
  if (session && session->method != method.state) {
    raise(error(Error::InvalidArgument, "method ", method.name,
                ": expected a session that it created, found one of another method"));
  }
  {
    const Busy busy(method);
    method.state->method->use_session(session ? session->session.get() : nullptr);
  }
  method.session.swap(session);
}

void set_stream(const MethodObject& method, const std::string& backend_id, std::uintptr_t stream,
                const std::string& kind) {
  check_open(method);
  const Busy busy(method);
  check(method.state->method->set_stream(backend_id,
                                         {kind.c_str(), reinterpret_cast<void*>(stream)}));
}

void cancel(const MethodObject& method) {
  // Not `Busy`: it is for another thread than the one that runs the method.
  const std::shared_ptr<MethodState> state = method.state;
  if (!state) return;
  const ReleasedGil release;
  static_cast<void>(state->method->cancel());  // It has the layer.
}

/// Bytes on each device, as a backend reports them.
nb::list list_of(const std::vector<host::DelegateBytes>& held) {
  nb::list out;
  for (const host::DelegateBytes& each : held) {
    nb::dict bytes;
    bytes["device"] = host::device_name(each.device);
    bytes["weights"] = each.weights;
    bytes["workspace"] = each.workspace;
    bytes["session"] = each.session;
    out.append(bytes);
  }
  return out;
}

nb::dict memory_info(const MethodObject& method) {
  check_open(method);
  const Busy busy(method);
  const host::MethodMemory memory = take(method.state->method->memory_info());
  nb::list delegates;
  for (const host::DelegateMemory& each : memory.delegates) {
    nb::dict delegate;
    delegate["backend"] = each.backend_id;
    delegate["lent"] = each.lent;
    delegate["reported"] = nb::none();
    if (each.is_reported) delegate["reported"] = list_of(each.held);
    delegates.append(delegate);
  }
  nb::dict planned;
  for (const host::DeviceBytes& each : memory.planned) {
    planned[host::device_name(each.device).c_str()] = each.nbytes;
  }
  nb::dict out;
  out["host_bytes"] = memory.host_bytes();
  out["planned"] = planned;
  out["tables"] = memory.tables;
  out["temp"] = memory.temp;
  nb::list backends;
  for (const host::BackendMemory& each : memory.backends) {
    nb::dict backend;
    backend["backend"] = each.backend_id;
    backend["reported"] = list_of(each.held);
    backends.append(backend);
  }
  out["backends"] = backends;
  out["delegates"] = delegates;
  return out;
}

void close(MethodObject& method) {
  if (!method.state) return;
  const std::shared_ptr<MethodState> state = method.state;  // Outlives `busy`.
  const Busy busy(method);
  method.session.reset();
  method.state.reset();
}

}  // namespace

nb::object run_sequence(MethodObject& method, const nb::tuple& inputs, host::Sequence& sequence,
                        std::uint64_t tokens, bool borrow, bool as_list) {
  const TupleItems items(inputs);
  return nb::steal(run(method, items.data(), items.size(), borrow, as_list,
                       [&](host::Method&) { return sequence.execute(tokens); }));
}

SessionState::~SessionState() {
  if (method->is_busy.load(std::memory_order_acquire)) {
    method->abandoned.push_back(std::move(session));
  }
}

void bind_method(nb::module_& module) {
  nb::class_<SessionState>(module, "Session",
                           "States of a method's delegates over shared weights, from "
                           "`Method.create_session`.")
      .attr("__module__") = "tenon";
  nb::class_<MethodObject> type(module, "Method", nb::type_slots(method_slots),
                                R"(One method of a program, loaded and ready to run.

    y = method(x)                    # one output: the output; several: a tuple
    y = method(x, borrow=True)       # valid until the next run
    outputs = method.execute([x])    # always a list, as ExecuTorch's Python returns it

An input is anything that speaks DLPack or the buffer protocol. It is neither copied nor converted:
dtype, sizes and device must fit. An input that is no tensor must equal the exported value.

Outputs are `Array`s that own their memory, on the CPU. With `borrow=True` they are views of the
method's memory, which the next run overwrites.

One thread may use a method at a time. It releases the GIL while it runs.)");
  type.attr("__module__") = "tenon";
  type.def_ro("name", &MethodObject::name, "Name of the method: \"forward\".")
      .def_ro("variant", &MethodObject::variant, "Name of the loaded variant, or None.")
      .def_prop_ro(
          "is_closed", [](const MethodObject& self) { return !self.state; },
          "Whether `close` was called.")
      .def_prop_ro(
          "num_inputs",
          [](const MethodObject& self) {
            check_open(self);
            return self.state->inputs.size();
          },
          "Number of inputs.")
      .def_prop_ro(
          "num_outputs",
          [](const MethodObject& self) {
            check_open(self);
            return self.state->method->num_outputs();
          },
          "Number of outputs.")
      .def("execute", &execute, nb::arg("inputs"), nb::kw_only(), nb::arg("borrow") = false,
           "Runs the method once and returns a list of its outputs.")
      .def("cancel", &cancel,
           "Ends a run in another thread, which fails with Cancelled unless it has just finished.")
      .def("memory_info", &memory_info,
           "The bytes that the method holds: \"host_bytes\" in all, \"planned\" by device, "
           "\"tables\", \"temp\", and \"delegates\".")
      .def("create_session", &create_session,
           "Makes another state for every delegate. NotSupported when a backend has no sessions.")
      .def("use_session", &use_session, nb::arg("session").none(),
           "Later runs use the state of `session`; None: the method's state.")
      .def(
          "set_stream", &set_stream, nb::arg("backend_id"), nb::arg("stream"), nb::kw_only(),
          nb::arg("kind") = TENON_KIND_CUDA_STREAM,
          "Delegates of the backend use `stream`, the address of a native stream "
          "(torch.cuda.Stream.cuda_stream), which must outlive its use; 0 ends this. A backend may "
          "refuse a `kind`, such as \"metal.command_queue\".")
      .def("close", &close, "Frees memory and delegates, once no array borrows from them.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](MethodObject& self, nb::args) { close(self); })
      .def("__repr__", [](const MethodObject& self) {
        return concat("<tenon.Method ", self.name, self.state ? ">" : ", closed>");
      });
  bind_intermediates(module, type);
  bind_sequence(module, type);
  bind_conversations(module, type);
}

}  // namespace tenon::python
