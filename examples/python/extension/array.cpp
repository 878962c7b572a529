// SPDX-License-Identifier: MIT
#include "array.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "dlpack.hpp"
#include "error.hpp"
#include "interpreter.hpp"
#include "tenon/core/concat.hpp"
#include "tenon/host/layers/arrays/element.hpp"
#include "tenon/host/loader/program/device_buffers.hpp"

namespace tenon::python {

namespace nb = nanobind;

namespace {

std::unique_ptr<Array> with_layout(const tenon_tensor& tensor) {
  const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
  if (rank > max_rank) {
    raise(error(Error::NotSupported, "expected an output of at most ", max_rank,
                " dimensions, found ", rank));
  }
  auto array = std::make_unique<Array>();
  array->type = static_cast<ScalarType>(tensor.scalar_type);
  array->rank = tensor.dl.ndim;
  array->nbytes = static_cast<std::size_t>(tensor.nbytes);
  const auto size = static_cast<Py_ssize_t>(size_of(array->type));
  for (std::size_t i = 0; i < rank; ++i) {
    array->sizes[i] = tensor.dl.shape[i];
    array->strides[i] = tensor.dl.strides[i] * size;
  }
  return array;
}

/// The letter of Python's `struct` module; null for what it has none for.
const char* format_of(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Byte:
      return "B";
    case ScalarType::Char:
      return "b";
    case ScalarType::Short:
      return "h";
    case ScalarType::Int:
      return "i";
    case ScalarType::Long:
      return "l";
    case ScalarType::Half:
      return "e";
    case ScalarType::Float:
      return "f";
    case ScalarType::Double:
      return "d";
    case ScalarType::ComplexFloat:
      return "Zf";
    case ScalarType::ComplexDouble:
      return "Zd";
    case ScalarType::Bool:
      return "?";
    case ScalarType::UInt16:
      return "H";
    case ScalarType::UInt32:
      return "I";
    case ScalarType::UInt64:
      return "L";
    default:
      return nullptr;
  }
}

/// The array of an object of its type, which `Array.__new__` makes without one.
const Array& array_of(nb::handle_t<Array> self) {
  if (!nb::inst_ready(self)) throw nb::type_error("the array was not made by a method");
  return *nb::inst_ptr<Array>(self);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_BufferError, "the array was not made by a method");
    return -1;
  }
  Array& array = *nb::inst_ptr<Array>(self);
  const char* const format = format_of(array.type);
  const char* failure = nullptr;
  if (!host::is_cpu(array.device)) {
    failure = "the array is in memory of a device; use __dlpack__";
  } else if (!format) {
    failure = "the buffer protocol has no format for this dtype; use numpy()";
  } else if ((flags & PyBUF_WRITABLE) != 0 && array.read_only) {
    failure = "expected a writable array, found a read-only one";
  }
  if (failure) {
    PyErr_SetString(PyExc_BufferError, failure);
    return -1;
  }
  const auto size = static_cast<Py_ssize_t>(size_of(array.type));
  *view = {};
  view->buf = array.data;
  view->len = static_cast<Py_ssize_t>(array.nbytes);
  view->itemsize = size;
  view->readonly = array.read_only ? 1 : 0;
  view->ndim = array.rank;
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format) : nullptr;
  view->shape = array.sizes.data();
  view->strides = array.strides.data();
  // Who asks for neither sizes nor strides takes the elements for dense in the order of C.
  const bool takes_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  const bool wants_c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS;
  if ((!takes_strides || wants_c) && PyBuffer_IsContiguous(view, 'C') == 0) {
    *view = {};
    PyErr_SetString(PyExc_BufferError, "the elements are not contiguous in the order of C");
    return -1;
  }
  view->obj = Py_NewRef(self);
  return 0;
}

PyType_Slot array_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};

/// An exported tensor and the memory that it refers to, until its consumer deletes it.
template <class Managed>
struct Exported {
  Managed managed{};
  std::array<std::int64_t, max_rank> sizes;
  std::array<std::int64_t, max_rank> strides;
};

template <class Managed>
void delete_exported(Managed* managed) {
  {
    const HeldGil held;
    Py_DECREF(static_cast<PyObject*>(managed->manager));
  }
  delete reinterpret_cast<Exported<Managed>*>(managed);
}

template <class Managed>
nb::object export_array(nb::handle self, const Array& array, const char* name) {
  auto exported = std::make_unique<Exported<Managed>>();
  const ScalarTypeInfo& info = *find_scalar_type(static_cast<std::int64_t>(array.type));
  const auto size = static_cast<std::int64_t>(info.size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(array.rank); ++i) {
    exported->sizes[i] = array.sizes[i];
    exported->strides[i] = array.strides[i] / size;
  }
  Managed& managed = exported->managed;
  managed.tensor = {array.data, array.device,           array.rank,
                    info.dl,    exported->sizes.data(), exported->strides.data(),
                    0};
  managed.manager = self.inc_ref().ptr();
  managed.deleter = &delete_exported<Managed>;
  if constexpr (requires { managed.flags; }) {
    managed.version = {dlpack::major_version, 0};
    managed.flags = array.read_only ? dlpack::read_only_flag : 0;
  }
  const auto destroy = [](PyObject* capsule) {
    // The consumer renames a capsule whose tensor it deletes itself.
    const char* const unused =
        std::is_same_v<Managed, dlpack::ManagedTensor> ? "dltensor" : "dltensor_versioned";
    if (!PyCapsule_IsValid(capsule, unused)) return;
    delete_exported(static_cast<Managed*>(PyCapsule_GetPointer(capsule, unused)));
  };
  PyObject* const capsule = PyCapsule_New(exported.get(), name, destroy);
  if (!capsule) {
    self.dec_ref();
    throw nb::python_error();
  }
  exported.release();
  return nb::steal(capsule);
}

nb::object to_dlpack(nb::handle_t<Array> self, nb::object /*stream*/, nb::object max_version,
                     nb::object dl_device, nb::object copy) {
  const Array& array = array_of(self);
  const bool copies = !copy.is_none() && nb::cast<bool>(copy);
  if (copies) throw nb::buffer_error("__dlpack__: copies are not made here");
  if (!dl_device.is_none()) {
    const auto [type, id] = nb::cast<std::pair<int, int>>(dl_device);
    if (type != array.device.device_type || id != array.device.device_id) {
      throw nb::buffer_error(concat("__dlpack__: the array is on ", host::device_name(array.device),
                                    ", not on the device that was asked for")
                                 .c_str());
    }
  }
  const bool versioned =
      !max_version.is_none() && nb::cast<unsigned>(max_version[0]) >= dlpack::major_version;
  if (versioned) {
    return export_array<dlpack::ManagedTensorVersioned>(self, array, "dltensor_versioned");
  }
  if (array.read_only) {
    throw nb::buffer_error("__dlpack__: DLPack before 1.0 cannot say that an array is read-only");
  }
  return export_array<dlpack::ManagedTensor>(self, array, "dltensor");
}

nb::object element_object(const host::ElementValue& value, ScalarType type) {
  if (type == ScalarType::Bool) return nb::bool_(std::get<std::int64_t>(value) != 0);
  return std::visit(
      []<class T>(const T& number) -> nb::object {
        if constexpr (std::is_same_v<T, std::complex<double>>) {
          return nb::steal(PyComplex_FromDoubles(number.real(), number.imag()));
        } else {
          return nb::cast(number);
        }
      },
      value);
}

void check_on_cpu(const Array& array) {
  if (host::is_cpu(array.device)) return;
  raise(error(Error::NotSupported, "expected an array on the CPU, found one on ",
              host::device_name(array.device)));
}

nb::object elements_from(const Array& array, std::size_t dim, const std::byte* at) {
  if (dim == static_cast<std::size_t>(array.rank)) {
    const std::span<const std::byte> bytes(at, size_of(array.type));
    return element_object(host::element_at(array.type, bytes, 0), array.type);
  }
  nb::list list;
  for (Py_ssize_t i = 0; i < array.sizes[dim]; ++i) {
    list.append(elements_from(array, dim + 1, at + i * array.strides[dim]));
  }
  return list;
}

nb::object to_list(const Array& array) {
  check_on_cpu(array);
  return elements_from(array, 0, array.data);
}

nb::object item(const Array& array) {
  if (array.nbytes != size_of(array.type)) {
    raise(error(Error::InvalidArgument, "item: expected one element, found ",
                array.nbytes / size_of(array.type)));
  }
  check_on_cpu(array);
  return elements_from(array, static_cast<std::size_t>(array.rank), array.data);
}

/// A view of the bits, which then gets their type: NumPy has no name for it in the buffer protocol.
nb::object to_numpy(nb::handle_t<Array> self) {
  const Array& array = array_of(self);
  const nb::module_ numpy = nb::module_::import_("numpy");
  if (format_of(array.type)) return numpy.attr("asarray")(self);
  check_on_cpu(array);
  const ScalarTypeInfo& info = *find_scalar_type(static_cast<std::int64_t>(array.type));
  const std::string name(info.torch_name);
  const nb::object kind = nb::getattr(nb::module_::import_("ml_dtypes"), name.c_str(), nb::none());
  if (kind.is_none()) raise(error(Error::NotSupported, "NumPy has no dtype for ", name));
  auto bits = std::make_unique<Array>();
  bits->type = info.size == 1 ? ScalarType::Byte : ScalarType::UInt16;
  bits->read_only = array.read_only;
  bits->rank = array.rank;
  bits->data = array.data;
  bits->nbytes = array.nbytes;
  bits->sizes = array.sizes;
  bits->strides = array.strides;
  bits->owner = std::shared_ptr<PyObject>(self.inc_ref().ptr(), [](PyObject* held) {
    const HeldGil gil;
    Py_DECREF(held);
  });
  const nb::object view = nb::cast(bits.release(), nb::rv_policy::take_ownership);
  return numpy.attr("asarray")(view).attr("view")(kind);
}

nb::tuple shape_of(const Array& array) {
  nb::list list;
  for (std::int32_t i = 0; i < array.rank; ++i)
    list.append(array.sizes[static_cast<std::size_t>(i)]);
  return nb::tuple(list);
}

std::string dtype_of(const Array& array) {
  return std::string(find_scalar_type(static_cast<std::int64_t>(array.type))->torch_name);
}

bool is_borrowed(const Array& array) { return !array.own && !array.is_part; }

std::string repr(const Array& array) {
  std::string shape;
  for (std::int32_t i = 0; i < array.rank; ++i) {
    shape += concat(i == 0 ? "" : ", ", array.sizes[static_cast<std::size_t>(i)]);
  }
  const std::string device =
      host::is_cpu(array.device) ? "" : concat(" on ", host::device_name(array.device));
  return concat("<tenon.Array ", dtype_of(array), " [", shape, "]", device,
                is_borrowed(array) ? ", borrowed" : "", array.read_only ? ", read-only>" : ">");
}

}  // namespace

std::unique_ptr<Array> borrow_tensor(const tenon_tensor& tensor,
                                     std::shared_ptr<const void> owner) {
  auto array = with_layout(tensor);
  array->device = tensor.dl.device;
  array->data = static_cast<std::byte*>(tensor.dl.data);
  if (array->data) array->data += tensor.dl.byte_offset;
  array->read_only = (tensor.flags & TENON_TENSOR_CONSTANT) != 0;
  array->owner = std::move(owner);
  return array;
}

RawMemory allocate_raw(std::size_t nbytes) {
#ifdef Py_LIMITED_API
  void* const bytes = std::malloc(nbytes > 0 ? nbytes : 1);  // Which may be null for no bytes.
#else
  void* const bytes = PyMem_RawMalloc(nbytes);
#endif
  if (!bytes) throw std::bad_alloc();
  return RawMemory(static_cast<std::byte*>(bytes));
}

RawMemory allocate_like(const tenon_tensor& tensor) {
  return allocate_raw(static_cast<std::size_t>(tensor.nbytes));
}

std::unique_ptr<Array> make_array(const tenon_tensor& tensor, RawMemory memory) {
  auto array = with_layout(tensor);
  array->own = std::move(memory);
  array->data = array->own.get();
  return array;
}

std::unique_ptr<Array> borrow_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner) {
  auto array = std::make_unique<Array>();
  array->rank = 1;
  array->sizes[0] = static_cast<Py_ssize_t>(bytes.size());
  array->strides[0] = 1;
  array->data = const_cast<std::byte*>(bytes.data());
  array->nbytes = bytes.size();
  array->read_only = true;
  array->owner = std::move(owner);
  return array;
}

void bind_array(nb::module_& module) {
  nb::class_<Array> type(module, "Array", nb::type_slots(array_slots),
                         R"(A tensor that a method returned, or named data of a program.

`numpy.asarray(array)`, `torch.from_dlpack(array)` and `memoryview(array)` share its memory and keep
it alive. `array[1, :2]` is a view of it, and `array[1, 2]` a number. A loop gives the views or
numbers of the first dimension. Indices are integers, slices with positive steps and `...`; for
masks and lists of indices use `array.numpy()`.)");
  type.attr("__module__") = "tenon";
  type.def_prop_ro("shape", &shape_of, "Sizes, from the outermost dimension.")
      .def_prop_ro("dtype", &dtype_of,
                   "Name of the element type in PyTorch and NumPy: \"float32\".")
      .def_prop_ro(
          "ndim", [](const Array& array) { return array.rank; }, "Number of dimensions.")
      .def_prop_ro(
          "nbytes", [](const Array& array) { return array.nbytes; }, "Bytes of all elements.")
      .def_prop_ro(
          "device", [](const Array& array) { return host::device_name(array.device); },
          "Where the memory is: \"CPU\" or a device.")
      .def_prop_ro(
          "is_borrowed", &is_borrowed,
          "Whether a method or program owns the memory; a method's next run overwrites it.")
      .def_prop_ro(
          "readonly", [](const Array& array) { return array.read_only; },
          "Whether the memory is read-only.")
      .def("tolist", &to_list, "The elements as nested lists; a number for no dimensions.")
      .def("item", &item, "The only element, as a number.")
      .def("__float__", [](const Array& array) { return nb::float_(item(array)); })
      .def("__int__", [](const Array& array) { return nb::int_(item(array)); })
      .def("__len__",
           [](const Array& array) {
             if (array.rank == 0) throw nb::type_error("len() of an array without dimensions");
             return array.sizes[0];
           })
      .def(
          "__getitem__",
          [](nb::handle_t<Array> self, nb::handle index) {
            return get_item(self, array_of(self), index);
          },
          nb::arg("index").none())
      .def("__iter__",
           [](nb::handle_t<Array> self) {
             if (array_of(self).rank == 0) {
               throw nb::type_error("iteration over an array without dimensions");
             }
             PyObject* const iterator = PySeqIter_New(self.ptr());
             if (!iterator) throw nb::python_error();
             return nb::steal(iterator);
           })
      .def(
          "__dlpack_device__",
          [](const Array& array) {
            return std::pair(array.device.device_type, array.device.device_id);
          },
          "DLPack's numbers of the device.")
      .def("__dlpack__", &to_dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("max_version") = nb::none(), nb::arg("dl_device") = nb::none(),
           nb::arg("copy") = nb::none(), "A capsule with the array's memory, which is not copied.")
      .def("numpy", &to_numpy,
           "A NumPy array of the same memory; for bfloat16 and float8 with ml_dtypes.")
      .def(
          "__array__",
          [](nb::handle_t<Array> self, const nb::object& dtype, const nb::object& copy) {
            const nb::object array = to_numpy(self);
            const bool copies = !copy.is_none() && nb::cast<bool>(copy);
            if (dtype.is_none() && !copies) return array;
            const nb::object wanted = dtype.is_none() ? nb::object(array.attr("dtype")) : dtype;
            return nb::object(array.attr("astype")(wanted, nb::arg("copy") = copies));
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          "For numpy.asarray, where the buffer protocol lacks the type.")
      .def("__repr__", &repr);
}

}  // namespace tenon::python
