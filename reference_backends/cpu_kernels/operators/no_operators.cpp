// SPDX-License-Identifier: MIT
//
// Instead of operator_list.cpp in a build whose option `cpu_kernels` leaves out `operators`.
#include "operators/arguments.hpp"

namespace tenon::cpu_aoti {

std::span<const OperatorKernel> operator_kernels() noexcept { return {}; }

const OperatorKernel* find_operator(std::string_view) noexcept { return nullptr; }

}  // namespace tenon::cpu_aoti
