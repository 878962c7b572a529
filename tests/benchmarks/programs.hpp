// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tenon::bench {

/// Whether the sizes of a program's tensors may change.
enum class Shapes { Fixed, Bounded };

/// Writes a program that calls one delegate of the backend `id` `calls` times, each time with one
/// input and one output of four numbers.
void write_delegate_calls(const std::string& id, int calls, Shapes shapes, const std::string& path);

/// Writes a program that calls the kernel of aten::add.out `calls` times, on two inputs and one
/// output of four numbers.
void write_kernel_calls(int calls, Shapes shapes, const std::string& path);

/// Writes a program that adds two inputs of four numbers by the backend "Add"
/// (examples/backends/hello).
void write_addition(const std::string& path);

}  // namespace tenon::bench
