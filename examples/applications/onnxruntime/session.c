// SPDX-License-Identifier: MIT
// A model with a plugin's context in ONNX Runtime's C interface, 1.23 or later:
//
//   T=Float:2,3; tenon-pack BLOB --backend Add --input $T --input $T --output $T --onnx -o add.onnx
//   cc session.c -I ONNXRUNTIME/include -L ONNXRUNTIME/lib -lonnxruntime -o session
//   TENON_PLUGIN_FILES=hello.so ./session libtenon_onnxruntime.so Add add.onnx
//
// where BLOB has the bytes 2 0 0 0. Prints the sum of two matrices.
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <string.h>

static const OrtApi* ort;

static int failed(OrtStatus* status) {
  if (!status) return 0;
  fprintf(stderr, "session: %s\n", ort->GetErrorMessage(status));
  ort->ReleaseStatus(status);
  return 1;
}

/// The options of a session with the provider of `backend` before ONNX Runtime's own.
static int choose(OrtEnv* env, const char* backend, OrtSessionOptions* options) {
  const OrtEpDevice* const* devices = NULL;
  size_t count = 0;
  if (failed(ort->GetEpDevices(env, &devices, &count))) return 0;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(ort->EpDevice_EpName(devices[i]), backend) != 0) continue;
    return !failed(
        ort->SessionOptionsAppendExecutionProvider_V2(options, env, &devices[i], 1, NULL, NULL, 0));
  }
  fprintf(stderr, "session: no plugin has the backend %s\n", backend);
  return 0;
}

static int run(OrtSession* session) {
  static const char* const input_names[] = {"input_0", "input_1"};
  static const char* const output_names[] = {"output_0"};
  float matrices[2][6] = {{1, 2, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}};
  const int64_t sizes[] = {2, 3};
  OrtMemoryInfo* cpu = NULL;
  OrtValue* inputs[2] = {NULL, NULL};
  OrtValue* output = NULL;
  int ok = !failed(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &cpu));
  for (int i = 0; ok && i < 2; ++i) {  // not copied, here and in the plugin
    ok = !failed(ort->CreateTensorWithDataAsOrtValue(cpu, matrices[i], sizeof matrices[i], sizes, 2,
                                                     ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                     &inputs[i]));
  }
  ok = ok && !failed(ort->Run(session, NULL, input_names, (const OrtValue* const*)inputs, 2,
                              output_names, 1, &output));
  void* sum = NULL;
  ok = ok && !failed(ort->GetTensorMutableData(output, &sum));
  for (int i = 0; ok && i < 6; ++i) printf("%g\n", ((const float*)sum)[i]);
  ort->ReleaseValue(output);
  for (int i = 0; i < 2; ++i) ort->ReleaseValue(inputs[i]);
  ort->ReleaseMemoryInfo(cpu);
  return ok;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fputs("usage: session libtenon_onnxruntime.so BACKEND MODEL.onnx\n", stderr);
    return 2;
  }
  ort = OrtGetApiBase()->GetApi(23);
  if (!ort) {
    fprintf(stderr, "session: expected ONNX Runtime 1.23 or later, found %s\n",
            OrtGetApiBase()->GetVersionString());
    return 1;
  }
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  if (failed(ort->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "session", &env))) return 1;
  const int is_registered = !failed(ort->RegisterExecutionProviderLibrary(env, argv[2], argv[1]));
  const int ok = is_registered && !failed(ort->CreateSessionOptions(&options)) &&
                 choose(env, argv[2], options) &&
                 !failed(ort->CreateSession(env, argv[3], options, &session)) && run(session);
  ort->ReleaseSession(session);  // before the library that it calls
  ort->ReleaseSessionOptions(options);
  if (is_registered) failed(ort->UnregisterExecutionProviderLibrary(env, argv[2]));
  ort->ReleaseEnv(env);
  return !ok;
}
