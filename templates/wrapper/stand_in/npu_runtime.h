// SPDX-License-Identifier: MIT
//
// A stand-in for the runtime that you wrap: its C API, as a vendor ships it. Replace it by the
// vendor's header, and remove this directory.
#ifndef NPU_RUNTIME_H
#define NPU_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NPU_MAX_RANK 8

typedef enum {
  NPU_OK = 0,
  NPU_BAD_MODEL = 1,
  NPU_BAD_ARGUMENT = 2,
  NPU_NO_MEMORY = 3,
  NPU_CANCELLED = 4
} npu_status;
typedef enum { NPU_FLOAT32 = 0, NPU_INT32 = 1, NPU_INT64 = 2 } npu_type;

typedef struct {
  npu_type type;
  uint32_t rank;
  int64_t sizes[NPU_MAX_RANK];  // -1: any size
} npu_port;

typedef struct npu_model npu_model;      // a compiled model; any thread
typedef struct npu_request npu_request;  // one run of it at a time

int npu_version(void);
// Why the last call of this thread failed.
const char* npu_last_error(void);

// Keeps no pointer to the blob. `num_threads` is 0 (all processors) to 64.
npu_status npu_model_load(const void* blob, size_t nbytes, int num_threads, npu_model** out);
// After all its requests.
void npu_model_free(npu_model* model);
size_t npu_model_num_inputs(const npu_model* model);
size_t npu_model_num_outputs(const npu_model* model);
npu_status npu_model_input(const npu_model* model, size_t index, npu_port* out);
npu_status npu_model_output(const npu_model* model, size_t index, npu_port* out);

npu_status npu_request_create(const npu_model* model, npu_request** out);
void npu_request_free(npu_request* request);
// Addresses are used until the next ones are set, and need the alignment of an element.
npu_status npu_request_set_input(npu_request* request, size_t index, const void* data,
                                 const int64_t* sizes, uint32_t rank);
// The sizes of an output, which follow from the sizes of the inputs.
npu_status npu_request_output_sizes(npu_request* request, size_t index, int64_t* sizes,
                                    uint32_t* rank);
npu_status npu_request_set_output(npu_request* request, size_t index, void* data);
// Begins a run, and waits for its end.
npu_status npu_request_start(npu_request* request);
npu_status npu_request_wait(npu_request* request);
// Ends the run that was begun last, so that npu_request_wait returns NPU_CANCELLED. Without a run
// it does nothing. Any thread.
void npu_request_cancel(npu_request* request);

#ifdef __cplusplus
}
#endif

#endif  // NPU_RUNTIME_H
