// SPDX-License-Identifier: MIT
#include "input_array.hpp"

#include <bit>
#include <cstring>
#include <optional>

#include "error.hpp"
#include "tenon/core/concat.hpp"

namespace tenon::python {

namespace nb = nanobind;

// Sizes and strides of buffers are read in place.
static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "only 64-bit Pythons are supported");

namespace {

[[noreturn]] void raise_type_error(std::string_view where, std::string_view what) {
  throw nb::type_error(concat(where, what).c_str());
}

/// The type of a buffer's elements, of the formats of Python's `struct` and NumPy's "Zf", "Zd".
std::optional<ScalarType> type_of_format(const char* format, Py_ssize_t size) {
  if (!format) return ScalarType::Byte;
  const bool is_native = *format == '@' || *format == '=';
  const bool is_little = *format == '<' && std::endian::native == std::endian::little;
  if (is_native || is_little) ++format;
  const bool is_complex = *format == 'Z';
  if (is_complex) ++format;
  const char code = *format;
  if (code == '\0' || format[1] != '\0') return std::nullopt;
  if (is_complex) {
    if (code == 'f') return ScalarType::ComplexFloat;
    if (code == 'd') return ScalarType::ComplexDouble;
    return std::nullopt;
  }
  constexpr std::string_view is_signed = "bhilqn";
  constexpr std::string_view is_unsigned = "BHILQN";
  if (is_signed.find(code) != is_signed.npos) {
    if (size == 1) return ScalarType::Char;
    if (size == 2) return ScalarType::Short;
    return size == 4 ? ScalarType::Int : ScalarType::Long;
  }
  if (is_unsigned.find(code) != is_unsigned.npos) {
    if (size == 1) return ScalarType::Byte;
    if (size == 2) return ScalarType::UInt16;
    return size == 4 ? ScalarType::UInt32 : ScalarType::UInt64;
  }
  switch (code) {
    case 'e':
      return ScalarType::Half;
    case 'f':
      return ScalarType::Float;
    case 'd':
      return ScalarType::Double;
    case '?':
      return ScalarType::Bool;
    default:
      return std::nullopt;
  }
}

std::optional<ScalarType> type_of_dlpack(tenon_dl_dtype dtype) {
  for (const ScalarTypeInfo& info : scalar_types) {
    // The quantized and Bits types are all opaque: no array library has them.
    if (info.dl.code == dtype.code && info.dl.bits == dtype.bits && info.dl.lanes == dtype.lanes &&
        dtype.code != TENON_DL_OPAQUE) {
      return info.type;
    }
  }
  return std::nullopt;
}

struct ExchangedType {
  PyTypeObject* type = nullptr;
  dlpack::ExchangeApi* api = nullptr;
  bool may_be_lazy = false;  ///< PyTorch's tensors; see `raise_if_lazy`.
};

/// Libraries look types up by name only once: a type that has the API keeps it as long as it lives,
/// and only then may another type have its address.
ExchangedType find_exchange_api(PyTypeObject* type) {
  static std::array<ExchangedType, 8> known;  // Held types, under the GIL.
  for (const ExchangedType& each : known) {
    if (each.type == type) return each;
    if (!each.type) break;
  }
  const nb::handle as_object(reinterpret_cast<PyObject*>(type));
  dlpack::ExchangeApi* api = nullptr;
  nb::object capsule = nb::getattr(as_object, "__dlpack_c_exchange_api__", nb::none());
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
    api = static_cast<dlpack::ExchangeApi*>(
        PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  }
  while (api && api->version.major != dlpack::major_version) api = api->previous;
  if (api && !api->to_tensor) api = nullptr;
  const ExchangedType found{type, api, api && nb::hasattr(as_object, "is_neg")};
  for (ExchangedType& each : known) {
    if (each.type) continue;
    Py_INCREF(as_object.ptr());
    each = found;
    break;
  }
  return found;
}

bool is_true(PyObject* object, PyObject* method) {
  const nb::object answer = nb::steal(PyObject_CallMethodObjArgs(object, method, nullptr));
  if (!answer.is_valid()) throw nb::python_error();
  return answer.ptr() == Py_True;
}

/// PyTorch has tensors whose elements it negates or conjugates when it reads them. DLPack cannot
/// say that, and PyTorch's exchange API gives the memory as it is.
void raise_if_lazy(PyObject* object, ScalarType type, std::string_view where) {
  static PyObject* const is_neg = PyUnicode_InternFromString("is_neg");
  static PyObject* const is_conj = PyUnicode_InternFromString("is_conj");
  const bool is_complex = type == ScalarType::ComplexFloat || type == ScalarType::ComplexDouble ||
                          type == ScalarType::ComplexHalf;
  if (is_true(object, is_neg)) {
    raise(error(Error::InvalidArgument, where,
                "expected a tensor with its elements in memory, found one with PyTorch's negative "
                "bit; pass tensor.resolve_neg()"));
  }
  if (is_complex && is_true(object, is_conj)) {
    raise(error(Error::InvalidArgument, where,
                "expected a tensor with its elements in memory, found one with PyTorch's conjugate "
                "bit; pass tensor.resolve_conj()"));
  }
}

}  // namespace

void InputArray::hold(PyObject* object, std::string_view where) {
  release();
  if (hold_by_exchange_api(object, where)) return;
  if (PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &buffer_, PyBUF_RECORDS_RO) == 0) {
      holds_ = Holds::buffer;
      return read_buffer(where);
    }
    nb::python_error failure;
    if (hold_extended_type(object, where)) return;
    if (hold_dlpack(object, where)) return;
    failure.restore();
    throw nb::python_error();
  }
  if (hold_dlpack(object, where)) return;
  raise_type_error(where, concat("expected an array (DLPack or the buffer protocol), found ",
                                 name_of_type(object)));
}

void InputArray::release() noexcept {
  const Holds held = holds_;
  holds_ = Holds::nothing;
  if (held == Holds::buffer) {
    PyBuffer_Release(&buffer_);
  } else if (held == Holds::managed) {
    auto* managed = static_cast<dlpack::ManagedTensor*>(managed_);
    if (managed->deleter) managed->deleter(managed);
  } else if (held == Holds::versioned) {
    auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(managed_);
    if (managed->deleter) managed->deleter(managed);
  }
}

bool InputArray::is_dense(const std::uint8_t* dim_order) const noexcept {
  std::uint64_t expected = 1;
  for (std::size_t i = rank_; i-- > 0;) {
    const std::size_t dim = dim_order[i];
    if (sizes_[dim] == 0) return true;
    const auto stride = static_cast<std::uint64_t>(strides_[dim]);
    if (sizes_[dim] != 1 && stride != expected) return false;
    expected *= static_cast<std::uint64_t>(sizes_[dim]);
  }
  return true;
}

bool InputArray::hold_by_exchange_api(PyObject* object, std::string_view where) {
  const ExchangedType type = find_exchange_api(Py_TYPE(object));
  if (!type.api) return false;
  tenon_dl_tensor tensor{};
  if (type.api->to_tensor(object, &tensor) != 0) throw nb::python_error();
  read_only_ = false;
  read_tensor(tensor, where);
  if (type.may_be_lazy) raise_if_lazy(object, type_, where);
  return true;
}

void InputArray::read_buffer(std::string_view where) {
  const auto type = type_of_format(buffer_.format, buffer_.itemsize);
  if (!type || size_of(*type) != static_cast<std::size_t>(buffer_.itemsize)) {
    raise_type_error(
        where, concat("expected elements of a type of ExecuTorch, found the buffer format \"",
                      buffer_.format ? buffer_.format : "B", "\" of ", buffer_.itemsize, " bytes"));
  }
  read_shape(buffer_.ndim, reinterpret_cast<const std::int64_t*>(buffer_.shape), where);
  type_ = *type;
  set_dense_strides();
  // Arrays of ctypes have none, also where they are asked for.
  for (std::size_t i = 0; buffer_.strides && i < rank_; ++i) {
    // A stride that is no multiple of the element size is none of a dense array.
    const bool is_whole = buffer_.strides[i] % buffer_.itemsize == 0;
    strides_[i] = is_whole ? buffer_.strides[i] / buffer_.itemsize : -1;
  }
  data_ = static_cast<std::byte*>(buffer_.buf);
  nbytes_ = static_cast<std::size_t>(buffer_.len);
  device_ = {TENON_DL_CPU, 0};
  read_only_ = buffer_.readonly != 0;
}

void InputArray::read_shape(std::int64_t rank, const std::int64_t* sizes, std::string_view where) {
  rank_ = 0;
  if (rank < 0 || rank > static_cast<std::int64_t>(max_rank)) {
    raise_type_error(where, concat("expected at most 16 dimensions, found ", rank));
  }
  if (rank != 0 && !sizes) {
    raise_type_error(where, concat("expected the sizes of ", rank, " dimensions, found none"));
  }
  rank_ = static_cast<std::size_t>(rank);
  sizes_ = sizes;
}

/// The strides of elements that are dense in the order of C. Sizes are anything: they are judged
/// with the bytes.
void InputArray::set_dense_strides() noexcept {
  std::uint64_t stride = 1;
  for (std::size_t i = rank_; i-- > 0;) {
    strides_[i] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(sizes_[i]);
  }
}

void InputArray::read_tensor(const tenon_dl_tensor& tensor, std::string_view where) {
  const auto type = type_of_dlpack(tensor.dtype);
  if (!type) {
    raise_type_error(where,
                     concat("expected elements of a type of ExecuTorch, found DLPack's type code ",
                            static_cast<unsigned>(tensor.dtype.code), " with ",
                            static_cast<unsigned>(tensor.dtype.bits), " bits"));
  }
  read_shape(tensor.ndim, tensor.shape, where);
  type_ = *type;
  nbytes_ = size_of(type_);
  set_dense_strides();
  for (std::size_t i = 0; i < rank_; ++i) {
    if (tensor.strides) strides_[i] = tensor.strides[i];
    nbytes_ *= static_cast<std::size_t>(tensor.shape[i]);
  }
  data_ = static_cast<std::byte*>(tensor.data);
  if (data_) data_ += tensor.byte_offset;
  device_ = tensor.device;
  // Memory of the host that a device can read as well.
  if (device_.device_type == dlpack::cuda_host) device_ = {TENON_DL_CPU, 0};
}

/// NumPy's arrays with types of ml_dtypes: these are in neither protocol, their names are
/// PyTorch's.
bool InputArray::hold_extended_type(PyObject* object, std::string_view where) {
  const nb::handle array(object);
  const nb::object name = nb::getattr(nb::getattr(array, "dtype", nb::none()), "name", nb::none());
  if (!nb::isinstance<nb::str>(name) || !nb::hasattr(array, "view")) return false;
  const std::string_view text = nb::borrow<nb::str>(name).c_str();
  const ScalarTypeInfo* const info = find_torch_scalar_type(text);
  if (!info || info->npy_descr[1] != 'V' || info->size > 2) return false;
  const nb::object bits = array.attr("view")(info->size == 2 ? "uint16" : "uint8");
  if (PyObject_GetBuffer(bits.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) throw nb::python_error();
  holds_ = Holds::buffer;
  read_buffer(where);
  type_ = info->type;
  return true;
}

bool InputArray::hold_dlpack(PyObject* object, std::string_view where) {
  const nb::handle array(object);
  if (!nb::hasattr(array, "__dlpack__")) return false;
  // PyTorch without the exchange API refuses a conjugate bit itself, and ignores a negative one.
  const bool may_be_lazy = nb::hasattr(array, "is_neg") && nb::hasattr(array, "is_conj");
  if (may_be_lazy) raise_if_lazy(object, ScalarType::Float, where);
  nb::object capsule;
  try {
    capsule = array.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& failure) {
    if (!failure.matches(PyExc_TypeError)) throw;
    capsule = array.attr("__dlpack__")();  // A producer from before DLPack 1.0.
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto* managed = static_cast<dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->version.major != dlpack::major_version) {
      raise_type_error(where, concat("expected DLPack 1, found DLPack ", managed->version.major));
    }
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    managed_ = managed;
    holds_ = Holds::versioned;
    read_only_ = (managed->flags & dlpack::read_only_flag) != 0;
    read_tensor(managed->tensor, where);
    return true;
  }
  auto* managed =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  managed_ = managed;
  holds_ = Holds::managed;
  read_only_ = false;
  read_tensor(managed->tensor, where);
  return true;
}

}  // namespace tenon::python
