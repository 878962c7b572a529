/* SPDX-License-Identifier: MIT */
/* Asks dyld what the plugin relies on: whether a model finds the functions of a plugin that was
   opened for itself and made itself visible, and whether a library may be mapped from a file that
   is removed at once. usage: host PROVIDER MODEL. Prints what happened; exit code 0 for yes, 1 for
   no. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static int no(const char* what, const char* why) {
  printf("%s: %s\n", what, why ? why : "no reason given");
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* const provider = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!provider) return no("the plugin is not opened", dlerror());
  const char* (*become_visible)(void) = (const char* (*)(void))dlsym(provider, "become_visible");
  if (!become_visible) return no("the plugin has no function", dlerror());
  const char* const why = become_visible();
  if (why) return no("the plugin is not made visible", why);
  void* const model = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (!model) return no("the model is not opened", dlerror());
  unlink(argv[2]);
  int (*ask)(void) = (int (*)(void))dlsym(model, "ask");
  if (!ask) return no("the model has no function", dlerror());
  printf("a model calls the plugin's function: %d\n", ask());
  return ask() == 42 ? 0 : 1;
}
