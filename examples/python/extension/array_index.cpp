// SPDX-License-Identifier: MIT
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "array.hpp"
#include "error.hpp"
#include "interpreter.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

[[noreturn]] void raise_index_error(std::string_view text) {
  throw nb::index_error(std::string(text).c_str());
}

bool is_ellipsis(nb::handle index) { return index.ptr() == Py_Ellipsis; }

/// Takes `size` of the dimension apart: where the view begins in elements, and its size and step.
struct Range {
  Py_ssize_t start;
  Py_ssize_t size;
  Py_ssize_t step;
};

Range range_of(nb::handle slice, Py_ssize_t size) {
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.ptr(), &start, &stop, &step) < 0) throw nb::python_error();
  // DLPack's consumers take no negative strides.
  if (step < 0)
    throw nb::value_error("expected a slice with a positive step, found a negative one");
  const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
  return {start, count, step};
}

Py_ssize_t position_of(nb::handle index, std::size_t dim, Py_ssize_t size) {
  // A bool is an int, and NumPy takes it for a mask.
  if (PyBool_Check(index.ptr()) || PyIndex_Check(index.ptr()) == 0) {
    throw nb::type_error(
        concat("expected integers, slices and ... as indices, found ", name_of_type(index))
            .c_str());
  }
  const Py_ssize_t given = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (given == -1 && PyErr_Occurred()) throw nb::python_error();
  if (given < -size || given >= size) {
    raise_index_error(
        concat("index ", given, " is out of range for dimension ", dim, " of size ", size));
  }
  return given < 0 ? given + size : given;
}

/// A view of all of `array`, which keeps the object alive.
std::unique_ptr<Array> view_of(nb::handle self, const Array& array) {
  auto view = std::make_unique<Array>();
  view->type = array.type;
  view->read_only = array.read_only;
  view->is_part = array.own || array.is_part;
  view->device = array.device;
  view->data = array.data;
  view->owner = std::shared_ptr<PyObject>(self.inc_ref().ptr(), [](PyObject* held) {
    const HeldGil gil;
    Py_DECREF(held);
  });
  return view;
}

}  // namespace

nb::object get_item(nb::handle self, const Array& array, nb::handle index) {
  const nb::tuple indices =
      PyTuple_Check(index.ptr()) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
  const auto rank = static_cast<std::size_t>(array.rank);
  std::size_t given = 0, ellipses = 0;
  for (const nb::handle each : indices) ++(is_ellipsis(each) ? ellipses : given);
  if (ellipses > 1) raise_index_error("expected at most one ... as an index");
  if (given > rank) {
    raise_index_error(concat("expected at most ", rank, " indices, found ", given));
  }
  std::unique_ptr<Array> view = view_of(self, array);
  std::size_t dim = 0, kept = 0;
  Py_ssize_t offset = 0;
  const auto keep = [&](std::size_t count) {
    for (; count > 0; --count, ++dim, ++kept) {
      view->sizes[kept] = array.sizes[dim];
      view->strides[kept] = array.strides[dim];
    }
  };
  for (const nb::handle each : indices) {
    if (is_ellipsis(each)) {
      keep(rank - given);
    } else if (PySlice_Check(each.ptr())) {
      const Range range = range_of(each, array.sizes[dim]);
      offset += range.start * array.strides[dim];
      view->sizes[kept] = range.size;
      view->strides[kept] = range.step * array.strides[dim];
      ++dim, ++kept;
    } else {
      offset += position_of(each, dim, array.sizes[dim]) * array.strides[dim];
      ++dim;
    }
  }
  keep(rank - dim);
  view->rank = static_cast<std::int32_t>(kept);
  view->nbytes = size_of(array.type);
  for (const Py_ssize_t size : std::span(view->sizes).first(kept)) {
    view->nbytes *= static_cast<std::size_t>(size);
  }
  if (view->nbytes > 0) view->data += offset;  // There may be no memory for no elements.
  nb::object result = nb::cast(view.release(), nb::rv_policy::take_ownership);
  // As NumPy has it: a[1, 2] is a number, and a[1, 2, ...] an array without dimensions.
  return kept == 0 && ellipses == 0 ? result.attr("item")() : result;
}

}  // namespace tenon::python
