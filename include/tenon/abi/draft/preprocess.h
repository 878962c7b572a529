// SPDX-License-Identifier: MIT
//
// Extension "tenon.preprocess/1" of a backend: its ahead-of-time half, so that one tool
// compiles for any plugin. The functions have the meaning that ExecuTorch's BackendDetails and
// Partitioner give them (exir/backend/backend_details.py, partitioner.py). A draft: it may change
// with a new number.

#ifndef TENON_ABI_DRAFT_PREPROCESS_H
#define TENON_ABI_DRAFT_PREPROCESS_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/draft/edge_program.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENON_EXTENSION_PREPROCESS "tenon.preprocess/1"

/// Takes one text. The text is valid during the call. A failure is to be returned at once.
///
/// [any] Inside the call that it was given to.
typedef tenon_status(TENON_CALL* tenon_text_sink)(void* context, const char* text);

/// Receives the result of `partition`. Arguments are copied before the function returns. A failure
/// must be returned at once. One call at a time.
typedef struct tenon_partition_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;

  /// Declares partition `tag` with the compile specs that `preprocess` is to get for it. Each tag
  /// once, before it is put on a node.
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* add_partition)(void* context, const char* tag,
                                          const tenon_compile_spec* specs, uint32_t num_specs);

  /// Gives node number `node` to partition `tag`. At most once for each node.
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* tag_node)(void* context, uint32_t node, const char* tag);

  /// Lets partition `tag` keep parameter, buffer or constant number `value`: the partition gets its
  /// data ahead of time. A value without a tag is an argument of each call. At most once for each
  /// value.
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* tag_value)(void* context, uint32_t value, const char* tag);
} tenon_partition_sink;

/// One partition to compile. `execute` will get `program->inputs`, then the user outputs among
/// `program->outputs`. A mutation there is of a buffer that the partition keeps.
typedef struct tenon_partition {
  uint32_t struct_size;
  uint32_t num_compile_specs;
  const tenon_edge_program* program;
  const tenon_compile_spec* compile_specs;
} tenon_partition;

/// Data that a blob needs in addition, found at run time by key in the named data map.
typedef struct tenon_named_data {
  uint32_t struct_size;
  uint32_t alignment;  ///< Bytes, 1 or more; the data is stored at a multiple of it.
  const char* key;
  const void* data;
  uint64_t nbytes;
  /// Name of the data's `.ptd` file, without its ending; NULL: the data is stored in the program.
  const char* external_tag;
  const tenon_tensor_layout* tensor_layout;  ///< NULL when the data is not a tensor.
} tenon_named_data;

/// Receives the results of `preprocess`. `partition` is the partition's number in the call.
/// Arguments are copied before the function returns. A failure must be returned at once. One call
/// at a time.
typedef struct tenon_preprocess_sink {
  uint32_t struct_size;
  uint32_t reserved;
  void* context;

  /// The blob: `init` will get these bytes. Once for each partition.
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* set_processed)(void* context, uint32_t partition, const void* data,
                                          uint64_t nbytes);

  /// The nodes of one of the delegate's own events. Events are named by `name`, or by `id` when
  /// `name` is NULL; a partition uses one of the two.
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* add_debug_handles)(void* context, uint32_t partition, const char* name,
                                              int64_t id, const uint32_t* handles,
                                              uint32_t num_handles);

  /// The same key twice is accepted when the bytes are equal.
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* add_named_data)(void* context, uint32_t partition,
                                           const tenon_named_data* data);

  /// One line about the partition for people ("3 kernels, 12 KiB of scratch").
  ///
  /// [any] Inside the call that got the sink.
  tenon_status(TENON_CALL* set_delegate_info)(void* context, uint32_t partition, const char* text);
} tenon_preprocess_sink;

/// The ahead-of-time half of a backend.
///
///   TN-AOT-1  The functions of this table MUST NOT need the device.
///   TN-AOT-2  The same programs and compile specs MUST give the same partitions and the same
///             bytes.
///   TN-AOT-3  What `preprocess` makes MUST be accepted by `init` of the same plugin.
///   TN-AOT-4  A program that the backend cannot compile MUST be refused with a failure whose text
///             names the node or the value; nothing of it is left out.
///   TN-AOT-5  `partition` MUST give the backend only nodes that `preprocess` then compiles.
///   TN-AOT-6  The functions of this table MUST NOT change the programs, weights and compile specs
///             that they are given.
typedef struct tenon_preprocess_v1 {
  uint32_t struct_size;
  uint32_t reserved;

  /// Chooses the nodes that the backend takes. Nodes of one tag become one delegate, and must be
  /// convex: no path leaves the partition and enters it again. The caller chooses `options`. Values
  /// may be without `data`.
  tenon_status(TENON_CALL* partition)(tenon_backend* backend, const tenon_edge_program* program,
                                      const tenon_compile_spec* options, uint32_t num_options,
                                      const tenon_partition_sink* sink);

  /// Names the operators ("aten.linear.default") that the exporter should not decompose for this
  /// backend, of those that are in `program`.
  tenon_status(TENON_CALL* ops_to_not_decompose)(tenon_backend* backend,
                                                 const tenon_edge_program* program,
                                                 tenon_text_sink sink, void* context);

  /// Compiles partitions: all of one program at once, also those of different methods, so that
  /// they may share data.
  tenon_status(TENON_CALL* preprocess)(tenon_backend* backend, const tenon_partition* partitions,
                                       uint32_t num_partitions, const tenon_preprocess_sink* sink);
} tenon_preprocess_v1;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_DRAFT_PREPROCESS_H
