// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <tenon/backend/cancel_flag.hpp>
#include <tenon/core/application/thread_pool.hpp>
#include <tenon/core/result.hpp>

#include "common/graph.hpp"
#include "common/shape.hpp"

namespace graph_backend {

/// Given to the kernels of a run.
struct KernelCall {
  tenon::ThreadPool threads{};
  tenon::CancelFlag cancelled{};
};

/// The operators for which reference_backends/cpu_kernels has kernels: products, convolutions,
/// attention and pooling. Keeps what the kernels prepare for a shape, and their memory, so that a
/// run with shapes of an earlier one allocates nothing. Threads: one at a time.
class CpuKernels {
 public:
  /// Says where the plugin is, before the first `make`: a package has oneDNN next to it.
  static void set_plugin_file(std::string_view file);

  /// Null where the build has no cpu_kernels or the machine no oneDNN, which they need.
  [[nodiscard]] static std::unique_ptr<CpuKernels> make();
  ~CpuKernels();

  [[nodiscard]] static bool has(const OperatorUnion& op) noexcept;

  /// Calls `body`, in which `run` may be called: its kernels have the threads of `call`, and end
  /// early when that run is cancelled. errors: as `body`; an error of the threads
  template <class Body>
  [[nodiscard]] tenon::Status within(const KernelCall& call, const Body& body) {
    return within(
        call, [](const void* data) { return (*static_cast<const Body*>(data))(); }, &body);
  }

  /// Computes `out`, as `graph_backend::run` does, for an operator that it has.
  ///
  /// errors: Cancelled, MemoryAllocationFailed, and oneDNN's
  [[nodiscard]] tenon::Status run(const OperatorUnion& op, Operands inputs, const Operand& out);

  /// Bytes of the kernels' memory.
  [[nodiscard]] std::uint64_t nbytes() const noexcept;

 private:
  [[nodiscard]] tenon::Status within(const KernelCall& call, tenon::Status (*body)(const void*),
                                     const void* data);

  struct Memory;
  explicit CpuKernels(std::unique_ptr<Memory> memory) noexcept;
  std::unique_ptr<Memory> memory_;
};

}  // namespace graph_backend
