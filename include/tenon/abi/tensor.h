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
  TENON_DL_FLOAT8_E4M3FN = 10,
  TENON_DL_FLOAT8_E4M3FNUZ = 11,
  TENON_DL_FLOAT8_E5M2 = 12,
  TENON_DL_FLOAT8_E5M2FNUZ = 13
};

// DLPack device types (DLDeviceType of dlpack.h 1.1).
enum { TENON_DL_CPU = 1, TENON_DL_CUDA = 2, TENON_DL_METAL = 8 };

/// Layout of DLPack's `DLDataType`. The tensors of a program have elements of one lane.
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
  int64_t* strides;  ///< `ndim` strides, in elements; never NULL when `ndim` > 0.
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
///             `resize_tensor`.
///   TN-TEN-5  A plugin MUST find the first element `byte_offset` bytes after `data`, or refuse the
///             call.
///   TN-TEN-6  A plugin MUST find the other elements by the strides, or refuse a call with a
///             `dim_order` that it does not take.
///   TN-TEN-7  The host MUST give a tensor strides that are dense in `dim_order` (a size of 0
///             counts as 1), a `dtype` and a `scalar_type` of one meaning, and one lane.
typedef struct tenon_tensor {
  uint32_t struct_size;
  int32_t scalar_type;  ///< ExecuTorch's ScalarType number.
  tenon_dl_tensor dl;
  const uint8_t* dim_order;  ///< `ndim` dimensions from outermost to innermost.
  const int64_t* bounds;     ///< `ndim` largest sizes; equal to the sizes when the shape is static.
  uint64_t nbytes;           ///< Bytes of the current sizes.
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
    tenon_span span;  ///< STRING: char, not NUL-terminated. BOOL_LIST: uint8_t. DOUBLE_LIST:
                      ///< double. Other lists: `const struct tenon_value*`, elements of the kind
                      ///< named; for OPTIONAL_TENSOR_LIST also of kind NONE.
  } as;
} tenon_value;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_TENSOR_H
