// SPDX-License-Identifier: MIT
#include "onednn/format.hpp"

#include "onednn/handles.hpp"

namespace tenon::cpu_aoti::onednn {

dnnl_data_type_t data_type(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::Float:
      return dnnl_f32;
    case ScalarType::BFloat16:
      return dnnl_bf16;
    case ScalarType::Half:
      return dnnl_f16;
    default:
      return dnnl_data_type_undef;
  }
}

#if DNNL_VERSION_MAJOR >= 3
namespace {

constexpr auto make_by_strides = &Api::dnnl_memory_desc_create_with_strides;
constexpr auto make_by_tag = &Api::dnnl_memory_desc_create_with_tag;

}  // namespace

Format::Format(dnnl_memory_desc_t made)
    : desc_(made, [](dnnl_memory_desc_t desc) { api().dnnl_memory_desc_destroy(desc); }) {}

Format::Handle Format::handle() const noexcept { return desc_.get(); }

Result<Format> Format::copy_of(Handle handle) {
  dnnl_memory_desc_t made = nullptr;
  TENON_RETURN_IF_ERROR(check(api().dnnl_memory_desc_clone(&made, handle), "copying a format"));
  return Format(made);
}
#else
namespace {

constexpr auto make_by_strides = &Api::dnnl_memory_desc_init_by_strides;
constexpr auto make_by_tag = &Api::dnnl_memory_desc_init_by_tag;

}  // namespace

Format::Format(dnnl_memory_desc_t made) : desc_(made) {}

Format::Handle Format::handle() const noexcept { return &desc_; }

Result<Format> Format::copy_of(Handle handle) { return Format(*handle); }
#endif

Result<Format> Format::with_strides(Sizes sizes, const std::int64_t* strides,
                                    dnnl_data_type_t type) {
  dnnl_memory_desc_t made{};
  const auto rank = static_cast<int>(sizes.size());
  TENON_RETURN_IF_ERROR(check((api().*make_by_strides)(&made, rank, sizes.data(), type, strides),
                              "describing strides"));
  return Format(made);
}

Result<Format> Format::with_tag(Sizes sizes, dnnl_data_type_t type, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t made{};
  const auto rank = static_cast<int>(sizes.size());
  TENON_RETURN_IF_ERROR(
      check((api().*make_by_tag)(&made, rank, sizes.data(), type, tag), "describing a format"));
  return Format(made);
}

}  // namespace tenon::cpu_aoti::onednn
