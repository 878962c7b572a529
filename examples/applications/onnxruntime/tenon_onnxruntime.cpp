// SPDX-License-Identifier: MIT
//
// Plugins in stock ONNX Runtime: a library that `RegisterExecutionProviderLibrary` loads, in any
// language that ONNX Runtime has (docs/hosts/onnxruntime.md).
#include <cstddef>

#include "tenon/onnxruntime/library.hpp"

#define EXPORT __attribute__((visibility("default")))

namespace ort = tenon::ort;

namespace {

ort::Installation& installation() {
  static ort::Installation paths;
  return paths;
}

}  // namespace

extern "C" {

/// The folder of installed plugins, and the program of workers, for registrations that follow; null
/// or empty: the build's. Not at the same time as a registration.
EXPORT void tenon_onnxruntime_set_installed(const char* folder) {
  installation().plugins = folder ? folder : "";
}
EXPORT void tenon_onnxruntime_set_worker(const char* program) {
  installation().worker = program ? program : "";
}

EXPORT ort::StatusPointer CreateEpFactories(const char* name, const ort::ApiBase* base,
                                            const ort::Logger* logger, ort::EpFactory** factories,
                                            std::size_t most, std::size_t* made) {
  return ort::create_factories(name, base, logger, factories, most, made, installation());
}

EXPORT ort::StatusPointer ReleaseEpFactory(ort::EpFactory* factory) {
  return ort::release_factory(factory);
}
}
