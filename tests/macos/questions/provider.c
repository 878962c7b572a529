/* SPDX-License-Identifier: MIT */
/* In the place of the plugin: a library that is opened for itself and makes itself visible later.
 */
#include <dlfcn.h>
#include <stddef.h>

int tenon_question(void);
int tenon_question(void) { return 42; }

/* What dlopen said, or NULL. */
const char* become_visible(void);
const char* become_visible(void) {
  Dl_info info;
  if (dladdr((const void*)&become_visible, &info) == 0) return "dladdr found no image";
  return dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL) ? NULL : dlerror();
}
