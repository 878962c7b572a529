// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "boundary/extension_bits.hpp"
#include "tenon/abi/tensor.h"

/// The messages between an isolated plugin and its worker. Both are made from one source, and the
/// first call compares this number.
namespace tenon::isolated {

/// Another one for each list of extensions (boundary/extension_bits.hpp).
inline constexpr std::uint32_t protocol_version = 5u << 16 | number_of_list(backend_extensions);

/// Calls of the application. Numbers of delegates are the worker's.
enum class Call : std::uint32_t {
  load = 1,  ///< The plugin of the files that were added, and its backend.
  close,
  is_available,
  init,
  execute,
  destroy,
  create_session,
  check_blob,
  memory_info,
  list_devices,
  set_option,
  get_option,
  estimate,
  free_memory,
  cancel,
  set_scheduling,
  list_state,
  read_state,
  write_state,
  state_written,
  list_operators,
  create_kernel,
  run_kernel,
  destroy_kernel,
  list_intermediates,
  record_intermediates,
  allocate,
  free_block,
  copy_to_device,
  copy_to_host,
  copy_on,
  import_memory,
  release_memory,
  wait_fence,
  signal_fence,
  /// A sealed file: of a library next to the plugin, or, the last one, of the plugin. The first
  /// calls of a worker.
  add_file,
};

/// Answers of the worker, and its questions while it is called. The delegate of a question is the
/// delegate of the call.
enum class Answer : std::uint32_t {
  done = 101,  ///< The call has returned.
  log,
  permit_code,
  get_data,
  get_tensor_layout,
  get_key,
  open_prepared,
  store_prepared,
  release_prepared,
  take_intermediate,
};

/// The application's answer to a question.
inline constexpr std::uint32_t answered = 201;

/// Comes before the arguments of each call of a delegate or kernel; the processors of the pool
/// follow.
struct WireCall {
  std::uint8_t has_tracer;
  std::uint8_t has_counters;
  std::uint8_t has_flag;
  std::uint8_t has_changes;
  std::uint32_t num_threads;  ///< Of the pool; 0 without one.
  std::uint64_t num_processors;
  std::uint64_t ahead;    ///< The tracer's clock less CLOCK_MONOTONIC.
  std::uint64_t changes;  ///< Their number.
};

/// Of a tensor in a message; followed by sizes, strides and bounds, and the dim order.
struct WireTensor {
  std::int32_t scalar_type;
  std::int32_t ndim;
  tenon_dl_dtype dtype;
  std::uint32_t flags;
  std::uint32_t shape_dynamism;
  std::uint32_t has_data;
  tenon_dl_device device;
  std::uint64_t nbytes;
  std::uint64_t capacity;
  std::uint64_t memory;  ///< The number of the memory that it is in; 0 is the arena of the call.
  std::uint64_t place;   ///< There.
};

/// In place of a delegate's number: the backend as a whole.
inline constexpr std::uint64_t whole_backend = 0;

/// Most bytes of one call that copies to or from a device; of more, several are made.
inline constexpr std::uint64_t max_copy_size = std::uint64_t{1} << 28;

/// Marks a pointer that was NULL among values.
inline constexpr std::uint32_t no_value = 0xffffffff;

/// Marks an argument that is the same value as an earlier one, whose number follows.
inline constexpr std::uint32_t same_value = 0xfffffffe;

/// Changes of a tensor in a call, one bit each.
enum : std::uint8_t {
  tensor_is_resized = 1u << 0,  ///< Sizes follow.
  tensor_is_view = 1u << 1,     ///< The number of the tensor that has its bytes, and an offset.
};

/// Most lists of arguments of one delegate that both sides know; of more, they forget the oldest.
inline constexpr std::size_t max_argument_lists = 32;

/// Most dimensions of a tensor that crosses.
inline constexpr std::int32_t max_rank = 64;

/// Sizes that a worker states. The application compares each with what was agreed before it takes
/// memory: a part of a state has the size that was listed, a copy the size that was asked for, and
/// everything else one of these limits. A file that a worker sends must hold all of its bytes and
/// be sealed, so that the worker has paid for each byte first.
///
/// Most bytes of a message: texts, events, lists.
inline constexpr std::uint64_t max_message_size = std::uint64_t{16} << 20;
/// Most bytes of an intermediate.
inline constexpr std::uint64_t max_intermediate_size = std::uint64_t{1} << 29;
/// Most bytes of code, of prepared bytes, and of all parts of a state together.
inline constexpr std::uint64_t max_large_size = std::uint64_t{1} << 30;

/// The application sends it through the worker's socket.
struct NewLane {
  std::uint32_t version;  ///< `protocol_version`
};

/// The supervisor's report of a worker that has ended.
struct Ending {
  std::int32_t code;    ///< CLD_EXITED, CLD_KILLED, CLD_DUMPED or CLD_STOPPED.
  std::int32_t status;  ///< Exit code or signal.
  std::uint32_t text_size;
  char text[1024];  ///< The end of what it wrote to standard output and error.
  std::uint32_t refusals_size;
  char refusals[2048];  ///< What its profile refused.
};

/// Part of the call to `load`, one bit each: extensions of the application's host.
enum : std::uint32_t {
  host_has_cancel_flag = 1u << 0,
  host_has_prepare = 1u << 1,
  host_has_threads = 1u << 2,
  host_has_changes = 1u << 3,
  host_has_policy = 1u << 4,  ///< The host has a policy that admits libraries.
};

}  // namespace tenon::isolated
