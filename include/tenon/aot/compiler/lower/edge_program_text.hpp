// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "tenon/aot/edge_program.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace aot {

/// The program for people: a line for each input, parameter, buffer and constant, each node in the
/// order in which they run, and each output.
///
///     method "forward"
///     size s77: 1 to 16
///     input x: Float[s77, 16]
///     parameter p_fc_weight "fc.weight": Float[4, 16]
///     1 linear: Float[s77, 4] = aten.linear.default(input=x, weight=p_fc_weight)  # fc
///     output linear
///
/// A node's line begins with its debug handle and ends with the module that called it. An order of
/// dimensions is printed when it is not the plain one. Texts of the program are made printable, and
/// cut after 200 bytes.
[[nodiscard]] std::string to_text(const EdgeProgram& program);

}}}  // namespace tenon::TENON_RELEASE::aot
