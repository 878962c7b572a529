// SPDX-License-Identifier: MIT
//
// The file and its object (TN-BIN). README.md says how a section becomes a plugin.

#ifdef ZOO_body_differs
// Breaks TN-BIN-13: its body counts no backend, its head counts one.
#define ZOO_NUM_TABLES 0
#endif

#ifdef ZOO_constructor_alone
// Breaks TN-BIN-2: linked without the C runtime's start files, so that its constructor is the only
// entry of .init_array.
// Only in ELF.
static volatile int loaded;
__attribute__((constructor)) static void note_load(void) { loaded = 1; }
#endif

#ifdef ZOO_control_character_in_id
// Breaks TN-BIN-7: the id holds a control character.
#define ZOO_ID "Zoo\aBackend"
#endif

#ifdef ZOO_empty_id
// Breaks TN-BIN-5: its id is empty.
#define ZOO_ID ""
#endif

#ifdef ZOO_executable_stack
// Breaks TN-BIN-12: it is linked with -z execstack.
// Only in ELF.
#endif

#ifdef ZOO_gnu_unique
// Breaks TN-BIN-10: its object is STB_GNU_UNIQUE, so it is never unloaded.
// Only in ELF.
#define ZOO_SYMBOL zoo_object_of_c
#include "good_plugin.h"

__asm__(
    ".type tenon_plugin_v1, %gnu_unique_object\n"
    ".set tenon_plugin_v1, zoo_object_of_c\n"
    ".size tenon_plugin_v1, 984\n");
_Static_assert(sizeof(zoo_object) == 984, "the symbol has another size than the object");
#endif

#ifdef ZOO_init_function
// Breaks TN-BIN-2: the linker was told to have a function called when the library is loaded.
// Only in ELF.
static volatile int loaded;
extern void note_load(void);
void note_load(void) { loaded = 1; }
#endif

#ifdef ZOO_no_backends
// Breaks TN-BIN-4: its head counts no backend.
#define ZOO_NUM_BACKENDS 0
#define ZOO_NUM_TABLES 0
#endif

#ifdef ZOO_nodelete
// Breaks TN-BIN-10: it is linked with -z nodelete.
// Only in ELF.
#endif

#ifdef ZOO_null_table
// Breaks TN-BIN-13: the table of its backend is NULL.
#define ZOO_TABLE NULL
#endif

#ifdef ZOO_offset_outside
// Breaks TN-BIN-4: the offset of its body is beyond the end of its object.
#define ZOO_BODY_OFFSET sizeof(zoo_object)
#endif

#ifdef ZOO_oldest_payload_is_newer
// Breaks TN-BIN-14: the oldest payload that its record names is newer than the newest one.
#define ZOO_MIN_PAYLOAD_VERSION 2
#endif

#ifdef ZOO_run_path_tmp
// Breaks TN-BIN-12: its run path is a world-writable directory.
// Only in ELF.
#endif

#ifdef ZOO_same_id_twice
// Breaks TN-BIN-6: two backends have one id.
#define ZOO_NUM_RECORDS 2
#define ZOO_RECORDS {ZOO_RECORD, ZOO_RECORD}
#define ZOO_TABLES {&zoo_api, &zoo_api}
#endif

#ifdef ZOO_static_constructor
// Breaks TN-BIN-2: a function runs when the library is loaded.
static volatile int loaded;
__attribute__((constructor)) static void note_load(void) { loaded = 1; }
#endif

#ifdef ZOO_symbol_of_another_name
// Breaks TN-BIN-1: its object has the wrong name.
#define ZOO_SYMBOL tenon_plugin_v2
#endif

#ifdef ZOO_text_not_terminated
// Breaks TN-BIN-7: its version fills the field to the end.
#define ZOO_VERSION                  \
  "0123456789abcdef0123456789abcdef" \
  "0123456789abcdef0123456789abcdef"
#endif

#ifdef ZOO_text_not_utf8
// Breaks TN-BIN-7: its description is Latin-1.
#define ZOO_DESCRIPTION "Tr\xe4gt zusammen"
#endif

#ifdef ZOO_text_relocation
// Breaks TN-BIN-12: its code contains an absolute address.
// Only in ELF.
__asm__(".pushsection .text; .quad tenon_plugin_v1; .popsection");
#endif

#ifdef ZOO_two_symbols
// Breaks TN-BIN-1: it exports a function as well.
extern int another_symbol(void);
__attribute__((visibility("default"))) int another_symbol(void) { return 1; }
#endif

#ifdef ZOO_writable_object
// Breaks TN-BIN-1: the exported object is a variable and stays writable.
// Only in ELF.
#define ZOO_CONST
#endif

#ifdef ZOO_wrong_magic
// Breaks TN-BIN-9: its magic number is wrong.
#define ZOO_MAGIC {0x89, 'T', 'E', 'N', 'O', 'R', '1', '\n'}
#endif

#ifdef ZOO_wrong_pointer_size
// Breaks TN-BIN-9: its head has the pointer size of another machine.
#define ZOO_POINTER_SIZE (sizeof(void*) / 2)
#endif

#ifdef ZOO_wrong_record_size
// Breaks TN-BIN-8: the sizes of a record in the record and in the head differ.
#define ZOO_RECORD_SIZE (sizeof(tenon_backend_record) - 8)
#endif

#include "good.h"

#ifdef ZOO_head_relocated
// Breaks TN-BIN-3: the payload versions of its record are an address, which only the loader knows.
/// A `tenon_backend_record` with an address for `min_payload_version` and `max_payload_version`.
typedef struct relocated_record {
  uint32_t struct_size;
  int32_t priority;
  const void* address;
  char id[TENON_ID_SIZE];
  char tags[TENON_TEXT_SIZE];
  char cpu_features[TENON_FEATURES_SIZE];
  char description[TENON_TEXT_SIZE];
  uint32_t flags;
  uint32_t reserved;
} relocated_record;
_Static_assert(sizeof(relocated_record) == sizeof(tenon_backend_record), "sizes differ");
_Static_assert(offsetof(relocated_record, address) ==
                   offsetof(tenon_backend_record, min_payload_version),
               "members differ");

// Defined in another library, so that the file holds zeros in its place.
#define ZOO_RECORD_TYPE relocated_record
#define ZOO_RECORDS                                                                    \
  {                                                                                    \
    {                                                                                  \
      .struct_size = sizeof(relocated_record), .address = &stdout, .id = "ZooBackend", \
      .tags = "cpu", .description = "Adds tensors",                                    \
    }                                                                                  \
  }
#endif

#ifdef ZOO_undefined_symbol
// Breaks TN-BIN-11: it needs a function that no library defines.
extern void tenon_zoo_nobody_has_this(void);

static void destroy(tenon_backend* backend, tenon_delegate* delegate) {
  tenon_zoo_nobody_has_this();
  good_destroy(backend, delegate);
}

#define ZOO_DESTROY destroy
#endif

#include "good_plugin.h"
