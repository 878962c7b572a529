// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/core/scalar_type.hpp"
#include "tenon/host/c/impl/outcome.hpp"
#include "tenon/host/c/impl/registry.hpp"
#include "tenon/host/layers/inspect/method_meta.hpp"
#include "tenon/host/layers/variants/variants.hpp"
#include "tenon/host/loader/program/program.hpp"
#include "tenon/host/loader/program/tensor_layout.hpp"
#include "tenon/host/platform/path_text.hpp"

struct tenon_program {
  std::shared_ptr<const tenon::host::Program> program;
  std::vector<std::string> methods;  // With a NUL behind them.
};

struct tenon_method_meta {
  std::shared_ptr<const tenon::host::Program> program;
  tenon::host::MethodMeta meta;
  std::vector<std::string> backends;
  mutable tenon::host::WideSizes sizes{};
};

namespace tenon { inline namespace TENON_RELEASE { namespace host::detail {

/// Sets the members of `limits` that `texts` names.
[[nodiscard]] inline Status read_limits(std::string_view function, const char* const* texts,
                                        std::uint32_t count, HostLimits& limits) {
  TENON_TRY(const auto all, read_texts(function, "limits", texts, count));
  const auto named = named_limits(limits);
  for (const std::string_view text : all) TENON_RETURN_IF_ERROR(set_limit(named, text));
  return ok();
}

[[nodiscard]] inline Result<HostLimits> read_options(std::string_view function,
                                                     const tenon_program_options* options) {
  tenon_program_options from{};
  if (options) TENON_RETURN_IF_ERROR(read_struct(function, *options, from));
  HostLimits limits;
  TENON_RETURN_IF_ERROR(read_limits(function, from.limits, from.num_limits, limits));
  return limits;
}

[[nodiscard]] inline Result<tenon_program*> new_program(std::shared_ptr<const Program> program) {
  TENON_TRY(const Variants variants, Variants::of(*program));
  auto out = std::make_unique<tenon_program>();
  for (const std::string_view name : variants.visible_methods()) out->methods.emplace_back(name);
  out->program = std::move(program);
  return out.release();
}

/// A copy at an address that a program may begin at.
[[nodiscard]] inline std::shared_ptr<std::byte> copy_program(const void* bytes, std::size_t size) {
  constexpr auto alignment = std::align_val_t(16);
  // Not for 0 bytes, which need no copy either.
  std::shared_ptr<std::byte> out(static_cast<std::byte*>(::operator new(size + 1, alignment)),
                                 [](std::byte* block) { ::operator delete(block, alignment); });
  if (size != 0) std::memcpy(out.get(), bytes, size);
  return out;
}

/// Calls the application's function at its end, once it is `armed`: the library has the bytes.
class Release {
 public:
  Release(void(TENON_CALL* release)(void*), void* data) noexcept : release_(release), data_(data) {}
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;
  ~Release() {
    if (armed_ && release_) release_(data_);
  }
  void arm() noexcept { armed_ = true; }

 private:
  void(TENON_CALL* release_)(void*);
  void* data_;
  bool armed_ = false;
};

[[nodiscard]] inline tenon_value_meta to_meta(const TensorMeta& from, WideSizes& sizes) {
  const ScalarTypeInfo& type = scalar_types[static_cast<std::size_t>(from.layout.scalar_type)];
  return {0,
          TENON_VALUE_TENSOR,
          static_cast<std::int32_t>(from.layout.scalar_type),
          static_cast<std::uint32_t>(from.layout.sizes.size()),
          type.dl,
          from.shape_dynamism,
          sizes.keep(from.layout.sizes),
          from.layout.dim_order.data(),
          from.layout.nbytes(),
          from.device,
          from.is_memory_planned ? 1u : 0u,
          static_cast<std::uint32_t>(from.name.size()),
          from.name.data(),
          nullptr};
}

template <class Tag, class TensorOf>
[[nodiscard]] Status get_meta(std::string_view function, const tenon_method_meta* meta,
                              std::uint64_t index, tenon_value_meta* out, const Tag& tag_of,
                              const TensorOf& tensor_of) {
  TENON_RETURN_IF_ERROR(expect_given(function, given("meta", meta)));
  TENON_RETURN_IF_ERROR(expect_writable(function, out));
  TENON_TRY(const std::uint32_t kind, tag_of(static_cast<std::size_t>(index)));
  tenon_value_meta value{};
  value.kind = kind;
  if (kind == TENON_VALUE_TENSOR) {
    TENON_TRY(const TensorMeta tensor, tensor_of(static_cast<std::size_t>(index)));
    value = to_meta(tensor, meta->sizes);
  }
  write_struct(*out, value);
  return ok();
}

}}}  // namespace tenon::TENON_RELEASE::host::detail

tenon_status TENON_CALL tenon_program_open(const char* path, const tenon_program_options* options,
                                           tenon_program** out, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_program_open";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("path", path), given("out", out)));
    TENON_TRY(const auto limits, read_options(function, options));
    TENON_TRY(auto program, tenon::host::Variants::open(tenon::host::path_of(path), limits));
    TENON_TRY(*out, new_program(std::move(program)));
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_program_copy(const void* bytes, uint64_t nbytes, const char* name,
                                           const tenon_program_options* options,
                                           tenon_program** out, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_program_copy";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("bytes", bytes), given("out", out)));
    TENON_TRY(const auto limits, read_options(function, options));
    const auto size = static_cast<std::size_t>(nbytes);
    auto copy = copy_program(bytes, size);
    const std::span<const std::byte> all(copy.get(), size);
    TENON_TRY(auto program,
              tenon::host::Program::from_bytes(all, std::move(copy),
                                               std::string(text_or(name, "a program")), limits));
    TENON_TRY(*out, new_program(std::move(program)));
    return tenon::ok();
  });
}

tenon_status TENON_CALL tenon_program_borrow(const void* bytes, uint64_t nbytes,
                                             void(TENON_CALL* release)(void* data), void* data,
                                             const char* name, const tenon_program_options* options,
                                             tenon_program** out, tenon_error** error) {
  using namespace tenon::host::detail;
  constexpr std::string_view function = "tenon_program_borrow";
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given(function, given("bytes", bytes), given("out", out)));
    TENON_TRY(const auto limits, read_options(function, options));
    const auto keep = std::make_shared<Release>(release, data);
    const std::span<const std::byte> all(static_cast<const std::byte*>(bytes),
                                         static_cast<std::size_t>(nbytes));
    TENON_TRY(auto program, tenon::host::Program::from_bytes(
                                all, keep, std::string(text_or(name, "a program")), limits));
    TENON_TRY(*out, new_program(std::move(program)));
    keep->arm();
    return tenon::ok();
  });
}

void TENON_CALL tenon_program_destroy(tenon_program* program) { delete program; }

uint64_t TENON_CALL tenon_program_num_methods(const tenon_program* program) {
  return program ? program->methods.size() : 0;
}

const char* TENON_CALL tenon_program_method_name(const tenon_program* program, uint64_t index) {
  if (!program || index >= program->methods.size()) return nullptr;
  return program->methods[static_cast<std::size_t>(index)].c_str();
}

tenon_status TENON_CALL tenon_program_get_method_meta(const tenon_program* program,
                                                      const char* method, tenon_method_meta** out,
                                                      tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&]() -> tenon::Status {
    TENON_RETURN_IF_ERROR(expect_given("tenon_program_get_method_meta", given("program", program),
                                       given("method", method), given("out", out)));
    TENON_TRY(auto meta, tenon::host::MethodMeta::of(*program->program, method));
    std::vector<std::string> backends;
    for (const std::string_view id : meta.backends()) backends.emplace_back(id);
    *out = new tenon_method_meta{program->program, std::move(meta), std::move(backends)};
    return tenon::ok();
  });
}

uint64_t TENON_CALL tenon_method_meta_num_inputs(const tenon_method_meta* meta) {
  return meta ? meta->meta.num_inputs() : 0;
}

uint64_t TENON_CALL tenon_method_meta_num_outputs(const tenon_method_meta* meta) {
  return meta ? meta->meta.num_outputs() : 0;
}

tenon_status TENON_CALL tenon_method_meta_get_input(const tenon_method_meta* meta, uint64_t index,
                                                    tenon_value_meta* out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&] {
    return get_meta(
        "tenon_method_meta_get_input", meta, index, out,
        [&](std::size_t i) { return meta->meta.input_tag(i); },
        [&](std::size_t i) { return meta->meta.input_tensor_meta(i); });
  });
}

tenon_status TENON_CALL tenon_method_meta_get_output(const tenon_method_meta* meta, uint64_t index,
                                                     tenon_value_meta* out, tenon_error** error) {
  using namespace tenon::host::detail;
  return guarded(error, [&] {
    return get_meta(
        "tenon_method_meta_get_output", meta, index, out,
        [&](std::size_t i) { return meta->meta.output_tag(i); },
        [&](std::size_t i) { return meta->meta.output_tensor_meta(i); });
  });
}

uint64_t TENON_CALL tenon_method_meta_num_backends(const tenon_method_meta* meta) {
  return meta ? meta->backends.size() : 0;
}

const char* TENON_CALL tenon_method_meta_backend(const tenon_method_meta* meta, uint64_t index) {
  if (!meta || index >= meta->backends.size()) return nullptr;
  return meta->backends[static_cast<std::size_t>(index)].c_str();
}

void TENON_CALL tenon_method_meta_destroy(tenon_method_meta* meta) { delete meta; }
