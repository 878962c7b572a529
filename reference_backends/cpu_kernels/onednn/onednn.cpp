// SPDX-License-Identifier: MIT
#include "onednn/onednn.hpp"

namespace tenon::cpu_aoti::onednn {

std::size_t KeyHash::operator()(const Key& key) const noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < key.count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(key.values[i])) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

Status Bound::make(const PrimitiveDesc& desc, std::span<const int> arguments) {
  dnnl_primitive_t primitive = nullptr;
  TENON_RETURN_IF_ERROR(
      check(api().dnnl_primitive_create(&primitive, desc.get()), "making a primitive"));
  primitive_.reset(primitive);
  dnnl_stream_t stream = nullptr;
  TENON_RETURN_IF_ERROR(check(
      api().dnnl_stream_create(&stream, engine(), dnnl_stream_default_flags), "making a stream"));
  stream_.reset(stream);
  const auto add = [&](int index, dnnl_query_t query, int number) {
    const Format::Handle found = api().dnnl_primitive_desc_query_md(desc.get(), query, number);
    if (!found) return error(Error::Internal, "oneDNN: a primitive without argument ", index);
    dnnl_memory_t memory = nullptr;
    TENON_RETURN_IF_ERROR(
        check(api().dnnl_memory_create(&memory, found, engine(), DNNL_MEMORY_NONE),
              "describing an argument"));
    Memory owned(memory);
    TENON_TRY(Format format, Format::copy_of(found));
    arguments_.push_back({index, std::move(format), std::move(owned)});
    call_.push_back({index, memory});
    return ok();
  };
  for (const int index : arguments)
    TENON_RETURN_IF_ERROR(add(index, dnnl_query_exec_arg_md, index));
  const Format::Handle scratchpad =
      api().dnnl_primitive_desc_query_md(desc.get(), dnnl_query_scratchpad_md, 0);
  scratchpad_ =
      scratchpad ? static_cast<std::int64_t>(api().dnnl_memory_desc_get_size(scratchpad)) : 0;
  return scratchpad_ > 0 ? add(DNNL_ARG_SCRATCHPAD, dnnl_query_scratchpad_md, 0) : ok();
}

const Format& Bound::format(int argument) const noexcept {
  std::size_t at = 0;
  while (arguments_[at].index != argument) ++at;
  return arguments_[at].format;
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

}  // namespace tenon::cpu_aoti::onednn
