// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <tenon/tenon.hpp>

/// Parts of backends that have nothing to do.
namespace tenon::test {

/// A base for backends of tests: delegates are empty, and a run does nothing.
struct IdleDelegates {
  struct Delegate {};
  Result<Delegate> init(InitContext&, Blob, CompileSpecs) { return Delegate{}; }
  Status execute(ExecutionContext&, Delegate&, Args) { return ok(); }
};

/// The table of a backend without extensions: each function succeeds and does nothing.
inline tenon_backend_api idle_table() {
  tenon_backend_api api{};
  api.struct_size = sizeof api;
  api.open = [](const tenon_host*, tenon_backend**) -> tenon_status { return TENON_STATUS_OK; };
  api.close = [](tenon_backend*) {};
  api.init = [](tenon_backend*, const tenon_init_context*, tenon_delegate**) -> tenon_status {
    return TENON_STATUS_OK;
  };
  api.execute = [](tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                   tenon_value* const*, std::uint32_t) -> tenon_status { return TENON_STATUS_OK; };
  api.destroy = [](tenon_backend*, tenon_delegate*) {};
  return api;
}

}  // namespace tenon::test
