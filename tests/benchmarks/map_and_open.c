// SPDX-License-Identifier: MIT
//
// The least that a process which runs a program through a plugin has to do: maps
// the program, opens the plugin, looks for the plugin's object, and writes one line.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenon/abi/plugin.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("usage: map-and-open PROGRAM PLUGIN\n", stderr);
    return 2;
  }
  const int file = open(argv[1], O_RDONLY);
  struct stat facts;
  if (file < 0 || fstat(file, &facts) != 0) return 1;
  const char* const program = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (program == MAP_FAILED) return 1;
  void* const library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
  const tenon_plugin_head* const head = library ? dlsym(library, TENON_PLUGIN_SYMBOL) : NULL;
  if (!head) {
    fprintf(stderr, "map-and-open: %s\n", dlerror());
    return 1;
  }
  // The identifier of a program's file is behind its first offset.
  printf("%.4s %s\n", program + 4, head->name);
  return 0;
}
