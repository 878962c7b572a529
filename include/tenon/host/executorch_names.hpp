// SPDX-License-Identifier: MIT
//
// The names of registration that ExecuTorch's runtime/backend/interface.h has in `torch::executor`,
// for sources of applications that move over. Opt-in: nothing else includes this. Not in one source
// with ExecuTorch's own headers, which declare the same names. An author's half is
// <tenon/executorch_names.hpp>. New code has a `tenon::host::BackendRegistry` of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/core/error.hpp"
#include "tenon/host/backend_registry.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace torch::executor {

/// A backend and the name that programs give it.
struct Backend {
  std::string name;  ///< Empty: its own id.
  std::shared_ptr<const tenon::host::LoadedBackend> backend;
};

/// The registry behind the functions below: one for the process, as ExecuTorch has one. Give it to
/// `Method::load`. Searches and plugin files may be added to it.
[[nodiscard]] inline tenon::host::BackendRegistry& backend_registry() {
  static tenon::host::BackendRegistry registry;
  return registry;
}

/// Registers a backend for the process. The error's text is lost, which is why
/// `BackendRegistry::register_backend` returns a Status.
[[nodiscard]] inline tenon::Error register_backend(const Backend& backend) {
  return backend_registry().register_backend(backend.backend, {.name = backend.name}).error();
}

/// The backend of that name, or an empty reference: then `backend_registry().explain(name)` has the
/// reason.
[[nodiscard]] inline tenon::host::BackendRef get_backend_class(std::string_view name) {
  auto found = backend_registry().lookup_backend(name);
  return found.ok() ? *std::move(found) : tenon::host::BackendRef();
}

}  // namespace torch::executor
