// SPDX-License-Identifier: MIT
//
// fuzz-operators: the description of the operators that a model of AOTInductor calls by number.
#include <cstddef>
#include <span>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutate/json.hpp"
#include "operators/proxy.hpp"

namespace tenon::fuzz {
namespace {

void operator_calls(std::span<std::byte> bytes) { use(cpu_aoti::make_proxy(text_of(bytes))); }

constexpr Target all[] = {{"operator_calls", &operator_calls, &mutate_json}};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
