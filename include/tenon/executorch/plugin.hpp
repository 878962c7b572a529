// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/executorch/backend/bridged_backend.hpp"
#include "tenon/executorch/backend/bridged_kernels.hpp"
#include "tenon/tenon.hpp"

/// Makes a plugin out of a description of a backend of ExecuTorch's (see
/// tenon::bridge::BridgedBackend), in place of TENON_PLUGIN:
/// `TENON_EXECUTORCH_BACKEND(Xnnpack);`. Compiled with -DTENON_STATIC_PLUGIN, an application names
/// it `XnnpackPlugin`.
///
/// A plugin of several backends names each and writes TENON_PLUGIN itself:
///
///     using A = tenon::bridge::BridgedBackend<AboutA>;
///     using B = tenon::bridge::BridgedBackend<AboutB>;
///     TENON_PLUGIN(A, B);
#define TENON_EXECUTORCH_BACKEND(About)                         \
  using About##Plugin = ::tenon::bridge::BridgedBackend<About>; \
  TENON_PLUGIN(About##Plugin)

/// Makes a plugin out of a class derived from ExecuTorch's BackendInterface, without changes to it:
/// `TENON_EXECUTORCH_PLUGIN(MyBackend, "MyBackend");`. Remove the class's static registration, or
/// loading the plugin registers it with ExecuTorch as well. An application that links it
/// statically names it `TenonExecutorchPlugin`.
#define TENON_EXECUTORCH_PLUGIN(Class, Id)     \
  namespace {                                  \
  struct TenonExecutorch {                     \
    static constexpr std::string_view id = Id; \
    using Interface = Class;                   \
  };                                           \
  }                                            \
  TENON_EXECUTORCH_BACKEND(TenonExecutorch)

/// Makes a plugin of kernels out of a description (see tenon::bridge::BridgedKernels):
/// `TENON_EXECUTORCH_KERNELS(Kernels);`. An application that links it statically names it
/// `KernelsPlugin`.
#define TENON_EXECUTORCH_KERNELS(About)                         \
  using About##Plugin = ::tenon::bridge::BridgedKernels<About>; \
  TENON_PLUGIN(About##Plugin)
