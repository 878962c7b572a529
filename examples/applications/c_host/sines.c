// SPDX-License-Identifier: MIT
// An application in C11 that runs a program through a plugin: sines PLUGIN.so MODEL.pte
//
// Its input is four numbers: `sines demo_backend.so MODEL.pte` with the program in
// tests/fixtures/demo_sin_inline prints their sines.
#include <stdint.h>
#include <stdio.h>
#include <tenon/host/c/tenon_host.h>

static int report(tenon_status status, tenon_error* error) {
  fprintf(stderr, "sines: %s: %s\n", tenon_status_name(status), tenon_error_text(error));
  tenon_error_destroy(error);
  return 1;
}

// [run]
static tenon_status run(const char* plugin, const char* model, tenon_error** error) {
  tenon_registry* registry = NULL;
  tenon_program* program = NULL;
  tenon_method* method = NULL;
  tenon_status status = tenon_registry_create(NULL, &registry, error);
  if (status == TENON_STATUS_OK) {
    status = tenon_registry_register_plugin(registry, plugin, NULL, error);  // read, not loaded
  }
  if (status == TENON_STATUS_OK) status = tenon_program_open(model, NULL, &program, error);
  if (status == TENON_STATUS_OK) {
    const tenon_method_options options = {.struct_size = sizeof options, .registry = registry};
    status = tenon_method_load(program, "forward", &options, &method, error);
  }
  float values[4] = {0.1f, 0.2f, 0.3f, 0.4f};
  if (status == TENON_STATUS_OK) {
    int64_t sizes[2] = {1, 4};
    const tenon_dl_tensor input = {.data = values,
                                   .device = {TENON_DL_CPU, 0},
                                   .ndim = 2,
                                   .dtype = {TENON_DL_FLOAT, 32, 1},
                                   .shape = sizes};
    status = tenon_method_set_input(method, 0, &input, error);  // not copied
  }
  if (status == TENON_STATUS_OK) status = tenon_method_execute(method, error);
  if (status == TENON_STATUS_OK) {
    const tenon_tensor* output = tenon_method_get_output(method, 0)->as.tensor;  // not copied
    const float* sines = output->dl.data;
    for (uint64_t i = 0; i < output->nbytes / sizeof(float); ++i) printf("%g\n", sines[i]);
  }
  tenon_method_destroy(method);  // in any order; NULL is ignored
  tenon_program_destroy(program);
  tenon_registry_destroy(registry);
  return status;
}
// [run]

int main(int argc, char** argv) {
  if (argc != 3) {
    fputs("usage: sines PLUGIN.so MODEL.pte\n", stderr);
    return 2;
  }
  // [version]
  const uint32_t version = tenon_c_version();  // 65536 * major + minor
  if (version >> 16 != TENON_C_MAJOR || version < TENON_C_VERSION) {
    fputs("this libtenon is older than the header, or of another major\n", stderr);
    return 1;
  }
  // [version]
  tenon_error* error = NULL;
  const tenon_status status = run(argv[1], argv[2], &error);
  return status == TENON_STATUS_OK ? 0 : report(status, error);
}
