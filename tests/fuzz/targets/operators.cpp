// SPDX-License-Identifier: MIT
//
// fuzz-operators: the description of the operators that a model of AOTInductor calls by number.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/mutate/json.hpp"
#include "operators/proxy.hpp"
#include "tenon/abi/draft/kernel_lookup.h"
#include "tenon/backend/context.hpp"

namespace tenon::fuzz {
namespace {

/// A host that has a kernel for every operator; none is run.
const void* find_lookup(const tenon_host*, const char*) {
  static constexpr tenon_kernel_lookup_v1 table = {
      sizeof(tenon_kernel_lookup_v1),
      0,
      [](const tenon_init_context*, const tenon_kernel_context* context,
         tenon_found_kernel** out) -> tenon_status {
        [[maybe_unused]] volatile std::uint32_t kind = 0;
        for (std::uint32_t i = 0; i < context->num_args; ++i) kind = context->args[i]->kind;
        *out = reinterpret_cast<tenon_found_kernel*>(out);
        return TENON_STATUS_OK;
      },
      nullptr,
      nullptr,
      [](tenon_found_kernel*) {},
      [](const tenon_host*) { return ""; }};
  return &table;
}

void operator_calls(std::span<std::byte> bytes) {
  tenon_host host{};
  host.struct_size = sizeof host;
  host.get_extension = &find_lookup;
  tenon_init_context raw{};
  raw.struct_size = sizeof raw;
  raw.host = &host;
  const InitContext context(raw);
  use(cpu_aoti::make_proxy(text_of(bytes), &context));
}

constexpr Target all[] = {{"operator_calls", &operator_calls, &mutate_json}};

}  // namespace

const std::span<const Target> targets = all;

}  // namespace tenon::fuzz
