// SPDX-License-Identifier: MIT
//
// Preloaded into programs that qemu's user mode runs. Such a program can start programs of the
// machine that emulates, but none of its own machine, unless the kernel knows the emulator
// (binfmt_misc), which needs rights that a test should not ask for. Here a program of its own
// machine is started as EMULATOR PROGRAM ARGUMENTS. Programs of the emulating machine lose
// LD_PRELOAD, which names a library that they cannot load.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char** environ;

typedef int SpawnFunction(pid_t*, const char*, const posix_spawn_file_actions_t*,
                          const posix_spawnattr_t*, char* const*, char* const*);
typedef int ExecFunction(const char*, char* const*, char* const*);

// What to start instead of a program. `free_command` frees the two arrays of pointers.
struct Command {
  const char* path;
  char** arguments;
  char** variables;
  char program[PATH_MAX];
};

static int is_of_this_machine(const char* path) {
  Elf64_Ehdr here, there;
  const int descriptors[] = {open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
                             open(path, O_RDONLY | O_CLOEXEC)};
  // Class and machine are at the same place for both widths.
  const size_t size = offsetof(Elf64_Ehdr, e_version);
  const int same = read(descriptors[0], &here, size) == (ssize_t)size &&
                   read(descriptors[1], &there, size) == (ssize_t)size &&
                   memcmp(here.e_ident, there.e_ident, EI_DATA) == 0 &&
                   here.e_machine == there.e_machine;
  close(descriptors[0]);
  close(descriptors[1]);
  return same;
}

static size_t count(char* const* texts) {
  size_t n = 0;
  while (texts[n] != NULL) ++n;
  return n;
}

// Returns 0 where memory is short.
static int make_command(struct Command* out, const char* path, char* const* arguments,
                        char* const* variables) {
  const int emulated = is_of_this_machine(path);
  out->path = path;
  out->arguments = calloc(count(arguments) + 3, sizeof *arguments);
  out->variables = calloc(count(variables) + 1, sizeof *variables);
  if (out->arguments == NULL || out->variables == NULL) return 0;
  size_t n = 0;
  if (emulated) {
    // "/proc/self/exe" would be the emulator for the emulator that is started.
    if (realpath(path, out->program) == NULL) strncpy(out->program, path, PATH_MAX - 1);
    out->path = EMULATOR;
    out->arguments[n++] = (char*)EMULATOR;
    out->arguments[n++] = out->program;
    if (arguments[0] != NULL) ++arguments;
  }
  while (*arguments != NULL) out->arguments[n++] = *arguments++;
  n = 0;
  for (; *variables != NULL; ++variables) {
    if (strncmp(*variables, "LD_PRELOAD=", 11) != 0 &&
        strncmp(*variables, "LD_LIBRARY_PATH=", 16) != 0) {
      out->variables[n++] = *variables;
    }
  }
  return 1;
}

static void free_command(struct Command* command) {
  free(command->arguments);
  free(command->variables);
}

int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const arguments[],
                char* const variables[]) {
  SpawnFunction* const next = (SpawnFunction*)dlsym(RTLD_NEXT, "posix_spawn");
  struct Command command = {0};
  int outcome = ENOMEM;
  if (make_command(&command, path, arguments, variables != NULL ? variables : environ)) {
    outcome = next(pid, command.path, actions, attributes, command.arguments, command.variables);
  }
  free_command(&command);
  return outcome;
}

int execve(const char* path, char* const arguments[], char* const variables[]) {
  ExecFunction* const next = (ExecFunction*)dlsym(RTLD_NEXT, "execve");
  struct Command command = {0};
  errno = ENOMEM;
  if (make_command(&command, path, arguments, variables)) {
    next(command.path, command.arguments, command.variables);
  }
  const int failure = errno;
  free_command(&command);
  errno = failure;
  return -1;
}

int execv(const char* path, char* const arguments[]) { return execve(path, arguments, environ); }
