// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "device_tensors.hpp"
#include "support/catch.hpp"

namespace kernel_test {

namespace kernels = tenon::cuda_aoti::kernels;
using tenon::Error;
using tenon::Result;
using tenon::Status;

/// Records launches: of the parameters only the first, with the size that a kernel of that name
/// takes.
struct Recorder {
  struct Call {
    std::string function;
    std::array<unsigned, 3> grid, block;
    std::size_t parameters;
    kernels::MatmulArguments matmul{};
    kernels::SortArguments sort{};
    kernels::RandomArguments random{};
    kernels::CopyArguments copy{};
    kernels::RandomState* state{};
    std::uint64_t blocks{};
  };
  std::vector<Call> calls;
  std::size_t fail_at = ~std::size_t{0};

  kernels::Launcher launcher() {
    return {[](void* context, const kernels::Launch& what) {
              return static_cast<Recorder*>(context)->record(what);
            },
            this};
  }

 private:
  template <class T>
  static void read(T& to, const void* from) {
    std::memcpy(&to, from, sizeof to);
  }

  Status record(const kernels::Launch& what) {
    if (calls.size() == fail_at) return tenon::error(Error::Internal, "cuLaunchKernel failed");
    Call call{what.function, what.grid, what.block, what.parameters.size()};
    if (call.function.starts_with("tenon_copy")) {
      read(call.copy, what.parameters[0]);
    } else if (call.function.starts_with("tenon_sort")) {
      read(call.sort, what.parameters[0]);
    } else if (call.function == "tenon_random_advance") {
      read(call.state, what.parameters[0]);
      read(call.blocks, what.parameters[1]);
    } else if (call.function.starts_with("tenon_rand")) {
      read(call.random, what.parameters[0]);
    } else {
      read(call.matmul, what.parameters[0]);
    }
    calls.push_back(std::move(call));
    return tenon::ok();
  }
};

inline bool listed(const std::string& function) {
  for (const kernels::Module module : kernels::all_modules) {
    for (const char* name : kernels::functions(module)) {
      if (name == function) return true;
    }
  }
  return false;
}

template <class Outcome>
void fails(Outcome&& outcome, Error code, const std::string& text) {
  CHECK(outcome.error() == code);
  CHECK_THAT(std::string(outcome.text()), ContainsSubstring(text));
}

}  // namespace kernel_test
