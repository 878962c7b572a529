// SPDX-License-Identifier: MIT
//
// A host in C11, with `include/tenon/abi` alone: it loads a plugin, opens a backend, gives it a
// blob and float32 tensors, runs it, and gives everything back. It reads no `.pte` file and has no
// extensions.

#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/abi/tenon.h"

enum { MOST_RANK = 16, MOST_ARGS = 16, EXIT_USAGE = 2, EXIT_LOAD = 4, EXIT_RUN = 5 };

static const char usage[] =
    "host_in_c PLUGIN.so BACKEND (--blob FILE | --hex DIGITS) [--input SIZES=VALUES]...\n"
    "          [--output SIZES]... [--runs N]\n"
    "\n"
    "Runs one blob of a backend with float32 tensors, and prints the outputs.\n"
    "\n"
    "  PLUGIN.so              the file of a plugin\n"
    "  BACKEND                the id of one of its backends\n"
    "  --blob FILE            a file with the blob\n"
    "  --hex DIGITS           the bytes of the blob, two hexadecimal digits each\n"
    "  --input SIZES=VALUES   an input (2,3=1,2,3,4,5,6; a scalar: =1)\n"
    "  --output SIZES         an output and its largest sizes (2,3; a scalar: '')\n"
    "  --runs N               runs the delegate N times (1)\n"
    "\n"
    "Exit codes: 0 success, 2 wrong usage, 4 no backend or the blob was refused, 5 a run failed.\n";

/// Prints one line, and returns `code`.
static int fail(int code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("host_in_c: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return code;
}

// Services of the host.

/// The reason of the latest failure. Plugins give it inside of a call, and this host has one
/// thread.
static char last_text[512];
static tenon_status last_status;

static void TENON_CALL set_last_error(const tenon_host* host, tenon_status status, const char* text,
                                      uint64_t text_size) {
  (void)host;
  last_status = status;
  snprintf(last_text, sizeof(last_text), "%.*s", text_size < 500 ? (int)text_size : 500, text);
}

/// Prints the failure of a function of the plugin.
static int fail_call(int code, const char* function, tenon_status status) {
  const bool is_explained = last_status == status && last_text[0] != '\0';
  return fail(code, "%s: expected status 0, found 0x%" PRIx32 ": %s", function, status,
              is_explained ? last_text : "(the plugin gave no reason)");
}

static void TENON_CALL log_line(const tenon_host* host, int32_t level, const char* text,
                                uint64_t text_size) {
  (void)host;
  fprintf(stderr, "log (%" PRId32 "): %.*s\n", level, text_size < 500 ? (int)text_size : 500, text);
}

static const void* TENON_CALL get_extension(const tenon_host* host, const char* id) {
  (void)host;
  (void)id;
  return NULL;
}

/// Elements of the sizes, or -1 when a size is negative or the product overflows. A size of 0
/// counts as 1 for overflow and for strides.
static int64_t count_elements(const int64_t* sizes, uint32_t rank, int64_t* strides) {
  int64_t product = 1;
  bool is_empty = false;
  for (uint32_t i = rank; i-- > 0;) {
    const int64_t size = sizes[i] == 0 ? 1 : sizes[i];
    if (strides) strides[i] = product;
    if (size < 0 || product > INT64_MAX / (int64_t)sizeof(float) / size) return -1;
    product *= size;
    is_empty = is_empty || sizes[i] == 0;
  }
  return is_empty ? 0 : product;
}

static tenon_status TENON_CALL resize_tensor(const tenon_host* host, tenon_tensor* tensor,
                                             const int64_t* sizes, uint32_t rank) {
  (void)host;
  if (rank != (uint32_t)tensor->dl.ndim) return TENON_STATUS_NOT_SUPPORTED;
  const int64_t count = count_elements(sizes, rank, NULL);
  if (count < 0) return TENON_STATUS_INVALID_ARGUMENT;
  const uint64_t nbytes = (uint64_t)count * sizeof(float);
  if (nbytes > tensor->capacity) return TENON_STATUS_NOT_SUPPORTED;  // the bounds' product, here
  if (tensor->shape_dynamism == TENON_SHAPE_STATIC) {
    for (uint32_t i = 0; i < rank; ++i) {
      if (sizes[i] != tensor->dl.shape[i]) return TENON_STATUS_NOT_SUPPORTED;
    }
  }
  if (rank > 0) memmove(tensor->dl.shape, sizes, rank * sizeof(*sizes));  // may be the tensor's own
  count_elements(tensor->dl.shape, rank, tensor->dl.strides);
  tensor->nbytes = nbytes;
  return TENON_STATUS_OK;
}

/// Blocks that are freed together.
typedef struct Block {
  struct Block* next;
  void* memory;
} Block;

typedef struct {
  tenon_allocator api;  // first: the plugin has its address
  Block* blocks;
} Pool;

static void* TENON_CALL allocate(tenon_allocator* allocator, uint64_t nbytes, uint64_t alignment) {
  Pool* pool = (Pool*)(void*)allocator;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return NULL;
  const uint64_t step = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  if (nbytes > SIZE_MAX / 2 || step > SIZE_MAX / 4) return NULL;
  Block* block = malloc(sizeof(*block));
  if (!block) return NULL;
  if (posix_memalign(&block->memory, (size_t)step, nbytes == 0 ? 1 : (size_t)nbytes) != 0) {
    free(block);
    return NULL;
  }
  block->next = pool->blocks;
  pool->blocks = block;
  return block->memory;
}

static void free_blocks(Pool* pool) {
  while (pool->blocks) {
    Block* block = pool->blocks;
    pool->blocks = block->next;
    free(block->memory);
    free(block);
  }
}

static void TENON_CALL release(tenon_buffer* buffer) {
  free(buffer->owner);
  buffer->owner = NULL;
  buffer->data = NULL;
  buffer->nbytes = 0;
}

// Arguments of the command line.

/// A tensor, and the arrays it points to.
typedef struct {
  tenon_tensor tensor;
  int64_t shape[MOST_RANK];
  int64_t strides[MOST_RANK];
  int64_t bounds[MOST_RANK];
  uint8_t dim_order[MOST_RANK];
  bool is_output;
} Argument;

typedef struct {
  const char* plugin;
  const char* backend;
  unsigned char* blob;
  size_t blob_size;
  uint32_t num_args;
  unsigned long runs;
  Argument args[MOST_ARGS];
} Call;

static int parse_tensor(Call* call, const char* option, const char* text, bool is_output) {
  if (call->num_args == MOST_ARGS) return fail(EXIT_USAGE, "%s: expected 16 tensors", option);
  if (call->num_args > 0 && call->args[call->num_args - 1].is_output && !is_output) {
    return fail(EXIT_USAGE, "%s %s: expected inputs before outputs", option, text);
  }
  Argument* arg = &call->args[call->num_args++];
  tenon_tensor* tensor = &arg->tensor;
  const char* at = text;
  uint32_t rank = 0;
  while (*at != '=' && *at != '\0') {
    char* end = NULL;
    const long long size = strtoll(at, &end, 10);
    if (end == at || size < 0 || size > INT32_MAX || rank == MOST_RANK ||
        (*end != ',' && *end != '=' && *end != '\0')) {
      return fail(EXIT_USAGE, "%s: expected up to 16 sizes and commas, found '%s'", option, text);
    }
    arg->shape[rank] = arg->bounds[rank] = size;
    arg->dim_order[rank] = (uint8_t)rank;
    ++rank;
    at = *end == ',' ? end + 1 : end;
  }
  const int64_t count = count_elements(arg->shape, rank, arg->strides);
  if (count < 0 || count > INT32_MAX) {
    return fail(EXIT_USAGE, "%s: expected fewer elements, found '%s'", option, text);
  }
  float* data = count == 0 ? NULL : calloc((size_t)count, sizeof(float));
  if (count > 0 && !data) return fail(EXIT_USAGE, "%s: no memory for '%s'", option, text);
  tensor->struct_size = sizeof(*tensor);
  tensor->scalar_type = TENON_SCALAR_FLOAT;
  tensor->dl = (tenon_dl_tensor){.data = data,
                                 .device = {TENON_DL_CPU, 0},
                                 .ndim = (int32_t)rank,
                                 .dtype = {TENON_DL_FLOAT, 32, 1},
                                 .shape = arg->shape,
                                 .strides = arg->strides};
  tensor->dim_order = arg->dim_order;
  tensor->bounds = arg->bounds;
  tensor->nbytes = tensor->capacity = (uint64_t)count * sizeof(float);
  tensor->shape_dynamism = is_output ? TENON_SHAPE_DYNAMIC_BOUND : TENON_SHAPE_STATIC;
  arg->is_output = is_output;
  int64_t found = 0;
  for (at += *at == '='; *at != '\0' && !is_output; ++found) {
    char* end = NULL;
    const float value = strtof(at, &end);
    if (end == at || (*end != ',' && *end != '\0')) {
      return fail(EXIT_USAGE, "%s: expected numbers and commas, found '%s'", option, at);
    }
    if (found < count) data[found] = value;
    at = *end == ',' ? end + 1 : end;
  }
  if (is_output ? *at != '\0' : found != count) {
    return fail(EXIT_USAGE, "%s %s: expected %" PRId64 " values, found %" PRId64, option, text,
                is_output ? 0 : count, found);
  }
  return 0;
}

static int read_hex(Call* call, const char* digits) {
  const size_t length = strlen(digits);
  if (length % 2 != 0 || strspn(digits, "0123456789abcdefABCDEF") != length) {
    return fail(EXIT_USAGE, "--hex: expected two digits for each byte, found '%s'", digits);
  }
  call->blob_size = length / 2;
  call->blob = malloc(call->blob_size + 1);
  for (size_t i = 0; call->blob && i < call->blob_size; ++i) {
    const char byte[] = {digits[2 * i], digits[2 * i + 1], '\0'};
    call->blob[i] = (unsigned char)strtoul(byte, NULL, 16);
  }
  return call->blob ? 0 : fail(EXIT_USAGE, "--hex: no memory");
}

static int read_file(Call* call, const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return fail(EXIT_USAGE, "--blob %s: %s", path, strerror(errno));
  size_t capacity = 0;
  size_t got = 1;
  while (got > 0) {
    if (call->blob_size == capacity) {
      capacity = capacity * 2 + 4096;
      unsigned char* larger = realloc(call->blob, capacity);
      if (!larger) break;
      call->blob = larger;
    }
    got = fread(call->blob + call->blob_size, 1, capacity - call->blob_size, file);
    call->blob_size += got;
  }
  const bool is_read = got == 0 && !ferror(file);
  fclose(file);
  return is_read ? 0 : fail(EXIT_USAGE, "--blob %s: expected a file, found none to read", path);
}

static int parse(Call* call, int argc, char** argv) {
  int code = 0;
  for (int i = 1; i < argc && code == 0; ++i) {
    const char* name = argv[i];
    if (strncmp(name, "--", 2) != 0) {
      const char** to = !call->plugin ? &call->plugin : &call->backend;
      if (*to) return fail(EXIT_USAGE, "arguments: expected a plugin and an id, found '%s'", name);
      *to = name;
      continue;
    }
    if (++i == argc) return fail(EXIT_USAGE, "%s: expected a value, found none", name);
    if (strcmp(name, "--input") == 0 || strcmp(name, "--output") == 0) {
      code = parse_tensor(call, name, argv[i], name[2] == 'o');
    } else if (strcmp(name, "--runs") == 0) {
      call->runs = strtoul(argv[i], NULL, 10);
    } else if (call->blob && (strcmp(name, "--hex") == 0 || strcmp(name, "--blob") == 0)) {
      code = fail(EXIT_USAGE, "%s: expected one blob, found two", name);
    } else if (strcmp(name, "--hex") == 0) {
      code = read_hex(call, argv[i]);
    } else if (strcmp(name, "--blob") == 0) {
      code = read_file(call, argv[i]);
    } else {
      code = fail(EXIT_USAGE, "%s: unknown option, see --help", name);
    }
  }
  if (code == 0 && (!call->backend || !call->blob)) {
    code = fail(EXIT_USAGE, "expected a plugin, an id and a blob, see --help");
  }
  return code;
}

// The plugin.

/// True when `size` bytes at `offset` are inside of the object, and aligned.
static bool is_inside(const tenon_plugin_head* head, uint64_t offset, uint64_t size,
                      uint64_t alignment) {
  return offset % alignment == 0 && offset <= head->object_size &&
         size <= head->object_size - offset;
}

/// Whether `word` is one of the words behind the colon of `line`.
static bool has_word(const char* line, const char* word) {
  const char* colon = strchr(line, ':');
  const size_t length = strlen(word);
  for (const char* at = colon ? strstr(colon, word) : NULL; at; at = strstr(at + 1, word)) {
    if (at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n')) return true;
  }
  return false;
}

/// Whether the CPU has each feature in the list. A feature that /proc/cpuinfo does not name, such
/// as a level of the x86-64 psABI, counts as missing.
static bool has_features(const char* list) {
  char line[16384] = "";
  FILE* file = *list != '\0' ? fopen("/proc/cpuinfo", "r") : NULL;
  bool is_found = false;
  while (file && !is_found && fgets(line, sizeof(line), file)) {
    is_found = strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0;
  }
  if (file) fclose(file);
  char names[TENON_FEATURES_SIZE];
  snprintf(names, sizeof(names), "%s", list);
  bool has_all = true;
  for (const char* name = strtok(names, ", "); name && has_all; name = strtok(NULL, ", ")) {
    has_all = is_found && has_word(line, name);
  }
  return has_all;
}

/// Checks the head, and finds the table of backend `id`.
static int find_backend(const Call* call, const void* object, const tenon_backend_api** out) {
  const char* path = call->plugin;
  const tenon_plugin_head* head = object;
  static const uint8_t magic[] = TENON_PLUGIN_MAGIC;
  const uint16_t one = 1;
  const uint8_t little_endian = *(const uint8_t*)&one;
  if (memcmp(head->magic, magic, sizeof(magic)) != 0) {
    return fail(EXIT_LOAD, "%s: expected a plugin's magic, found other bytes", path);
  }
  if (head->pointer_size != sizeof(void*) || head->little_endian != little_endian) {
    return fail(EXIT_LOAD, "%s: expected pointers of %zu bytes and little_endian %d, found %d, %d",
                path, sizeof(void*), little_endian, head->pointer_size, head->little_endian);
  }
  if (head->abi_major != TENON_ABI_MAJOR || head->min_host_abi_minor > TENON_ABI_MINOR) {
    return fail(EXIT_LOAD, "%s: expected a plugin for a host of ABI %d.%d, found one for %d.%d",
                path, TENON_ABI_MAJOR, TENON_ABI_MINOR, head->abi_major, head->min_host_abi_minor);
  }
  const uint64_t records_size = (uint64_t)head->record_size * head->num_backends;
  if (head->head_size < sizeof(*head) || !is_inside(head, 0, head->head_size, 4) ||
      head->num_backends < 1 || head->num_backends > 1024 ||
      head->record_size < sizeof(tenon_backend_record) || head->record_size % 4 != 0 ||
      !is_inside(head, head->records_offset, records_size, 4) ||
      !is_inside(head, head->body_offset, sizeof(tenon_plugin_body), sizeof(void*))) {
    return fail(EXIT_LOAD,
                "%s: head: expected parts inside of %" PRIu32 " bytes, found %" PRIu32
                " records at %" PRIu32 " and a body at %" PRIu32,
                path, head->object_size, head->num_backends, head->records_offset,
                head->body_offset);
  }
  const tenon_plugin_body* body = (const void*)((const char*)object + head->body_offset);
  if (body->struct_size < sizeof(*body) || body->num_backends != head->num_backends) {
    return fail(EXIT_LOAD, "%s: body: expected %" PRIu32 " backends, found %" PRIu32, path,
                head->num_backends, body->num_backends);
  }
  char ids[512] = "";
  for (uint32_t i = 0; i < head->num_backends; ++i) {
    const tenon_backend_record* record =
        (const void*)((const char*)object + head->records_offset + (size_t)i * head->record_size);
    const size_t length = strlen(ids);
    snprintf(ids + length, sizeof(ids) - length, "%s%.63s", i > 0 ? ", " : "", record->id);
    if (strncmp(record->id, call->backend, TENON_ID_SIZE) != 0) continue;
    if (record->flags >> 16 != 0) {
      return fail(EXIT_LOAD, "%s: flags: expected none of the upper 16, found 0x%" PRIx32, path,
                  record->flags);
    }
    if (!has_features(record->cpu_features)) {
      return fail(EXIT_LOAD, "%s: cpu_features: expected a CPU with %s, found one without", path,
                  record->cpu_features);
    }
    const tenon_backend_api* api = body->backends[i];
    if (!api || !TENON_HAS_MEMBER(*api, destroy) || !api->open || !api->close || !api->init ||
        !api->execute || !api->destroy) {
      return fail(EXIT_LOAD,
                  "%s: table: expected the five required functions, found a table that lacks one",
                  path);
    }
    *out = api;
    return 0;
  }
  return fail(EXIT_LOAD, "%s: backend: expected '%s', found %s", path, call->backend, ids);
}

static void print(const Argument* arg, uint32_t index) {
  printf("output %" PRIu32 " [", index);
  for (int32_t i = 0; i < arg->tensor.dl.ndim; ++i) {
    printf("%s%" PRId64, i > 0 ? "," : "", arg->shape[i]);
  }
  printf("]:");
  const float* data = arg->tensor.dl.data;
  for (uint64_t i = 0; i < arg->tensor.nbytes / sizeof(float); ++i) printf(" %g", (double)data[i]);
  printf("\n");
}

/// Loads the blob, runs it, and destroys the delegate.
static int run_blob(Call* call, const tenon_host* host, const tenon_backend_api* api,
                    tenon_backend* backend) {
  Pool runtime = {{.struct_size = sizeof(tenon_allocator), .allocate = allocate}, NULL};
  Pool temp = runtime;
  tenon_buffer blob = {.struct_size = sizeof(blob),
                       .data = call->blob_size > 0 ? call->blob : NULL,
                       .nbytes = call->blob_size,
                       .owner = call->blob,
                       .release = release};
  call->blob = NULL;  // the buffer's
  const tenon_init_context context = {.struct_size = sizeof(context),
                                      .host = host,
                                      .method_name = "forward",
                                      .processed = &blob,
                                      .runtime_allocator = &runtime.api};
  const tenon_execution_context execution = {.struct_size = sizeof(execution),
                                             .host = host,
                                             .method_name = "forward",
                                             .temp_allocator = &temp.api};
  tenon_value values[MOST_ARGS];
  tenon_value* args[MOST_ARGS];
  for (uint32_t i = 0; i < call->num_args; ++i) {
    values[i] = (tenon_value){.struct_size = sizeof(values[i]), .kind = TENON_VALUE_TENSOR};
    values[i].as.tensor = &call->args[i].tensor;
    args[i] = &values[i];
  }
  tenon_delegate* delegate = NULL;  // NULL is a valid delegate, too
  int code = 0;
  tenon_status status = api->init(backend, &context, &delegate);
  if (status != TENON_STATUS_OK) {
    code = fail_call(EXIT_LOAD, "init", status);
  } else {
    for (unsigned long run = 0; run < call->runs && code == 0; ++run) {
      status = api->execute(backend, delegate, &execution, args, call->num_args);
      if (status != TENON_STATUS_OK) code = fail_call(EXIT_RUN, "execute", status);
      free_blocks(&temp);
      uint32_t index = 0;
      for (uint32_t i = 0; i < call->num_args && code == 0; ++i) {
        if (call->args[i].is_output) print(&call->args[i], index++);
      }
    }
    api->destroy(backend, delegate);
  }
  release(&blob);
  free_blocks(&runtime);
  return code;
}

static int run_plugin(Call* call) {
  // Without a slash `dlopen` would search the system's directories.
  char* path = realpath(call->plugin, NULL);
  if (!path) return fail(EXIT_LOAD, "%s: %s", call->plugin, strerror(errno));
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    free(path);
    return fail(EXIT_LOAD, "%s: expected a library, found: %s", call->plugin, reason);
  }
  const void* object = dlsym(library, TENON_PLUGIN_SYMBOL);
  const tenon_backend_api* api = NULL;
  int code = object ? find_backend(call, object, &api)
                    : fail(EXIT_LOAD, "%s: expected the symbol " TENON_PLUGIN_SYMBOL ", found none",
                           call->plugin);
  if (code == 0) {
    const tenon_host host = {.struct_size = sizeof(host),
                             .abi_major = TENON_ABI_MAJOR,
                             .abi_minor = TENON_ABI_MINOR,
                             .name = "host_in_c 1.0",
                             .plugin_path = path,
                             .set_last_error = set_last_error,
                             .log = log_line,
                             .resize_tensor = resize_tensor,
                             .get_extension = get_extension};
    tenon_backend* backend = NULL;
    tenon_status status = api->open(&host, &backend);
    if (status != TENON_STATUS_OK) {
      code = fail_call(EXIT_LOAD, "open", status);
    } else {
      status = api->is_available ? api->is_available(backend) : TENON_STATUS_OK;
      code = status == TENON_STATUS_OK ? run_blob(call, &host, api, backend)
                                       : fail_call(EXIT_LOAD, "is_available", status);
      api->close(backend);
    }
  }
  dlclose(library);
  free(path);
  return code;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(usage, stdout) < 0;
  static Call call = {.runs = 1};
  int code = parse(&call, argc, argv);
  if (code == 0) code = run_plugin(&call);
  free(call.blob);
  for (uint32_t i = 0; i < call.num_args; ++i) free(call.args[i].tensor.dl.data);
  return code;
}
