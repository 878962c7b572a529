// SPDX-License-Identifier: MIT
// A plugin that is right, but for one thing that FAULT_... says.
#include <string.h>

#include "plugins/zoo_plugin.h"

#if defined(FAULT_EXPORT)
// Built without the export list.
int zoo_leaked(void) { return 1; }
#elif defined(FAULT_WEAK_EXPORT)
__attribute__((weak)) int zoo_leaked(void) { return 1; }
#elif defined(FAULT_CONSTRUCTOR)
static volatile int zoo_ready;
__attribute__((constructor)) static void zoo_prepare(void) { zoo_ready = 1; }
#elif defined(FAULT_INIT_FUNCTION)
static volatile int zoo_ready;
void zoo_note_load(void) { zoo_ready = 1; }
#elif defined(FAULT_STATIC_TLS)
__attribute__((tls_model("initial-exec"))) __thread int zoo_state = 1;
int* zoo_find_state(void) { return &zoo_state; }
#elif defined(FAULT_FOREIGN)
// executorch::runtime::runtime_init() and at::get_num_threads().
extern void zoo_runtime_init(void) __asm__("_ZN10executorch7runtime12runtime_initEv");
extern int zoo_num_threads(void) __asm__("_ZN2at15get_num_threadsEv");
int zoo_use(void) { return zoo_runtime_init(), zoo_num_threads(); }
#elif defined(FAULT_WRITABLE_CODE)
__asm__(".pushsection .zoo_code,\"awx\",%progbits\n.byte 0\n.popsection");
#elif defined(FAULT_TEXT_RELOCATION)
__asm__(".pushsection .text\n.balign 8\n.quad tenon_plugin_v1\n.popsection");
#elif defined(FAULT_INTERPRETER)
__attribute__((section(".interp"), used)) static const char zoo_interpreter[] = "/lib/ld.so";
#elif defined(FAULT_MANY_EXPORTS)
#define ZOO_LEAK(n) \
  int zoo_leaked_##n(void) { return n; }
ZOO_LEAK(1) ZOO_LEAK(2) ZOO_LEAK(3) ZOO_LEAK(4) ZOO_LEAK(5) ZOO_LEAK(6) ZOO_LEAK(7)
#elif defined(USES_FORTIFIED)
char zoo_first(const char* text, size_t size);
char zoo_first(const char* text, size_t size) {
  char buffer[16];
  memcpy(buffer, text, size);
  return buffer[0];
}
#endif
