// SPDX-License-Identifier: MIT
#include "method.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "array.hpp"
#include "busy.hpp"
#include "error.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/trace/intermediates.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

std::vector<host::Intermediate> intermediates(const MethodObject& method) {
  check_open(method);
  const Busy busy(method);
  return take(method.state->method->intermediates());
}

void record(const MethodObject& method, const std::optional<std::vector<std::size_t>>& numbers) {
  check_open(method);
  const Busy busy(method);
  host::Method& of = *method.state->method;
  if (numbers) return check(of.record_intermediates(*numbers));
  std::vector<std::size_t> all(take(of.intermediates()).size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  check(of.record_intermediates(all));
}

nb::object array_of(const host::IntermediateTensor& tensor) {
  auto array = std::make_unique<Array>();
  array->type = tensor.type;
  array->rank = static_cast<std::int32_t>(tensor.shape.size());
  array->nbytes = tensor.data.size();
  auto stride = static_cast<Py_ssize_t>(size_of(tensor.type));
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    array->sizes[i] = tensor.shape[i];
    array->strides[i] = stride;
    stride *= tensor.shape[i];
  }
  array->own = allocate_raw(tensor.data.size());
  if (!tensor.data.empty()) {
    std::memcpy(array->own.get(), tensor.data.data(), tensor.data.size());
  }
  array->data = array->own.get();
  return nb::cast(array.release(), nb::rv_policy::take_ownership);
}

nb::list recorded(const MethodObject& method) {
  check_open(method);
  const Busy busy(method);
  nb::list out;
  for (const host::IntermediateTensor& tensor : method.state->method->recorded_intermediates()) {
    out.append(nb::make_tuple(tensor.intermediate, array_of(tensor)));
  }
  return out;
}

}  // namespace

void bind_intermediates(nb::module_& module, nb::class_<MethodObject>& method) {
  nb::class_<host::Intermediate> type(module, "Intermediate",
                                      "A tensor that a method computes before its outputs "
                                      "(`Method.intermediates`).");
  type.attr("__module__") = "tenon";
  type.def_ro("delegate", &host::Intermediate::delegate,
              "Number of the delegate that computes it; None for a kernel.")
      .def_ro("handle", &host::Intermediate::handle,
              "The backend's number of the step, or the number of the kernel's instruction.")
      .def_ro("name", &host::Intermediate::name, "The step or the operator.")
      .def_ro("result", &host::Intermediate::result, "Which result of a kernel, from 0.")
      .def_ro("debug_handles", &host::Intermediate::debug_handles,
              "Nodes of the exported program; the last one has this result. Empty without debug "
              "handles.")
      .def_ro("nodes", &host::Intermediate::nodes, "Names of these nodes.")
      .def("__repr__", [](const host::Intermediate& self) {
        return concat("<tenon.Intermediate ", self.name,
                      self.nodes.empty() ? std::string() : " of " + self.nodes.back(), ">");
      });
  method
      .def("intermediates", &intermediates,
           "The tensors that runs can record, in the order of the instructions.")
      .def("record_intermediates", &record, nb::arg("numbers").none() = nb::none(),
           "Later runs record these, by their places in `intermediates`; None: all; an empty list: "
           "none.")
      .def("recorded_intermediates", &recorded,
           "What the last run recorded: a list of (number, Array). Loops record some several "
           "times.");
}

}  // namespace tenon::python
