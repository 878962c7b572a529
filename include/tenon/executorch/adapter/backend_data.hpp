// SPDX-License-Identifier: MIT
#pragma once

#include <executorch/runtime/backend/interface.h>

#include "tenon/executorch/error.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::adapter {

/// Headers after ExecuTorch 1.5: `BackendInterface` ends with one more virtual function,
/// `initialize_backend_data`, with which an application has a backend prepare its blobs once and
/// rewrites the program with the results (extension/backend_data).
template <class Interface>
concept HasBackendData = requires { &Interface::initialize_backend_data; };

/// The types of its two parameters.
template <class>
struct BackendDataFunction;
template <class Interface, class Context, class Writer>
struct BackendDataFunction<et::Error (Interface::*)(Context&, Writer&) const> {
  using ContextType = Context;
  using WriterType = Writer;
};

/// ExecuTorch's interface for an adapted backend. A plugin has nothing to store, which is the
/// answer `NotSupported`; ExecuTorch takes it for a backend whose programs stay as they are.
///
/// Where the headers do not have the function yet, one is in its place: a library that was built
/// later and does not say its version finds the same answer there, and nothing that is not its.
template <class Interface = et::BackendInterface>
class AdaptedInterface : public Interface {
 public:
  virtual et::Error initialize_backend_data(void*, void*) const { return et::Error::NotSupported; }
};

template <HasBackendData Interface>
class AdaptedInterface<Interface> : public Interface {
  using Function = BackendDataFunction<decltype(&Interface::initialize_backend_data)>;

 public:
  [[nodiscard]] et::Error initialize_backend_data(typename Function::ContextType&,
                                                  typename Function::WriterType&) const override {
    return et::Error::NotSupported;
  }
};

}}}  // namespace tenon::TENON_RELEASE::bridge::adapter
