// SPDX-License-Identifier: MIT
//
// How a program without records finds the plugins: opens and closes every
// library of the directory that it is given, and looks for the plugin's object in each.
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tenon/abi/plugin.h"

static int ends_in_so(const char* name) {
  const size_t length = strlen(name);
  return length > 3 && strcmp(name + length - 3, ".so") == 0;
}

static int open_one(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "open-all: %s\n", dlerror());
    return 0;
  }
  const tenon_plugin_head* const head = dlsym(library, TENON_PLUGIN_SYMBOL);
  const int found = head && puts(head->name) >= 0;
  if (!head) fprintf(stderr, "open-all: %s has no " TENON_PLUGIN_SYMBOL "\n", path);
  dlclose(library);
  return found;
}

int main(int argc, char** argv) {
  DIR* const directory = argc == 2 ? opendir(argv[1]) : NULL;
  if (!directory) {
    fputs("usage: open-all DIR\n", stderr);
    return 2;
  }
  int good = 1;
  for (const struct dirent* entry; (entry = readdir(directory));) {
    char path[4096];
    if (!ends_in_so(entry->d_name)) continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    good &= open_one(path);
  }
  closedir(directory);
  return good ? 0 : 1;
}
