// SPDX-License-Identifier: MIT
#include "onednn/onednn.hpp"

namespace tenon::cpu_aoti::onednn {

Status check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) [[likely]]
    return ok();
  const Error code = status == dnnl_out_of_memory   ? Error::MemoryAllocationFailed
                     : status == dnnl_unimplemented ? Error::NotSupported
                                                    : Error::Internal;
  return error(code, "oneDNN: ", std::string_view(what), ": status ", static_cast<int>(status));
}

dnnl_engine_t engine() {
  static const Owned<dnnl_engine_t, &Api::dnnl_engine_destroy> only = [] {
    dnnl_engine_t made = nullptr;
    if (api().dnnl_engine_create(&made, dnnl_cpu, 0) != dnnl_success) made = nullptr;
    return Owned<dnnl_engine_t, &Api::dnnl_engine_destroy>(made);
  }();
  return only.get();
}

std::size_t KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < key.count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(key.values[i])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

Status Bound::make(const_dnnl_primitive_desc_t desc, std::span<const int> arguments) {
  dnnl_primitive_t primitive = nullptr;
  TENON_RETURN_IF_ERROR(check(api().dnnl_primitive_create(&primitive, desc), "making a primitive"));
  primitive_.reset(primitive);
  dnnl_stream_t stream = nullptr;
  TENON_RETURN_IF_ERROR(check(
      api().dnnl_stream_create(&stream, engine(), dnnl_stream_default_flags), "making a stream"));
  stream_.reset(stream);
  const auto add = [&](int index, dnnl_query_t query, int number) {
    const auto* found = api().dnnl_primitive_desc_query_md(desc, query, number);
    if (!found) return error(Error::Internal, "oneDNN: a primitive without argument ", index);
    dnnl_memory_t memory = nullptr;
    TENON_RETURN_IF_ERROR(
        check(api().dnnl_memory_create(&memory, found, engine(), DNNL_MEMORY_NONE),
              "describing an argument"));
    arguments_.push_back({index, *found, Memory(memory)});
    call_.push_back({index, memory});
    return ok();
  };
  for (const int index : arguments)
    TENON_RETURN_IF_ERROR(add(index, dnnl_query_exec_arg_md, index));
  const auto* scratchpad = api().dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  scratchpad_ =
      scratchpad ? static_cast<std::int64_t>(api().dnnl_memory_desc_get_size(scratchpad)) : 0;
  return scratchpad_ > 0 ? add(DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0) : ok();
}

Status Bound::make(const_dnnl_op_desc_t operation, const Attributes& attributes,
                   std::span<const int> arguments, const char* what) {
  dnnl_primitive_desc_t desc = nullptr;
  TENON_RETURN_IF_ERROR(
      check(api().dnnl_primitive_desc_create(&desc, operation, attributes.get(), engine(), nullptr),
            what));
  const PrimitiveDesc owned(desc);
  return make(desc, arguments);
}

const dnnl_memory_desc_t& Bound::desc(int argument) const noexcept {
  std::size_t at = 0;
  while (arguments_[at].index != argument) ++at;
  return arguments_[at].desc;
}

Status Bound::set(int argument, void* data) {
  for (const Argument& known : arguments_) {
    if (known.index != argument) continue;
    return check(api().dnnl_memory_set_data_handle(known.memory.get(), data),
                 "setting an argument");
  }
  return error(Error::Internal, "oneDNN: a primitive without argument ", argument);
}

Status Bound::run() {
  const auto execute = [&] {
    return check(api().dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                              static_cast<int>(call_.size()), call_.data()),
                 "running a primitive");
  };
  if (scratchpad_ == 0) return execute();
  TENON_TRY(const Scratch scratch, Scratch::of(scratchpad_));
  TENON_RETURN_IF_ERROR(set(DNNL_ARG_SCRATCHPAD, scratch.as<void>()));
  return execute();
}

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

Result<dnnl_memory_desc_t> strided_desc(Sizes sizes, const std::int64_t* strides,
                                        dnnl_data_type_t type) {
  dnnl_memory_desc_t desc;
  TENON_RETURN_IF_ERROR(
      check(api().dnnl_memory_desc_init_by_strides(&desc, static_cast<int>(sizes.size()),
                                                   sizes.data(), type, strides),
            "describing strides"));
  return desc;
}

Result<dnnl_memory_desc_t> tagged_desc(Sizes sizes, dnnl_data_type_t type, dnnl_format_tag_t tag) {
  dnnl_memory_desc_t desc;
  TENON_RETURN_IF_ERROR(check(api().dnnl_memory_desc_init_by_tag(
                                  &desc, static_cast<int>(sizes.size()), sizes.data(), type, tag),
                              "describing a format"));
  return desc;
}

Result<Attributes> new_attributes() {
  dnnl_primitive_attr_t made = nullptr;
  TENON_RETURN_IF_ERROR(check(api().dnnl_primitive_attr_create(&made), "making attributes"));
  Attributes attributes(made);
  TENON_RETURN_IF_ERROR(
      check(api().dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user),
            "setting the scratchpad"));
  return attributes;
}

}  // namespace tenon::cpu_aoti::onednn
