// SPDX-License-Identifier: MIT
//
// Tensors and values as they cross the boundary. The host builds them once when it loads a method;
// `execute` gets pointers to them, so a call converts and allocates nothing.

#ifndef TENON_ABI_TENSOR_H
#define TENON_ABI_TENSOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// DLPack type codes (DLDataTypeCode of dlpack.h 1.1).
enum {
  TENON_DL_INT = 0,
  TENON_DL_UINT = 1,
  TENON_DL_FLOAT = 2,
  TENON_DL_OPAQUE = 3,
  TENON_DL_BFLOAT = 4,
  TENON_DL_COMPLEX = 5,
  TENON_DL_BOOL = 6,
  TENON_DL_FLOAT8_E3M4 = 7,
  TENON_DL_FLOAT8_E4M3 = 8,
  TENON_DL_FLOAT8_E4M3B11FNUZ = 9,
  TENON_DL_FLOAT8_E4M3FN = 10,
  TENON_DL_FLOAT8_E4M3FNUZ = 11,
  TENON_DL_FLOAT8_E5M2 = 12,
  TENON_DL_FLOAT8_E5M2FNUZ = 13,
  TENON_DL_FLOAT8_E8M0FNU = 14,
  TENON_DL_FLOAT6_E2M3FN = 15,
  TENON_DL_FLOAT6_E3M2FN = 16,
  TENON_DL_FLOAT4_E2M1FN = 17
};

// DLPack device types (DLDeviceType of dlpack.h 1.1).
enum { TENON_DL_CPU = 1, TENON_DL_CUDA = 2, TENON_DL_METAL = 8 };

// Element types (ScalarType of ExecuTorch's runtime/core/portable_type/scalar_type.h; PyTorch's
// numbers are the same).
enum {
  TENON_SCALAR_BYTE = 0,
  TENON_SCALAR_CHAR = 1,
  TENON_SCALAR_SHORT = 2,
  TENON_SCALAR_INT = 3,
  TENON_SCALAR_LONG = 4,
  TENON_SCALAR_HALF = 5,
  TENON_SCALAR_FLOAT = 6,
  TENON_SCALAR_DOUBLE = 7,
  TENON_SCALAR_COMPLEX_HALF = 8,
  TENON_SCALAR_COMPLEX_FLOAT = 9,
  TENON_SCALAR_COMPLEX_DOUBLE = 10,
  TENON_SCALAR_BOOL = 11,
  TENON_SCALAR_QINT8 = 12,
  TENON_SCALAR_QUINT8 = 13,
  TENON_SCALAR_QINT32 = 14,
  TENON_SCALAR_BFLOAT16 = 15,
  TENON_SCALAR_QUINT4X2 = 16,
  TENON_SCALAR_QUINT2X4 = 17,
  TENON_SCALAR_BITS1X8 = 18,
  TENON_SCALAR_BITS2X4 = 19,
  TENON_SCALAR_BITS4X2 = 20,
  TENON_SCALAR_BITS8 = 21,
  TENON_SCALAR_BITS16 = 22,
  TENON_SCALAR_FLOAT8_E5M2 = 23,
  TENON_SCALAR_FLOAT8_E4M3FN = 24,
  TENON_SCALAR_FLOAT8_E5M2FNUZ = 25,
  TENON_SCALAR_FLOAT8_E4M3FNUZ = 26,
  TENON_SCALAR_UINT16 = 27,
  TENON_SCALAR_UINT32 = 28,
  TENON_SCALAR_UINT64 = 29
};

/// Layout of DLPack's `DLDataType`. The tensors of a program have elements of one lane.
///
/// Elements of fewer than 8 bits are packed without gaps, the first one in the lowest bits of its
/// byte; a tensor begins and ends with a whole byte.
typedef struct tenon_dl_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} tenon_dl_dtype;

/// Layout of DLPack's `DLDevice`.
typedef struct tenon_dl_device {
  int32_t device_type;
  int32_t device_id;
} tenon_dl_device;

/// Layout of DLPack's `DLTensor`, member for member: a pointer to this block may be given to any
/// code that reads a `DLTensor`.
typedef struct tenon_dl_tensor {
  void* data;  ///< NULL until the host knows it (an input that is not set), or no bytes.
  tenon_dl_device device;  ///< The device of `data`.
  int32_t ndim;            ///< Rank; 0 for a scalar.
  tenon_dl_dtype dtype;
  int64_t* shape;    ///< `ndim` current sizes, in elements.
  int64_t* strides;  ///< `ndim` strides, in elements, 0 or more; never NULL when `ndim` > 0.
  /// From `data` to the first element; a multiple of the size of an element, and not always 0.
  uint64_t byte_offset;
} tenon_dl_tensor;

// How the shape of a tensor may change (TensorShapeDynamism of ExecuTorch's program.fbs).
enum { TENON_SHAPE_STATIC = 0, TENON_SHAPE_DYNAMIC_BOUND = 1, TENON_SHAPE_DYNAMIC_UNBOUND = 2 };

// Facts about a tensor, one bit each.
enum {
  /// The bytes belong to the program file and are mapped read-only.
  TENON_TENSOR_CONSTANT = 1u << 0,
  /// The bytes are in the method's planned memory.
  TENON_TENSOR_MEMORY_PLANNED = 1u << 1
};

/// A tensor: DLPack's block and the fields that ExecuTorch adds to it.
///
///   TN-TEN-1  A plugin MUST NOT write to the data of a tensor with TENON_TENSOR_CONSTANT.
///   TN-TEN-2  A plugin MUST change the sizes and strides of a tensor only through
///             `tenon_host.resize_tensor`.
///   TN-TEN-4  A plugin MUST accept tensor data that is aligned to the size of its elements and no
///             more.
///   TN-TEN-3  The host MUST keep each `tenon_tensor`, and the arrays it points to, at one address
///             from `init` to `destroy`; only `dl.data`, the sizes, the strides, `nbytes` and
///             `capacity` may change, and only between two calls of `execute` or in
///             `resize_tensor`. An instruction of the program may make a value name another
///             tensor.
///   TN-TEN-5  A plugin MUST find the first element `byte_offset` bytes after `data`, or refuse the
///             call.
///   TN-TEN-6  A plugin MUST find the other elements by the strides, or refuse a call with a
///             `dim_order` that it does not take.
///   TN-TEN-7  The host MUST give a tensor strides that are dense in `dim_order` (a size of 0
///             counts as 1), a `dtype` and a `scalar_type` of one meaning, and one lane.
typedef struct tenon_tensor {
  uint32_t struct_size;
  /// TENON_SCALAR_..., or -1 for elements that ScalarType has no number for: then `dl.dtype` alone
  /// says what they are. Otherwise both say the same (TN-TEN-7).
  int32_t scalar_type;
  tenon_dl_tensor dl;
  const uint8_t* dim_order;  ///< `ndim` dimensions from outermost to innermost.
  const int64_t* bounds;     ///< `ndim` largest sizes; equal to the sizes when the shape is static.
  uint64_t nbytes;           ///< Bytes of the current sizes, rounded up to whole bytes.
  uint64_t capacity;         ///< Bytes that may be used at `dl.data`: never fewer than `nbytes`.
  uint32_t shape_dynamism;   ///< TENON_SHAPE_...
  uint32_t flags;            ///< TENON_TENSOR_...
} tenon_tensor;

// Kinds of value (the order of ExecuTorch's `Tag`, runtime/core/tag.h).
enum {
  TENON_VALUE_NONE = 0,
  TENON_VALUE_TENSOR = 1,
  TENON_VALUE_STRING = 2,
  TENON_VALUE_DOUBLE = 3,
  TENON_VALUE_INT = 4,
  TENON_VALUE_BOOL = 5,
  TENON_VALUE_BOOL_LIST = 6,
  TENON_VALUE_DOUBLE_LIST = 7,
  TENON_VALUE_INT_LIST = 8,
  TENON_VALUE_TENSOR_LIST = 9,
  TENON_VALUE_SCALAR_LIST = 10,
  TENON_VALUE_OPTIONAL_TENSOR_LIST = 11
};

struct tenon_value;

/// A run of elements that the host owns.
typedef struct tenon_span {
  const void* data;
  uint64_t size;  ///< In elements.
} tenon_span;

/// One value of a program.
///
/// Lists of integers, tensors and optional tensors are lists of values, as in ExecuTorch
/// (`BoxedEvalueList`): when an instruction changes an element's value, the list sees it.
typedef struct tenon_value {
  uint32_t struct_size;
  uint32_t kind;  ///< TENON_VALUE_..., says which member of `as` is meant.
  union {
    tenon_tensor* tensor;
    int64_t integer;
    double real;
    uint8_t boolean;  ///< 0 or 1.
    /// STRING: char, not NUL-terminated. BOOL_LIST: uint8_t. DOUBLE_LIST: double. Other lists:
    /// `data` is a `const struct tenon_value* const*`, `size` pointers to values of the kind named;
    /// for OPTIONAL_TENSOR_LIST also of kind NONE.
    tenon_span span;
  } as;
} tenon_value;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_TENSOR_H
