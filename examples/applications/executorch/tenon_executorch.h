// SPDX-License-Identifier: MIT
/*
 * Plugins of Tenon in stock ExecuTorch, for C: the functions of libtenon_executorch.so that
 * the Python module tenon.executorch calls. Text is UTF-8, NUL-terminated, and valid until the next
 * call of the same function on the same thread.
 */
#ifndef TENON_EXECUTORCH_H
#define TENON_EXECUTORCH_H

#include <stddef.h>
#include <stdint.h>

#define TENON_EXECUTORCH_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* The version of ExecuTorch that this library was compiled for: "1.5". */
TENON_EXECUTORCH_API const char* tenon_executorch_built_for(void);

/* The directory of installed plugins, in place of the one that the build states; NULL: that one.
 * Not for several threads at once. */
TENON_EXECUTORCH_API void tenon_executorch_set_installed(const char* directory);

/* The program of workers, in which plugins run that the variable TENON_ISOLATE names, in place of
 * the one that the build states; NULL: that one. Not for several threads at once. */
TENON_EXECUTORCH_API void tenon_executorch_set_worker(const char* program);

/*
 * Registers backends of the plugin in the file `path` in ExecuTorch; NULL: of all plugins that are
 * found (TENON_PLUGIN_FILES, TENON_PLUGIN_PATH, the directory of installed plugins).
 *
 * `ids`, `id_count`: the backends to register, all or none; 0: all, without those whose id
 * ExecuTorch has already, which tenon_executorch_refused then lists. If each id is such, none is
 * registered and the call fails.
 *
 * The variables TENON_PUBLISHERS and TENON_ISOLATE say what is loaded, and where
 * (docs/hosts/signatures.md, docs/hosts/isolation.md).
 *
 * Returns 0 or the number of an error, whose text tenon_executorch_last_error has.
 */
TENON_EXECUTORCH_API uint32_t tenon_executorch_register(const char* path, const char* const* ids,
                                                        size_t id_count);

/* What this thread's last tenon_executorch_register left out, as JSON: [{"id": "...", "reason":
 * "..."}]. */
TENON_EXECUTORCH_API const char* tenon_executorch_refused(void);

/* The registered backends, as JSON: [{"id": "...", "plugin": "/...", "version": "..."}]. */
TENON_EXECUTORCH_API const char* tenon_executorch_registered(void);

/* Number of the last error of this thread, 0 for none; its name and text when they are asked for.
 */
TENON_EXECUTORCH_API uint32_t tenon_executorch_last_error(const char** name, const char** text);

/* Clears the last error of this thread. */
TENON_EXECUTORCH_API void tenon_executorch_clear_error(void);

#ifdef __cplusplus
}
#endif

#endif
