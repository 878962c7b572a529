// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "tenon/host/backend_registry.hpp"
#include "tenon/onnxruntime/runtime.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace ort {

/// Shared by all providers of one registration of the library. Any thread.
struct Bridge {
  Bridge(Runtime loaded, const Logger* log, std::unique_ptr<host::BackendRegistry> found) noexcept
      : runtime(loaded), logger(log), registry(std::move(found)) {}

  Runtime runtime;
  const Logger* logger;  ///< ONNX Runtime's, which outlives the registration.
  std::unique_ptr<host::BackendRegistry> registry;
};

}}}  // namespace tenon::TENON_RELEASE::ort
