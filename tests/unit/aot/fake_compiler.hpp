// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/abi/draft/preprocess.h"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/registry/backend_ref.hpp"

namespace tenon::test {

/// A backend whose ahead-of-time half is made of functions of a test, in terms of the C boundary
/// alone: it may do all that no plugin should. Must outlive what it gives.
class FakeCompiler {
 public:
  explicit FakeCompiler(std::string backend_id) : host_({}, "/fakes/" + backend_id + ".so") {
    record_.id = std::move(backend_id);
    table.struct_size = sizeof table;
    table.partition = [](tenon_backend* backend, const tenon_edge_program* program,
                         const tenon_compile_spec* options, std::uint32_t num_options,
                         const tenon_partition_sink* sink) {
      return self(backend).partition(*program, options, num_options, *sink);
    };
    table.ops_to_not_decompose = [](tenon_backend* backend, const tenon_edge_program* program,
                                    tenon_text_sink sink, void* context) {
      return self(backend).ops_to_not_decompose(
          *program, [&](const char* text) { return sink(context, text); });
    };
    table.preprocess = [](tenon_backend* backend, const tenon_partition* partitions,
                          std::uint32_t num_partitions, const tenon_preprocess_sink* sink) {
      return self(backend).preprocess(partitions, num_partitions, *sink);
    };
  }
  FakeCompiler(const FakeCompiler&) = delete;
  FakeCompiler& operator=(const FakeCompiler&) = delete;

  /// Its extension; a test may set NULL functions and other sizes.
  tenon_preprocess_v1 table{};
  bool has_extension = true;

  std::function<tenon_status(const tenon_edge_program&, const tenon_compile_spec*, std::uint32_t,
                             const tenon_partition_sink&)>
      partition;
  std::function<tenon_status(const tenon_edge_program&,
                             const std::function<tenon_status(const char*)>&)>
      ops_to_not_decompose;
  std::function<tenon_status(const tenon_partition*, std::uint32_t, const tenon_preprocess_sink&)>
      preprocess;

  /// The backend, opened.
  [[nodiscard]] std::shared_ptr<const host::LoadedBackend> open() {
    tenon_backend_api api{};
    api.struct_size = sizeof api;
    api.open = [](const tenon_host*, tenon_backend** out) -> tenon_status {
      *out = reinterpret_cast<tenon_backend*>(opening());
      return TENON_STATUS_OK;
    };
    api.close = [](tenon_backend*) {};
    api.init = [](tenon_backend*, const tenon_init_context*, tenon_delegate**) -> tenon_status {
      return TENON_STATUS_NOT_SUPPORTED;
    };
    api.execute = [](tenon_backend*, tenon_delegate*, const tenon_execution_context*,
                     tenon_value* const*,
                     std::uint32_t) -> tenon_status { return TENON_STATUS_NOT_SUPPORTED; };
    api.destroy = [](tenon_backend*, tenon_delegate*) {};
    api.get_extension = [](tenon_backend* backend, const char* id) -> const void* {
      const FakeCompiler& fake = self(backend);
      const bool asked = std::string_view(id) == TENON_EXTENSION_PREPROCESS;
      return asked && fake.has_extension ? &fake.table : nullptr;
    };
    opening() = this;
    auto opened = host::LoadedBackend::open(record_, host_.get(), api);
    return opened.ok() ? std::make_shared<const host::LoadedBackend>(*std::move(opened)) : nullptr;
  }
  [[nodiscard]] host::BackendRef ref() { return host::BackendRef(open()); }

  /// Leaves `text` as the reason of `status`, which it gives back.
  tenon_status fail(tenon_status status, std::string_view text) const {
    host_.get()->set_last_error(host_.get(), status, text.data(), text.size());
    return status;
  }

 private:
  static FakeCompiler& self(tenon_backend* backend) noexcept {
    return *reinterpret_cast<FakeCompiler*>(backend);
  }
  // `open` gets no argument that identifies the compiler.
  static FakeCompiler*& opening() noexcept {
    static FakeCompiler* fake = nullptr;
    return fake;
  }

  host::BackendRecord record_;
  host::HostTable host_;
};

}  // namespace tenon::test
