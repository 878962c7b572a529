// SPDX-License-Identifier: MIT
//
// Made by `./dev rules` from include/tenon/abi; a test holds it equal to them.
#pragma once

#include <string_view>

#include "tenon/abi/version.h"

namespace tenon::inline TENON_RELEASE::conformance {

/// One numbered rule of the boundary.
struct Rule {
  std::string_view id;        ///< "TN-EXE-2".
  std::string_view sentence;  ///< "`execute` MUST NOT write to an input."
  std::string_view source;    ///< Its place: "tenon/abi/backend.h: tenon_backend_api.execute".
};

namespace detail {
// clang-format off
inline constexpr Rule rule_table[] = {
    {"TN-COD-1", "A backend that runs code from a program MUST have RUNS_EMBEDDED_CODE in its "
                 "record and MUST ask `permit_code` in each `init`, before it maps that code.",
                 "tenon/abi/backend.h: tenon_init_context.permit_code"},
    {"TN-COD-2", "The code that a backend maps MUST be the bytes that it asked `permit_code` for, "
                 "and it MUST ask for all of them.",
                 "tenon/abi/backend.h: tenon_init_context.permit_code"},
    {"TN-COD-3", "When `permit_code` answers with a failure, `init` MUST map nothing and MUST "
                 "return that failure. The host has kept its reason like `set_last_error`; the "
                 "plugin need not set one.",
                 "tenon/abi/backend.h: tenon_init_context.permit_code"},
    {"TN-BCK-1", "A function MUST NOT let a C++ exception or a `longjmp` cross the boundary.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-2", "What a plugin allocated MUST be freed by the plugin, what the host allocated by "
                 "the host.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-3", "`tenon_backend_api.struct_size` MUST be the size of the table as it was "
                 "compiled into the plugin. A function beyond it, or a NULL one, is answered by "
                 "the host with NOT_IMPLEMENTED; `open`, `close`, `init`, `execute` and `destroy` "
                 "are required.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-7", "A function MUST NOT end the process or the thread, whatever its arguments: no "
                 "crash, no `abort`, no `exit`, no overflow of a stack of 256 KiB.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-8", "Every function MUST return by itself, without another call into the plugin.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-9", "Calls that a function's brackets allow at the same time (abi/tenon.h) MUST NOT "
                 "disturb each other.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-10", "A function MUST take the `struct_size` of the first element as the step "
                  "between the elements of an array of structs: the other side may know a larger "
                  "struct.",
                  "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-11", "The host MUST walk the arrays of a plugin by that step, too.",
                  "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-PRC-1", "A plugin MUST NOT change the locale.", "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-PRC-2", "A plugin MUST NOT change what is done on a signal, or which ones a thread "
                 "blocks.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-PRC-3", "A function MUST NOT change the floating-point environment: rounding, traps, how "
                 "subnormal numbers are treated. Flags that an operation raises are no change.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-PRC-4", "A plugin MUST NOT change the current working directory, the environment's "
                 "variables or the mask for new files.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-PRC-5", "A plugin MUST NOT use the standard streams, or a descriptor that it did not "
                 "open; `tenon_host.log` is for what it has to say.",
                 "tenon/abi/backend.h: tenon_backend_api"},
    {"TN-BCK-4", "A backend MUST refuse a host it cannot work with by NOT_SUPPORTED and a text "
                 "that names both ABI versions.",
                 "tenon/abi/backend.h: tenon_backend_api.open"},
    {"TN-BCK-5", "After the last `close` the plugin MUST hold nothing: no thread, no memory, no "
                 "descriptor, no mapping, no process, no file, so that it can be unloaded. "
                 "Excepted are libraries of a driver that its author names, and what those hold.",
                 "tenon/abi/backend.h: tenon_backend_api.close"},
    {"TN-BCK-6", "`is_available` MUST report the truth on a machine without the device, and MUST "
                 "NOT crash there. `init` MUST fail there, whether or not the host has asked.",
                 "tenon/abi/backend.h: tenon_backend_api.is_available"},
    {"TN-INI-1", "On failure `init` MUST leave nothing behind; `destroy` is not called then.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-2", "A payload of a version that the backend does not know MUST be refused with "
                 "DELEGATE_INVALID_COMPATIBILITY, naming the version found and those expected.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-3", "`init` MUST NOT keep `context`, the arrays and the name it points to, or the "
                 "keys and values of their elements. `processed`, the host, the named data map, "
                 "and memory from the runtime allocator may be kept until `destroy`.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-4", "On success `init` MUST write `*out`; NULL is a valid delegate.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-5", "`init` MUST NOT read outside of `processed`, and MUST NOT write to it, whatever "
                 "bytes are in it.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-6", "`init` MUST fail when the host gives it no memory or no data that it asked for, "
                 "and the next `init` MUST succeed.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-7", "`init` MUST load a blob that was made for the backend.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-INI-8", "Blobs that were loaded and destroyed before MUST NOT change whether `init` "
                 "succeeds, or the outputs of its delegate.",
                 "tenon/abi/backend.h: tenon_backend_api.init"},
    {"TN-EXE-1", "`execute` MUST accept any number of calls between `init` and `destroy`.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-2", "`execute` MUST NOT write to an input.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-3", "After a failure of `execute` the outputs are unspecified, and the next call "
                 "with good arguments MUST succeed. Arguments that are refused leave the state of "
                 "the delegate as it was; after any other failure the state is unspecified, too.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-4", "When `execute` returns, the outputs MUST be complete, unless the caller agreed "
                 "otherwise through an extension.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-5", "Arguments of the wrong number, kind, dtype (its lanes, too), rank or size, and "
                 "on a device that the backend does not list, MUST be refused with a failure, "
                 "never read or written out of bounds.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-6", "`execute` MUST write every element of each output, and nothing outside of the "
                 "elements.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-7", "The outputs of `execute` MUST be those of the program that was lowered, within "
                 "the tolerance that the author states.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-8", "The same inputs in the same state MUST give the same outputs, bit for bit, "
                 "unless the author states otherwise.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-9", "A delegate MUST NOT hold more after many runs than after a few.",
                 "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-10", "`execute` MUST accept every size from 0 up to the bounds of a dynamic shape "
                  "for which the program was lowered.",
                  "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-11", "Runs with other sizes MUST NOT change the outputs of later ones: the same "
                  "inputs in the same state give the same outputs, bit for bit, unless the author "
                  "states otherwise.",
                  "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-EXE-12", "An output MUST NOT have NaN where the output of the program that was lowered "
                  "has a number, and MUST NOT be 0 in all elements where that output is not, "
                  "whatever the tolerance.",
                  "tenon/abi/backend.h: tenon_backend_api.execute"},
    {"TN-DES-1", "`destroy` MUST NOT disturb any other delegate.",
                 "tenon/abi/backend.h: tenon_backend_api.destroy"},
    {"TN-DES-2", "`destroy` MUST accept NULL when `init` gave NULL.",
                 "tenon/abi/backend.h: tenon_backend_api.destroy"},
    {"TN-DES-3", "`destroy` MUST give back all that `init` and `execute` took for the delegate, "
                 "also when the last `execute` failed.",
                 "tenon/abi/backend.h: tenon_backend_api.destroy"},
    {"TN-EXT-1", "`get_extension` MUST answer an id that it does not know with NULL, and the same "
                 "id always with the same table, whose `struct_size` is its size as it was "
                 "compiled into the plugin.",
                 "tenon/abi/backend.h: tenon_backend_api.get_extension"},
    {"TN-AEX-1", "`fallback_kernels` MUST name functions that `serves` finds, each once.",
                 "tenon/abi/draft/aoti_export.h: tenon_aoti_export_v1"},
    {"TN-AEX-2", "`fallback_kernels` MUST name the same functions as the list by which the "
                 "exporter lets operators through.",
                 "tenon/abi/draft/aoti_export.h: tenon_aoti_export_v1"},
    {"TN-AEX-3", "`device_name` and `torch_device` MUST not be empty; `decompositions` and "
                 "`compile_options` MUST be JSON objects.",
                 "tenon/abi/draft/aoti_export.h: tenon_aoti_export_v1"},
    {"TN-EXM-1", "A kind of memory or fence that the table does not list MUST be refused with "
                 "NOT_SUPPORTED and a text.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1"},
    {"TN-EXM-2", "Memory MUST be refused that is not what the struct says, with INVALID_ARGUMENT: "
                 "a range that the object does not have, an object that another process could "
                 "make smaller, a descriptor of another kind, write access to memory that refuses "
                 "it.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.import_memory"},
    {"TN-EXM-3", "A call MUST leave the caller's descriptor open, and `release_memory` MUST leave "
                 "nothing of the memory in the process.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.import_memory"},
    {"TN-EXM-4", "`execute` MUST read the bytes that are there when it runs, and MUST write to "
                 "the memory itself, as it does with other memory of the same device.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.import_memory"},
    {"TN-EXM-5", "Memory without TENON_EXTERNAL_WRITE MUST NOT be written, whatever is done with "
                 "its address.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.import_memory"},
    {"TN-EXM-6", "A host MUST release each imported memory before `close`, after the last run "
                 "that has its address.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.release_memory"},
    {"TN-EXM-7", "A run MUST NOT begin before each fence that `wait_fence` named is signalled.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.wait_fence"},
    {"TN-EXM-8", "`fence` MUST be signalled once the runs so far are done, and MUST NOT be before.",
                 "tenon/abi/draft/external_memory.h: tenon_external_memory_v1.signal_fence"},
    {"TN-INT-1", "`list` MUST add each handle once, with a number that is not negative.",
                 "tenon/abi/draft/intermediates.h: tenon_intermediates_v1.list"},
    {"TN-INT-2", "A call of `execute` that succeeds MUST give each intermediate that was asked "
                 "for, and no other one. The tensor MUST be whole: as a tensor in an argument "
                 "(abi/tensor.h), with data, and with the bytes of its sizes.",
                 "tenon/abi/draft/intermediates.h: tenon_intermediates_v1.record"},
    {"TN-INT-3", "Its bytes MUST be what this call computed, and equal for equal inputs as far as "
                 "outputs are.",
                 "tenon/abi/draft/intermediates.h: tenon_intermediates_v1.record"},
    {"TN-INT-4", "Outputs MUST be those of a call that gives nothing.",
                 "tenon/abi/draft/intermediates.h: tenon_intermediates_v1.record"},
    {"TN-INT-5", "`record` MUST fail with NOT_FOUND for a handle that `list` does not add, and "
                 "then change nothing.",
                 "tenon/abi/draft/intermediates.h: tenon_intermediates_v1.record"},
    {"TN-AOT-1", "The functions of this table MUST NOT need the device.",
                 "tenon/abi/draft/preprocess.h: tenon_preprocess_v1"},
    {"TN-AOT-2", "The same programs and compile specs MUST give the same partitions and the same "
                 "bytes.",
                 "tenon/abi/draft/preprocess.h: tenon_preprocess_v1"},
    {"TN-AOT-3", "What `preprocess` makes MUST be accepted by `init` of the same plugin.",
                 "tenon/abi/draft/preprocess.h: tenon_preprocess_v1"},
    {"TN-AOT-4", "A program that the backend cannot compile MUST be refused with a failure whose "
                 "text names the node or the value; nothing of it is left out.",
                 "tenon/abi/draft/preprocess.h: tenon_preprocess_v1"},
    {"TN-AOT-5", "`partition` MUST give the backend only nodes that `preprocess` then compiles.",
                 "tenon/abi/draft/preprocess.h: tenon_preprocess_v1"},
    {"TN-AOT-6", "The functions of this table MUST NOT change the programs, weights and compile "
                 "specs that they are given.",
                 "tenon/abi/draft/preprocess.h: tenon_preprocess_v1"},
    {"TN-SEQ-1", "`list` MUST add the same parts in each call, and for each delegate of one blob, "
                 "also in another process: equal sizes and names in one order, each name once.",
                 "tenon/abi/draft/sequence.h: tenon_sequence_v1.list"},
    {"TN-SEQ-2", "The parts MUST be all that a call of `execute` leaves for later ones: with the "
                 "bytes that they had before a call, `execute` computes again what that call did.",
                 "tenon/abi/draft/sequence.h: tenon_sequence_v1.list"},
    {"TN-SEQ-3", "The bytes MUST mean the same to each delegate of the blob, in another process, "
                 "too: they have no addresses, and refer to nothing that one delegate alone has.",
                 "tenon/abi/draft/sequence.h: tenon_sequence_v1.list"},
    {"TN-SEQ-4", "Outside of `execute`, nothing but the host MUST change the bytes of a delegate; "
                 "neither does `execute` of another one.",
                 "tenon/abi/draft/sequence.h: tenon_sequence_v1.list"},
    {"TN-CAN-1", "A call of `execute` that was cancelled MUST return, with CANCELLED or, when it "
                 "was complete all the same, with OK, within the time that the author states.",
                 "tenon/abi/extensions/cancel.h: tenon_cancel_v1.cancel"},
    {"TN-CAN-2", "`cancel` MUST return without waiting for the call that it ends, and have no "
                 "effect outside of the calls of `execute` of a run, also not on later ones.",
                 "tenon/abi/extensions/cancel.h: tenon_cancel_v1.cancel"},
    {"TN-CAN-3", "After a run that was cancelled the next one MUST be as after any other failure "
                 "of `execute`: it succeeds, and nothing more is held.",
                 "tenon/abi/extensions/cancel.h: tenon_cancel_v1.cancel"},
    {"TN-BLB-1", "`check_blob` MUST NOT need the device, and MUST NOT release `processed`.",
                 "tenon/abi/extensions/check_blob.h: tenon_check_blob_v1.check_blob"},
    {"TN-BLB-2", "For a blob that `init` loads with the same context, `check_blob` MUST give a "
                 "verdict other than INCOMPATIBLE.",
                 "tenon/abi/extensions/check_blob.h: tenon_check_blob_v1.check_blob"},
    {"TN-BLB-3", "`check_blob` MUST call INCOMPATIBLE: a blob that `init` refuses with "
                 "DELEGATE_INVALID_COMPATIBILITY, and bytes that were not made for the backend. "
                 "Other damage may be left to `init`.",
                 "tenon/abi/extensions/check_blob.h: tenon_check_blob_v1.check_blob"},
    {"TN-COD-4", "`check_blob` MUST NOT map code of the program; a host that is asked for it "
                 "refuses.",
                 "tenon/abi/extensions/check_blob.h: tenon_check_blob_v1.check_blob"},
    {"TN-DEV-1", "A backend MUST serve each device that its \"tenon.devices/1\" lists, and MUST "
                 "refuse any other with INVALID_ARGUMENT and a text that names the device.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1"},
    {"TN-DEV-2", "A host MUST NOT read or write a block of device memory through its address. It "
                 "may add to the address as if the block were an array of bytes.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1"},
    {"TN-DEV-3", "`execute` MUST accept an address inside a block of device memory as the data of "
                 "a tensor whose `dl.device` is the block's.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1"},
    {"TN-DEV-4", "A host MUST ask for a block of 1 byte or more, and for an alignment that is a "
                 "power of two.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.allocate"},
    {"TN-DEV-5", "The address of a new block MUST be a multiple of `alignment` and not NULL. If "
                 "memory is exhausted, `allocate` MUST return MEMORY_ALLOCATION_FAILED and keep "
                 "nothing.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.allocate"},
    {"TN-DEV-6", "A host MUST free every block of device memory before `close`, with the device "
                 "that it was made for, and after the delegates that were given addresses inside "
                 "it.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.free"},
    {"TN-DEV-7", "A copy to or from a device MUST come after everything that earlier calls of "
                 "`execute` enqueued on the device, also on a caller's stream "
                 "(\"tenon.streams/1\").",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.copy_to_device"},
    {"TN-DEV-8", "A copy to or from a device MUST be complete when it returns, and an `execute` "
                 "called later MUST see its bytes. After a failure the destination is unspecified.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.copy_to_device"},
    {"TN-DEV-9", "A complete copy of `copy_on` MUST have the bytes of its source, and leave the "
                 "source and all bytes around the destination as they were.",
                 "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.copy_on"},
    {"TN-DEV-10", "A copy on a stream MUST come after all that was enqueued there before, and "
                  "before what is enqueued there later.",
                  "tenon/abi/extensions/device_memory.h: tenon_device_memory_v1.copy_on"},
    {"TN-IDN-1", "The identity of a device MUST be NUL-terminated, the same in each call, and not "
                 "that of another device of the backend, unless it is empty.",
                 "tenon/abi/extensions/devices.h: tenon_device_info"},
    {"TN-EST-1", "`estimate` MUST NOT need the device, MUST NOT release `processed`, MUST hold "
                 "nothing more after it has returned, and MUST give each use a `kind` in UTF-8 "
                 "without control characters.",
                 "tenon/abi/extensions/estimate.h: tenon_estimate_v1.estimate"},
    {"TN-EST-2", "A delegate MUST NOT hold more memory than was estimated, times the factor that "
                 "its author states.",
                 "tenon/abi/extensions/estimate.h: tenon_estimate_v1.estimate"},
    {"TN-EST-3", "An estimate MUST NOT be more than what a delegate holds after its runs, times "
                 "the factor that its author states.",
                 "tenon/abi/extensions/estimate.h: tenon_estimate_v1.estimate"},
    {"TN-EVT-1", "Every function of the table MUST be there, except that `export_handle` and "
                 "`import_handle` are NULL exactly when `kind` is, and that `on_complete` may be "
                 "NULL.",
                 "tenon/abi/extensions/events.h: tenon_events_v1"},
    {"TN-EVT-2", "A failure of `start` MUST leave no work behind.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-3", "`start` MUST give the outputs their sizes, and write values that are no "
                 "tensors, before it returns.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-4", "The outputs MUST be complete, in the host's memory as well, when an event that "
                 "was recorded after `start` is complete.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-5", "After that event is complete the plugin MUST NOT read or write the bytes of the "
                 "arguments, nor call the host for the run.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-6", "A run MUST fulfil the rules of `execute`, with that event in place of its "
                 "return.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-7", "A host MUST keep the bytes of all arguments valid, and those of inputs "
                 "unchanged, until that event is complete.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-14", "`destroy` of a delegate MUST NOT return before what was started on it is done.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.start"},
    {"TN-EVT-8", "A run that fails after `start` MUST fail, once it is complete, each `wait` for "
                 "an event that was recorded before the next run was started, with a text. The "
                 "next run with good arguments MUST succeed.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.wait"},
    {"TN-EVT-15", "A `wait` whose limit passes MUST leave `event` and what it marks as they were. "
                  "An event that is complete, and a `wait` without limit, MUST NOT be TIMED_OUT.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.wait"},
    {"TN-EVT-9", "`query` MUST report an event as complete that was not recorded, or that `wait` "
                 "has returned for.",
                 "tenon/abi/extensions/events.h: tenon_events_v1.query"},
    {"TN-EVT-10", "A run MUST NOT begin before each event that `wait_on` named is complete, also "
                  "when such an event has been destroyed or recorded again. It begins also when "
                  "what the event marks has failed.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.wait_on"},
    {"TN-EVT-11", "`import_handle` MUST refuse a handle that is NULL with INVALID_ARGUMENT.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.import_handle"},
    {"TN-EVT-12", "`destroy_event` MUST NOT disturb the run that it marks.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.destroy_event"},
    {"TN-EVT-13", "A host MUST destroy every event before `close`.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.destroy_event"},
    {"TN-EVT-16", "`function` MUST be called exactly once for an `on_complete` that succeeds, and "
                  "never for one that fails. It may be called inside of `on_complete`.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.on_complete"},
    {"TN-EVT-17", "`function` MUST NOT be called before `event` is complete.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.on_complete"},
    {"TN-EVT-18", "A host MUST NOT call the backend in `function`, nor wait there for a thread "
                  "that does: drivers allow no more (CUDA's host functions call nothing of CUDA).",
                  "tenon/abi/extensions/events.h: tenon_events_v1.on_complete"},
    {"TN-EVT-19", "A host MUST NOT record or destroy `event` before `function` is called, and "
                  "MUST keep `data` valid until then. It may destroy `event` while `function` "
                  "returns.",
                  "tenon/abi/extensions/events.h: tenon_events_v1.on_complete"},
    {"TN-KRN-1", "A backend MUST have TENON_BACKEND_OFFERS_KERNELS in its record exactly when it "
                 "has this extension.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1"},
    {"TN-KRN-6", "`list_operators` MUST pass each name once, in the same order each time, and "
                 "none that is empty.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.list_operators"},
    {"TN-KRN-2", "`create_kernel` MUST answer an operator that `list_operators` does not name, "
                 "and dtypes or dim orders that no kernel of the operator is for, with "
                 "OPERATOR_MISSING and a text that names the operator.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.create_kernel"},
    {"TN-KRN-3", "Arguments of the wrong number or kind MUST be refused with INVALID_ARGUMENT or "
                 "INVALID_TYPE, by `create_kernel` or by `run_kernel`.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.create_kernel"},
    {"TN-KRN-7", "On success `create_kernel` MUST write `*out`, which is not NULL. On failure it "
                 "MUST leave nothing behind; `destroy_kernel` is not called then.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.create_kernel"},
    {"TN-KRN-4", "A kernel MUST accept any number of runs, also after one that failed.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.run_kernel"},
    {"TN-KRN-5", "A host MUST destroy every kernel before `close`.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.destroy_kernel"},
    {"TN-KRN-8", "`destroy_kernel` MUST give back all that `create_kernel` and `run_kernel` took "
                 "for the kernel, also when the last run failed.",
                 "tenon/abi/extensions/kernels.h: tenon_kernels_v1.destroy_kernel"},
    {"TN-MEM-1", "`memory_info` MUST give each use a `kind` in UTF-8 without control characters, "
                 "and MUST report memory on TENON_DL_CPU or on devices that the backend lists: on "
                 "the CPU, of all delegates and of NULL together, no more bytes than the process "
                 "has mapped; on a device, no more than its `memory_bytes`.",
                 "tenon/abi/extensions/memory_info.h: tenon_memory_info_v1.memory_info"},
    {"TN-OPT-3", "An option of one load MUST NOT change another load, or the value that "
                 "`get_option` gives.",
                 "tenon/abi/extensions/options.h: tenon_options_v1"},
    {"TN-OPT-5", "`set_option`, `init` and `create_session` MUST refuse a value that the option's "
                 "declaration excludes (`minimum`, `maximum`, `choices`) with INVALID_ARGUMENT "
                 "and a text that names the key; nothing changes then. `create_session` may "
                 "refuse it with NOT_SUPPORTED instead.",
                 "tenon/abi/extensions/options.h: tenon_options_v1"},
    {"TN-OPT-1", "`set_option` MUST refuse an unknown key with NOT_FOUND, a value of the wrong "
                 "type with INVALID_TYPE, a key that cannot be set this way with NOT_SUPPORTED; "
                 "nothing changes then. The text names the key, and what was expected and found.",
                 "tenon/abi/extensions/options.h: tenon_options_v1.set_option"},
    {"TN-OPT-4", "`set_option` MUST NOT change the outputs of a delegate that is loaded.",
                 "tenon/abi/extensions/options.h: tenon_options_v1.set_option"},
    {"TN-OPT-2", "`get_option` MUST call `sink` exactly once on success and not at all on "
                 "failure; an unknown key is NOT_FOUND.",
                 "tenon/abi/extensions/options.h: tenon_options_v1.get_option"},
    {"TN-PRP-1", "The outputs MUST be the same, bit for bit unless the author states otherwise, "
                 "whether or not bytes were found.",
                 "tenon/abi/extensions/prepare.h: tenon_prepared"},
    {"TN-PRP-2", "A plugin MUST release what `open` gave, before the last `destroy` of the "
                 "delegate and its sessions returns, and before `init` does when it fails.",
                 "tenon/abi/extensions/prepare.h: tenon_prepared"},
    {"TN-PRP-3", "A failure of `open` or of `store` MUST NOT make a call of the plugin fail.",
                 "tenon/abi/extensions/prepare.h: tenon_prepared"},
    {"TN-PRP-4", "What was found MUST be used: a load with the same blob, compile specs and "
                 "options MUST open with the same identity, and MUST NOT store what it could have "
                 "found.",
                 "tenon/abi/extensions/prepare.h: tenon_prepared"},
    {"TN-SCH-1", "`init` MUST accept every scheduling: a value that the backend does not know, or "
                 "cannot follow, counts as 0.",
                 "tenon/abi/extensions/scheduling.h: tenon_scheduling"},
    {"TN-SCH-2", "A scheduling MUST NOT change what is computed: the outputs are those of the "
                 "program that was lowered, within the tolerance that the author states.",
                 "tenon/abi/extensions/scheduling.h: tenon_scheduling"},
    {"TN-SCH-3", "A failure of `set_scheduling` MUST leave the delegate as it was, and values "
                 "that it does not know MUST count as 0.",
                 "tenon/abi/extensions/scheduling.h: tenon_scheduling_v1.set_scheduling"},
    {"TN-SES-1", "A new session MUST have the options of `context` and, with a `state` of NULL, "
                 "the state that `init` gave, whatever ran on the delegate before.",
                 "tenon/abi/extensions/sessions.h: tenon_sessions_v1.create_session"},
    {"TN-SES-2", "Executing a session MUST NOT change the state of the delegate that it was made "
                 "of, or of another session, nor the other way round.",
                 "tenon/abi/extensions/sessions.h: tenon_sessions_v1.create_session"},
    {"TN-SES-3", "A host MUST destroy sessions before the delegate that they were made of.",
                 "tenon/abi/extensions/sessions.h: tenon_sessions_v1.create_session"},
    {"TN-SES-4", "With another `state`, a new session MUST begin with the state that this "
                 "delegate has now, which it MUST NOT change. A backend that cannot copy a state "
                 "MUST refuse it with NOT_SUPPORTED.",
                 "tenon/abi/extensions/sessions.h: tenon_sessions_v1.create_session"},
    {"TN-STR-6", "`kind` MUST be a text of abi/native_handle.h, or begin with a vendor's name and "
                 "a dot.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.kind"},
    {"TN-STR-7", "A host that is given a stream of another kind MUST refuse it, and MUST NOT pass "
                 "it to the backend.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.kind"},
    {"TN-STR-1", "A failure of `set_stream` MUST leave the delegate on the stream that it had. A "
                 "delegate that cannot run on a stream of the application is NOT_SUPPORTED, with "
                 "the reason.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.set_stream"},
    {"TN-STR-2", "When `execute` returns, inputs in host memory MUST have been read and outputs "
                 "in host memory MUST be complete, also on the caller's stream.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.set_stream"},
    {"TN-STR-3", "Work that was enqueued before `set_stream`, on the old or the new stream, MUST "
                 "come before work that later calls of `execute` enqueue for the delegate.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.set_stream"},
    {"TN-STR-4", "`destroy` MUST NOT return before what the delegate enqueued is done.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.set_stream"},
    {"TN-STR-5", "A host MUST keep a stream that it set valid until the delegate has another or "
                 "is destroyed.",
                 "tenon/abi/extensions/streams.h: tenon_streams_v1.set_stream"},
    {"TN-THR-1", "A plugin MUST NOT use a pool outside of the call that got it: once the call has "
                 "returned, or the event that it signals is complete, no call of `parallel_for` "
                 "runs or begins.",
                 "tenon/abi/extensions/threads.h: tenon_thread_pool"},
    {"TN-THR-2", "When `parallel_for` fails, the call that it is part of MUST fail.",
                 "tenon/abi/extensions/threads.h: tenon_thread_pool"},
    {"TN-THR-3", "`num_threads`, how a pool divides its work, and the numbers of its workers MUST "
                 "NOT change the outputs: they are the same, bit for bit, unless the author "
                 "states otherwise.",
                 "tenon/abi/extensions/threads.h: tenon_thread_pool"},
    {"TN-THR-4", "A call of `f` MUST NOT wait for another one: a pool may run them one after the "
                 "other.",
                 "tenon/abi/extensions/threads.h: tenon_thread_pool"},
    {"TN-THR-5", "A host MUST accept calls of `parallel_for` from several threads at once, and "
                 "from inside of `f`.",
                 "tenon/abi/extensions/threads.h: tenon_thread_pool.parallel_for"},
    {"TN-THR-6", "A host MUST give each call of `f` a `worker` below `num_threads`, and MUST NOT "
                 "give one number to two calls of `f` that run at the same time in one "
                 "`parallel_for`.",
                 "tenon/abi/extensions/threads.h: tenon_thread_pool.parallel_for"},
    {"TN-HST-1", "A plugin MUST NOT read a member of `tenon_host` that is beyond its "
                 "`struct_size`: such a host is older and does not have it.",
                 "tenon/abi/host.h: tenon_host"},
    {"TN-HST-2", "The host MUST keep its `tenon_host` until the last `close` of the plugin has "
                 "returned.",
                 "tenon/abi/host.h: tenon_host"},
    {"TN-BUF-1", "A plugin MUST NOT read the `data` of a buffer after it called the buffer's "
                 "`release`.",
                 "tenon/abi/host.h: tenon_buffer"},
    {"TN-BIN-1", "A plugin MUST export exactly one symbol, `tenon_plugin_v1`, a constant object: "
                 "link with the SDK's version script (in `plugin_ldflags` of tenon.pc; CMake and "
                 "Meson targets add it).",
                 "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-2", "Loading the library MUST NOT run code: no static constructors, no registration.",
                 "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-3", "The bytes of the head and of the records in the file MUST be those in memory: "
                 "no relocation touches them.",
                 "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-4", "Every offset and size in the head MUST be inside `object_size` and a multiple "
                 "of its struct's alignment, no size MUST be below that of ABI 1.0, and there "
                 "MUST be 1 to 1,024 backends.",
                 "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-9", "`magic` MUST be TENON_PLUGIN_MAGIC, and `pointer_size` and `little_endian` "
                 "those of the machine that the library is for.",
                 "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-10", "A plugin's file MUST NOT ask to stay in memory after it was closed: no "
                  "STB_GNU_UNIQUE symbol, no DF_1_NODELETE.",
                  "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-11", "Every symbol that the library needs MUST be found when it is loaded with "
                  "RTLD_NOW.",
                  "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-12", "A plugin's file MUST NOT open the host to attack: no executable stack, no "
                  "writable code, no text relocation, no run path but $ORIGIN, no needed library "
                  "by a path.",
                  "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-BIN-7", "Every text of the head and of a record MUST be UTF-8 without control "
                 "characters, terminated inside its field.",
                 "tenon/abi/plugin.h: tenon_plugin_head"},
    {"TN-NEG-1", "A host of the plugin's major, and of the minor `min_host_abi_minor` or a later "
                 "one, MUST accept the plugin.",
                 "tenon/abi/plugin.h: tenon_plugin_head.min_host_abi_minor"},
    {"TN-NEG-2", "A host of another major than the plugin's, or of a minor before "
                 "`min_host_abi_minor`, MUST refuse the plugin with a message that names both "
                 "versions.",
                 "tenon/abi/plugin.h: tenon_plugin_head.min_host_abi_minor"},
    {"TN-NEG-3", "A plugin MUST work with a host of the minor `min_host_abi_minor` and of every "
                 "later one.",
                 "tenon/abi/plugin.h: tenon_plugin_head.min_host_abi_minor"},
    {"TN-BIN-5", "The `id` of a record MUST NOT be empty: it is the string that programs name.",
                 "tenon/abi/plugin.h: tenon_backend_record"},
    {"TN-BIN-6", "The ids of a plugin's records MUST differ.",
                 "tenon/abi/plugin.h: tenon_backend_record"},
    {"TN-BIN-8", "The `struct_size` of a record MUST equal the head's `record_size`.",
                 "tenon/abi/plugin.h: tenon_backend_record"},
    {"TN-BIN-14", "The `min_payload_version` of a record MUST NOT be above its "
                  "`max_payload_version`.",
                  "tenon/abi/plugin.h: tenon_backend_record"},
    {"TN-NEG-4", "A host MUST refuse a plugin with a bit of the upper 16 that it does not know: "
                 "such a bit restricts how the backend may be used.",
                 "tenon/abi/plugin.h: tenon_backend_record.flags"},
    {"TN-BIN-13", "The `num_backends` of the body MUST equal the head's, and each entry of "
                  "`backends` MUST be a table.",
                  "tenon/abi/plugin.h: tenon_plugin_body"},
    {"TN-ERR-1", "A function that fails MUST return the number of a TENON_STATUS_... and not "
                 "another. A host maps an unknown number to TENON_STATUS_INTERNAL.",
                 "tenon/abi/status.h: tenon_status"},
    {"TN-ERR-2", "A plugin that fails MUST call `tenon_host.set_last_error` first, on the thread "
                 "that was called, with a text that names the argument or field, what was "
                 "expected and what was found. It MUST do so, too, when it fails because a "
                 "function of the host failed, other than `permit_code` (TN-COD-3).",
                 "tenon/abi/status.h: tenon_status"},
    {"TN-TEN-1", "A plugin MUST NOT write to the data of a tensor with TENON_TENSOR_CONSTANT.",
                 "tenon/abi/tensor.h: tenon_tensor"},
    {"TN-TEN-2", "A plugin MUST change the sizes and strides of a tensor only through "
                 "`tenon_host.resize_tensor`.",
                 "tenon/abi/tensor.h: tenon_tensor"},
    {"TN-TEN-4", "A plugin MUST accept tensor data that is aligned to the size of its elements "
                 "and no more.",
                 "tenon/abi/tensor.h: tenon_tensor"},
    {"TN-TEN-3", "The host MUST keep each `tenon_tensor`, and the arrays it points to, at one "
                 "address from `init` to `destroy`; only `dl.data`, the sizes, the strides, "
                 "`nbytes` and `capacity` may change, and only between two calls of `execute` or "
                 "in `resize_tensor`. An instruction of the program may make a value name another "
                 "tensor.",
                 "tenon/abi/tensor.h: tenon_tensor"},
    {"TN-TEN-5", "A plugin MUST find the first element `byte_offset` bytes after `data`, or "
                 "refuse the call.",
                 "tenon/abi/tensor.h: tenon_tensor"},
    {"TN-TEN-6", "A plugin MUST find the other elements by the strides, or refuse a call with a "
                 "`dim_order` that it does not take.",
                 "tenon/abi/tensor.h: tenon_tensor"},
    {"TN-TEN-7", "The host MUST give a tensor strides that are dense in `dim_order` (a size of 0 "
                 "counts as 1), a `dtype` and a `scalar_type` of one meaning, and one lane.",
                 "tenon/abi/tensor.h: tenon_tensor"},
};
// clang-format on
}  // namespace detail

}  // namespace tenon::inline TENON_RELEASE::conformance
