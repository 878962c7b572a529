// SPDX-License-Identifier: MIT
//
// The one object that a plugin exports. It is constant data: loading the library runs no code, and
// its first part holds no pointer, so that a host reads it from the file without loading it.

#ifndef TENON_ABI_PLUGIN_H
#define TENON_ABI_PLUGIN_H

#include <stdint.h>

#include "tenon/abi/backend.h"
#include "tenon/abi/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Name of the exported object. A new ABI major takes a new name, so that one file can serve two.
#define TENON_PLUGIN_SYMBOL "tenon_plugin_v1"

/// First bytes of the object. The line feed and the byte above 0x7f show a file that was damaged by
/// a text-mode copy.
#define TENON_PLUGIN_MAGIC {0x89, 'T', 'E', 'N', 'O', 'N', '1', '\n'}

/// Sizes of the text fields. Text is UTF-8, NUL-terminated inside its field, the rest zero.
enum { TENON_ID_SIZE = 64, TENON_TEXT_SIZE = 128, TENON_FEATURES_SIZE = 256 };

/// The head: readable from the file. Its members are the same in every ABI of every major; a later
/// minor may append members, which a host finds by `head_size`. The head is aligned to 4 bytes in
/// the object, the records are too, and the body is aligned to a pointer.
///
///   TN-BIN-1  A plugin MUST export exactly one symbol, `tenon_plugin_v1`, a constant object: link
///             with the SDK's version script (in `plugin_ldflags` of tenon.pc; CMake and Meson
///             targets add it).
///   TN-BIN-2  Loading the library MUST NOT run code: no static constructors, no registration.
///   TN-BIN-3  The bytes of the head and of the records in the file MUST be those in memory: no
///             relocation touches them.
///   TN-BIN-4  Every offset and size in the head MUST be inside `object_size` and a multiple of
///             its struct's alignment, no size MUST be below that of ABI 1.0, and there MUST be
///             1 to 1,024 backends.
///   TN-BIN-9  `magic` MUST be TENON_PLUGIN_MAGIC, and `pointer_size` and `little_endian` those of
///             the machine that the library is for.
///   TN-BIN-10 A plugin's file MUST NOT ask to stay in memory after it was closed: no
///             STB_GNU_UNIQUE symbol, no DF_1_NODELETE.
///   TN-BIN-11 Every symbol that the library needs MUST be found when it is loaded with RTLD_NOW.
///   TN-BIN-12 A plugin's file MUST NOT open the host to attack: no executable stack, no writable
///             code, no text relocation, no run path but $ORIGIN, no needed library by a path.
///   TN-BIN-7  Every text of the head and of a record MUST be UTF-8 without control characters,
///             terminated inside its field.
typedef struct tenon_plugin_head {
  uint8_t magic[8];
  uint32_t head_size;    ///< Size of this struct as compiled into the plugin.
  uint32_t object_size;  ///< Bytes of the whole object.

  uint16_t abi_major;  ///< TENON_ABI_MAJOR of the plugin's headers.
  uint16_t abi_minor;  ///< TENON_ABI_MINOR of the plugin's headers.

  /// Oldest minor of a host that the plugin works with.
  ///
  ///   TN-NEG-1  A host of the plugin's major, and of the minor `min_host_abi_minor` or a later
  ///             one, MUST accept the plugin.
  ///   TN-NEG-2  A host of another major than the plugin's, or of a minor before
  ///             `min_host_abi_minor`, MUST refuse the plugin with a message that names both
  ///             versions.
  ///   TN-NEG-3  A plugin MUST work with a host of the minor `min_host_abi_minor` and of every
  ///             later one.
  uint16_t min_host_abi_minor;
  uint8_t pointer_size;   ///< Bytes of a pointer in the plugin.
  uint8_t little_endian;  ///< 1 or 0.

  uint32_t num_backends;
  uint32_t records_offset;  ///< From the object's start to the first `tenon_backend_record`.
  uint32_t record_size;     ///< Size of one record as compiled into the plugin.
  uint32_t body_offset;     ///< From the object's start to the `tenon_plugin_body`.

  char name[TENON_ID_SIZE];         ///< Of the plugin. The first backend's id by default.
  char version[TENON_ID_SIZE];      ///< Of the plugin, semantic versioning; may be empty.
  char vendor[TENON_TEXT_SIZE];     ///< Its maker; may be empty.
  char sdk_version[TENON_ID_SIZE];  ///< TENON_VERSION_STRING of the plugin's headers.
} tenon_plugin_head;

// Facts about a backend, one bit each.
enum {
  /// The backend runs native code that programs carry: loading such a program runs that code.
  TENON_BACKEND_RUNS_EMBEDDED_CODE = 1u << 0,
  /// The backend has kernels for operators (extension "tenon.kernels/1").
  TENON_BACKEND_OFFERS_KERNELS = 1u << 1
};

/// The facts about one backend that a host reads before it loads the plugin.
///
///   TN-BIN-5  The `id` of a record MUST NOT be empty: it is the string that programs name.
///   TN-BIN-6  The ids of a plugin's records MUST differ.
///   TN-BIN-8  The `struct_size` of a record MUST equal the head's `record_size`.
///   TN-BIN-14 The `min_payload_version` of a record MUST NOT be above its `max_payload_version`.
typedef struct tenon_backend_record {
  uint32_t struct_size;
  int32_t priority;  ///< Among plugins that serve one id, the highest that fits the machine wins.
  uint32_t min_payload_version;  ///< Payload versions that `init` accepts, both ends included;
  uint32_t max_payload_version;  ///< 0 and 0 when payloads carry no version.
  char id[TENON_ID_SIZE];
  char tags[TENON_TEXT_SIZE];  ///< Comma-separated: "experimental,cpu". May be empty.
  /// Comma-separated features that the CPU must have, by their names in Linux's /proc/cpuinfo
  /// ("avx2,fma,amx_int8", "asimddp,sve"), in macOS by those in sysctl's hw.optional.arm; or a
  /// level of the x86-64 psABI ("x86-64-v3"). Each function of the backend may use them: a host
  /// compares them before `open`, and opens no backend with a feature that the CPU lacks or that
  /// the host does not know. Loading the library uses none (TN-BIN-2).
  char cpu_features[TENON_FEATURES_SIZE];
  char description[TENON_TEXT_SIZE];  ///< One line for a person.

  /// TENON_BACKEND_... A host ignores a bit of the lower 16 that it does not know.
  ///
  ///   TN-NEG-4  A host MUST refuse a plugin with a bit of the upper 16 that it does not know: such
  ///             a bit restricts how the backend may be used.
  uint32_t flags;
  uint32_t reserved;  ///< 0.
} tenon_backend_record;

/// The part with pointers, meaningful only in a loaded library.
///
///   TN-BIN-13 The `num_backends` of the body MUST equal the head's, and each entry of `backends`
///             MUST be a table.
typedef struct tenon_plugin_body {
  uint32_t struct_size;
  uint32_t num_backends;                     ///< Equal to the head's.
  const tenon_backend_api* const* backends;  ///< In the order of the records.
} tenon_plugin_body;

#ifdef __cplusplus
}
#endif

#endif  // TENON_ABI_PLUGIN_H
