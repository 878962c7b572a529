// SPDX-License-Identifier: MIT
//
// Of a build without reference_backends/cpu_kernels: the loops of kernels.hpp compute everything.
#include "kernels/vectors/vector_level.hpp"
#include "runtime/cpu_kernels.hpp"

/// Loops are compiled once: the code that detects the processor is in the library that is not here.
tenon::cpu_aoti::VectorLevel tenon::cpu_aoti::vector_level() noexcept {
  return VectorLevel::baseline;
}

namespace graph_backend {

struct CpuKernels::Memory {};

void CpuKernels::set_plugin_file(std::string_view) {}
std::unique_ptr<CpuKernels> CpuKernels::make() { return nullptr; }
CpuKernels::CpuKernels(std::unique_ptr<Memory> memory) noexcept : memory_(std::move(memory)) {}
CpuKernels::~CpuKernels() = default;

bool CpuKernels::has(const OperatorUnion&) noexcept { return false; }

tenon::Status CpuKernels::within(const KernelCall&, tenon::Status (*body)(const void*),
                                 const void* data) {
  return body(data);
}

tenon::Status CpuKernels::run(const OperatorUnion&, Operands, const Operand&) {
  return tenon::error(tenon::Error::NotSupported, "this build has no cpu_kernels");
}

std::uint64_t CpuKernels::nbytes() const noexcept { return 0; }

}  // namespace graph_backend
