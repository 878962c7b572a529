// SPDX-License-Identifier: MIT
//
// A method as PyTorch exported it, before any backend has seen it: the graph that ExecuTorch calls
// an edge program (torch.export.ExportedProgram; PyTorch's torch/_export/serde/schema.py). Values
// are numbered, nodes are in the order in which they run, everything is read-only. The step between
// elements of an array of structs is the `struct_size` of its first element (TN-BCK-10).

#ifndef TENON_ABI_DRAFT_EDGE_PROGRAM_H
#define TENON_ABI_DRAFT_EDGE_PROGRAM_H

#include <stdint.h>

#include "tenon/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/// In place of a value's number: no value (Python's None).
#define TENON_NO_VALUE UINT32_MAX

/// One size of a tensor. Static when `min` equals `max`.
typedef struct tenon_edge_size {
  uint32_t struct_size;
  uint32_t reserved;
  /// The symbol or expression that the size is ("s77", "2*s77"): equal text is equal size. NULL
  /// when the size is static.
  const char* expression;
  int64_t min;  ///< Smallest size at run time, 0 or more.
  int64_t max;  ///< Largest; INT64_MAX when the exporter gave no bound.
} tenon_edge_size;

// Kinds of value.
enum {
  TENON_EDGE_TENSOR = 1,
  TENON_EDGE_SYM_INT = 2,
  TENON_EDGE_SYM_FLOAT = 3,
  TENON_EDGE_SYM_BOOL = 4
};

// Where a value comes from.
enum {
  TENON_EDGE_FROM_NODE = 0,   ///< An output of a node.
  TENON_EDGE_USER_INPUT = 1,  ///< Given by the caller of the method.
  TENON_EDGE_PARAMETER = 2,
  TENON_EDGE_BUFFER = 3,    ///< Registered with the module; may be mutated.
  TENON_EDGE_CONSTANT = 4,  ///< A tensor that was lifted out of the code.
};

/// One value of the graph.
typedef struct tenon_edge_value {
  uint32_t struct_size;
  uint32_t kind;     ///< TENON_EDGE_TENSOR, ...
  uint32_t origin;   ///< TENON_EDGE_FROM_NODE, ...
  uint32_t rank;     ///< Number of `sizes` and of `dim_order`; 0 for other values.
  const char* name;  ///< Unique in the graph, NUL-terminated.

  /// Fully-qualified name in the module of a parameter, buffer or constant ("encoder.0.weight");
  /// NULL for other values.
  const char* fqn;

  /// Elements of a parameter, buffer or constant, dense in `dim_order`. NULL for other values.
  tenon_span data;

  const tenon_edge_size* sizes;  ///< Of a SYM_INT: one, the range of the number.
  const uint8_t* dim_order;      ///< Dimensions from outermost to innermost in memory.
  int8_t scalar_type;            ///< ExecuTorch's ScalarType; of tensors only.
  uint8_t reserved[3];
  tenon_dl_device device;
  uint32_t reserved2;
} tenon_edge_value;

// Kinds of a node's argument. Lists have `count` elements.
enum {
  TENON_EDGE_ARG_NONE = 0,
  TENON_EDGE_ARG_VALUE = 1,           ///< `as.value`: a tensor, or a symbolic number.
  TENON_EDGE_ARG_VALUES = 2,          ///< `as.values`; TENON_NO_VALUE for None.
  TENON_EDGE_ARG_BOOL = 3,            ///< `as.boolean`
  TENON_EDGE_ARG_INT = 4,             ///< `as.integer`
  TENON_EDGE_ARG_DOUBLE = 5,          ///< `as.real`
  TENON_EDGE_ARG_STRING = 6,          ///< `as.string`, NUL-terminated.
  TENON_EDGE_ARG_BOOLS = 7,           ///< `as.booleans`
  TENON_EDGE_ARG_INTS = 8,            ///< `as.integers`, and `symbols`.
  TENON_EDGE_ARG_DOUBLES = 9,         ///< `as.reals`
  TENON_EDGE_ARG_SCALAR_TYPE = 10,    ///< `as.integer`: ExecuTorch's ScalarType.
  TENON_EDGE_ARG_LAYOUT = 11,         ///< `as.integer`: PyTorch's Layout; 0 is strided.
  TENON_EDGE_ARG_MEMORY_FORMAT = 12,  ///< `as.integer`: PyTorch's MemoryFormat.
  TENON_EDGE_ARG_DEVICE = 13,         ///< `as.device`
};

/// One argument of a node. Those that equal the default of the operator's schema may be left out.
typedef struct tenon_edge_argument {
  uint32_t struct_size;
  uint32_t kind;     ///< TENON_EDGE_ARG_NONE, ...
  const char* name;  ///< The parameter's name in the operator's schema ("self", "other").
  /// Of INTS: the values in place of integers, TENON_NO_VALUE where an integer is meant.
  /// NULL when all are integers.
  const uint32_t* symbols;
  uint32_t count;  ///< Elements of a list.
  uint32_t reserved;
  union {
    uint32_t value;
    uint8_t boolean;
    int64_t integer;
    double real;
    const char* string;
    const uint32_t* values;
    const uint8_t* booleans;
    const int64_t* integers;
    const double* reals;
    tenon_dl_device device;
  } as;
} tenon_edge_argument;

/// One call of an operator.
typedef struct tenon_edge_node {
  uint32_t struct_size;
  /// Names this node in events of the tracer and in the debug handle map. ExecuTorch's exporter
  /// gives one number to all nodes that it made of one (DebugHandleGeneratorPass).
  uint32_t debug_handle;
  const char* name;    ///< Unique in the graph.
  const char* target;  ///< The operator with its overload, as PyTorch says it: "aten.add.Tensor".
  const char* module_path;  ///< The module that called it ("encoder.0"); NULL when unknown.
  const tenon_edge_argument* arguments;
  const uint32_t* outputs;  ///< Numbers of the values that the node makes.
  uint32_t num_arguments;
  uint32_t num_outputs;
} tenon_edge_node;

// Kinds of an output of the method.
enum {
  TENON_EDGE_USER_OUTPUT = 0,
  TENON_EDGE_BUFFER_MUTATION = 1,      ///< New content of buffer `target`.
  TENON_EDGE_USER_INPUT_MUTATION = 2,  ///< New content of user input `target`.
};

/// One output of the method.
typedef struct tenon_edge_output {
  uint32_t struct_size;
  uint32_t kind;    ///< TENON_EDGE_USER_OUTPUT, ...
  uint32_t value;   ///< Number of the value.
  uint32_t target;  ///< The mutated value; TENON_NO_VALUE for a user output.
} tenon_edge_output;

/// One method, or the part of one that a backend is to compile.
typedef struct tenon_edge_program {
  uint32_t struct_size;
  uint32_t num_values;
  const char* method_name;  ///< "forward"
  const tenon_edge_value* values;
  const tenon_edge_node* nodes;  ///< Each reads only inputs and results of earlier nodes.
  /// User inputs in the order of the call. Of a part: the first arguments of `execute`.
  const uint32_t* inputs;
  /// Of a part: the arguments of `execute` after the inputs, without mutations of buffers that it
  /// keeps.
  const tenon_edge_output* outputs;
  uint32_t num_nodes;
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t reserved;
} tenon_edge_program;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_EDGE_PROGRAM_H
