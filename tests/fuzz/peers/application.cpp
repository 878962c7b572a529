// SPDX-License-Identifier: MIT
#include "application.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include "tenon/abi/private/changes.h"

namespace tenon::fuzz {

struct FuzzHost::Prepared : tenon_prepared {
  std::unique_ptr<char[]> bytes;

  static tenon_status open(const tenon_init_context* context, const void* identity,
                           std::uint64_t size, tenon_prepared** out) {
    if (!context || of(context->host).init != context) broken("prepare outside of its init");
    read_bytes(identity, size);
    if (size % 4 == 3) return TENON_STATUS_NOT_SUPPORTED;
    auto* const made = new Prepared;
    const std::size_t nbytes = size % 2 == 0 ? 16 : 0;
    if (nbytes != 0) made->bytes = std::make_unique<char[]>(nbytes);
    static_cast<tenon_prepared&>(*made) = {
        sizeof(tenon_prepared), 0, nbytes, made->bytes.get(), &store, &release, nullptr};
    *out = made;
    return TENON_STATUS_OK;
  }
  static tenon_status store(tenon_prepared* prepared, const tenon_span* parts,
                            std::uint64_t num_parts) {
    read_bytes(prepared, sizeof *prepared);
    for (std::uint64_t i = 0; i < num_parts; ++i) read_bytes(parts[i].data, parts[i].size);
    return TENON_STATUS_OK;
  }
  static void release(tenon_prepared* prepared) { delete static_cast<Prepared*>(prepared); }
};

FuzzHost::FuzzHost(bool has_extensions) : tenon_host{} {
  const auto keep_error = [](const tenon_host*, tenon_status, const char* text,
                             std::uint64_t size) { read_bytes(text, size); };
  const auto write_log = [](const tenon_host*, std::int32_t level, const char* text,
                            std::uint64_t size) {
    if (level < TENON_LOG_DEBUG || level > TENON_LOG_FATAL) broken("an unknown log level");
    read_bytes(text, size);
  };
  const auto resize = [](const tenon_host*, tenon_tensor* tensor, const std::int64_t* sizes,
                         std::uint32_t rank) {
    return to_status(host::resize_tensor(*tensor, {sizes, rank}));
  };
  static_cast<tenon_host&>(*this) = {
      sizeof(tenon_host), TENON_ABI_MAJOR, TENON_ABI_MINOR, "fuzz", "",
      keep_error,         write_log,       resize,          nullptr};
  if (has_extensions) get_extension = &find;
}

const void* FuzzHost::find(const tenon_host*, const char* id) {
  static constexpr tenon_cancel_flag_v1 cancel_table = {
      sizeof cancel_table, 0, [](const tenon_execution_context* context) -> const std::uint32_t* {
        FuzzHost& host = of(context->host);
        return host.has_flag ? &host.cancel_flag : nullptr;
      }};
  static constexpr tenon_prepare_v1 prepare_table = {sizeof prepare_table, 0, &Prepared::open};
  static constexpr std::uint32_t processors[] = {0, 1};
  static constexpr tenon_thread_pool pool{sizeof pool, 2, processors, 2, 0, nullptr};
  static constexpr tenon_threads_v1 threads_table = {
      sizeof threads_table, 0,
      [](const tenon_execution_context* context) {
        return of(context->host).has_pool ? &pool : nullptr;
      },
      [](const tenon_init_context* context) {
        return of(context->host).has_pool ? &pool : nullptr;
      }};
  static constexpr tenon_changes_v1 changes_table = {
      sizeof changes_table, 0, [](const tenon_execution_context*) {
        static tenon_changes out{sizeof(tenon_changes), 0, 7};
        return &out;
      }};
  const std::string_view asked = id;
  if (asked == TENON_EXTENSION_CANCEL_FLAG) return &cancel_table;
  if (asked == TENON_EXTENSION_PREPARE) return &prepare_table;
  if (asked == TENON_EXTENSION_THREADS) return &threads_table;
  if (asked == TENON_EXTENSION_CHANGES) return &changes_table;
  return nullptr;
}

struct Program::Map : tenon_named_data_map {
  explicit Map(std::function<void()> between)
      : tenon_named_data_map{sizeof(tenon_named_data_map), 1, &get_data_of, &get_layout,
                             &get_key_of},
        in_between(std::move(between)) {}
  std::function<void()> in_between;  ///< What other threads of the application do meanwhile.
  std::unique_ptr<char[]> weight = std::make_unique<char[]>(10);
  std::vector<std::int64_t> sizes{5, 2};
  std::vector<std::uint8_t> order{0, 1};

  static Map& of(const tenon_named_data_map* self) {
    return *const_cast<Map*>(static_cast<const Map*>(self));
  }
  static bool is_known(const char* key, std::uint64_t size) {
    return std::string_view(key, static_cast<std::size_t>(size)) == "weight";
  }
  static tenon_status get_data_of(const tenon_named_data_map* self, const char* key,
                                  std::uint64_t size, tenon_buffer* out) {
    read_bytes(key, size);
    if (!is_known(key, size)) return TENON_STATUS_NOT_FOUND;
    out->data = of(self).weight.get();
    out->nbytes = 10;
    out->owner = &of(self);
    out->release = [](tenon_buffer* buffer) { read_bytes(buffer->owner, sizeof(Map)); };
    of(self).in_between();
    return TENON_STATUS_OK;
  }
  static tenon_status get_layout(const tenon_named_data_map* self, const char* key,
                                 std::uint64_t size, tenon_tensor_layout* out) {
    read_bytes(key, size);
    if (!is_known(key, size)) return TENON_STATUS_NOT_FOUND;
    *out = {out->struct_size, 0, 2, 0, of(self).sizes.data(), of(self).order.data()};
    of(self).in_between();
    return TENON_STATUS_OK;
  }
  static tenon_status get_key_of(const tenon_named_data_map* self, std::uint32_t index,
                                 const char** key, std::uint64_t* size) {
    if (index >= self->num_keys) return TENON_STATUS_INVALID_ARGUMENT;
    *key = "weight";
    *size = 6;
    of(self).in_between();
    return TENON_STATUS_OK;
  }
};

std::unique_ptr<tenon_tracer> make_tracer() {
  const auto clock = [](const tenon_tracer*) -> std::uint64_t { return 1; };
  const auto event = [](const tenon_tracer*, const char* name, std::uint64_t name_size,
                        std::int64_t, std::uint64_t, std::uint64_t, const void* metadata,
                        std::uint64_t metadata_size) {
    read_bytes(name, name_size);
    read_bytes(metadata, metadata_size);
  };
  const auto counter = [](const tenon_tracer*, const char* name, std::uint64_t name_size,
                          const char* unit, std::uint64_t unit_size, std::uint64_t, double) {
    read_bytes(name, name_size);
    read_bytes(unit, unit_size);
  };
  return std::make_unique<tenon_tracer>(
      tenon_tracer{sizeof(tenon_tracer), 0, clock, event, counter});
}

struct Program::Tracer {
  std::unique_ptr<tenon_tracer> tracer = make_tracer();
};

Program::Program(FuzzHost& host, Choices& choices, std::function<void()> in_between) {
  const std::uint8_t parts = choices.byte();
  context.struct_size = sizeof context;
  context.host = &host;
  context.method_name = (parts & 1) != 0 ? nullptr : "forward";
  if ((parts & 2) == 0) {
    bytes_ = std::make_unique<char[]>(8);
    blob_ = std::make_unique<tenon_buffer>(
        tenon_buffer{sizeof(tenon_buffer), 0, bytes_.get(), 8, this, [](tenon_buffer* buffer) {
                       static_cast<Program*>(buffer->owner)->bytes_.reset();
                       buffer->data = nullptr;
                       buffer->nbytes = 0;
                     }});
    context.processed = blob_.get();
  }
  if ((parts & 4) == 0) {
    map_ = std::make_unique<Map>(std::move(in_between));
    context.named_data_map = map_.get();
  }
  if ((parts & 8) != 0) {
    tracer_ = std::make_unique<Tracer>();
    context.tracer = tracer_->tracer.get();
  }
  if ((parts & 16) == 0) {
    context.permit_code = [](const tenon_init_context* self, const void* code,
                             std::uint64_t size) -> tenon_status {
      if (static_cast<const FuzzHost*>(self->host)->init != self)
        broken("code outside of its init");
      read_bytes(code, size);
      return size % 2 == 0 ? TENON_STATUS_OK : TENON_STATUS_ACCESS_FAILED;
    };
  }
  if ((parts & 32) != 0) {
    option_ = {sizeof option_, TENON_OPTION_INT, "isolated.restart", {}};
    option_.as.integer = static_cast<std::int64_t>(choices.below(3));
    context.runtime_specs = &option_;
    context.num_runtime_specs = 1;
    spec_ = {sizeof spec_, 0, "key", "value", 5};
    context.compile_specs = &spec_;
    context.num_compile_specs = 1;
    hints_ = {sizeof hints_, 1, 1, 1};
    context.scheduling = &hints_;
  }
}
Program::~Program() = default;

struct CallArguments::Tensor {
  tenon_tensor tensor{};
  std::unique_ptr<std::byte[]> own;
  std::byte* data = nullptr;
  std::size_t room = 0;
  bool is_constant = false;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> bounds;
  std::vector<std::uint8_t> order;
};
struct CallArguments::Value {
  tenon_value value{};
  Tensor* tensor = nullptr;
  std::vector<double> reals;
  std::vector<tenon_value*> elements;
};

CallArguments::CallArguments(Choices& choices, std::vector<void*> blocks)
    : blocks_(std::move(blocks)) {
  const std::size_t count = 1 + choices.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t kind = choices.byte();
    if (kind >= 0xf8) {
      pointers_.push_back(nullptr);
    } else if (kind >= 0xf0 && i != 0) {
      pointers_.push_back(pointers_[choices.below(i)]);
    } else {
      Value& made = add(kind < 0xa0 ? std::uint32_t{TENON_VALUE_TENSOR} : kind % 12u);
      fill(made, choices, 0);
      pointers_.push_back(&made.value);
    }
  }
}
CallArguments::~CallArguments() = default;

CallArguments::Value& CallArguments::add(std::uint32_t kind) {
  Value& out = *values_.emplace_back(std::make_unique<Value>());
  out.value.struct_size = sizeof out.value;
  out.value.kind = kind;
  return out;
}

void CallArguments::fill(Value& out, Choices& choices, int depth) {
  switch (out.value.kind) {
    case TENON_VALUE_TENSOR: {
      Tensor& tensor = *tensors_.emplace_back(std::make_unique<Tensor>());
      out.tensor = &tensor;
      out.value.as.tensor = &tensor.tensor;
      const std::uint8_t about = choices.byte();
      // Rank 2 by default; float32.
      static constexpr std::size_t ranks[] = {2, 1, 0, 3};
      const std::size_t rank = ranks[about % 4];
      const bool is_bounded = (about & 4) != 0;
      const std::uint8_t place = choices.byte();
      tensor.shape.assign(rank, static_cast<std::int64_t>(1 + choices.below(4)));
      tensor.bounds = tensor.shape;
      tensor.strides.resize(rank);
      for (std::size_t i = 0; i < rank; ++i) tensor.order.push_back(static_cast<std::uint8_t>(i));
      host::fill_strides(tensor.shape, tensor.order.data(), tensor.strides.data());
      std::size_t nbytes = 4;
      for (const std::int64_t each : tensor.shape) nbytes *= static_cast<std::size_t>(each);
      tensor.room = nbytes + ((about & 8) != 0 ? 12 : 0);
      tenon_dl_device device{TENON_DL_CPU, 0};
      std::uint64_t offset = 0;
      if (place < 0x80) {
        tensor.own = std::make_unique<std::byte[]>(tensor.room);
        tensor.data = tensor.own.get();
        tensor.is_constant = (about & 16) != 0;
      } else if (place < 0xa0) {
        tensor.data = System::read_only().data() + place % 8 * 8;
        tensor.is_constant = (about & 16) != 0;
      } else if (place < 0xc0 && tensors_.size() > 1) {
        // Inside another one: views, aliased outputs.
        const Tensor& other = *tensors_[choices.below(tensors_.size() - 1)];
        if (other.room >= tensor.room) tensor.data = other.data;
        device = other.tensor.dl.device;
        tensor.is_constant = other.is_constant;
        offset = tensor.data ? other.room - tensor.room : 0;
      } else if (place < 0xe0 && !blocks_.empty()) {
        tensor.data = static_cast<std::byte*>(blocks_[choices.below(blocks_.size())]);
        device = {4, 0};
      }
      if ((about & 32) != 0 && tensor.own && tensor.room > nbytes) offset = 4;
      if (offset + nbytes > tensor.room) offset = 0;
      tensor.tensor = {sizeof(tenon_tensor),
                       6,
                       {tensor.data,
                        device,
                        static_cast<std::int32_t>(rank),
                        {TENON_DL_FLOAT, 32, 1},
                        tensor.shape.data(),
                        tensor.strides.data(),
                        offset},
                       tensor.order.data(),
                       tensor.bounds.data(),
                       nbytes,
                       tensor.own ? tensor.room - offset : nbytes,
                       is_bounded ? 1u : 0u,
                       tensor.is_constant ? 1u : 0u};
      break;
    }
    case TENON_VALUE_STRING:
    case TENON_VALUE_BOOL_LIST:
      out.value.as.span = {"a text", choices.below(7)};
      break;
    case TENON_VALUE_DOUBLE_LIST:
      out.reals.resize(choices.below(4));
      out.value.as.span = {out.reals.data(), out.reals.size()};
      break;
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_TENSOR_LIST:
    case TENON_VALUE_SCALAR_LIST:
    case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
      const std::uint32_t kind = out.value.kind;
      const bool has_tensors =
          kind == TENON_VALUE_TENSOR_LIST || kind == TENON_VALUE_OPTIONAL_TENSOR_LIST;
      for (std::size_t count = depth == 0 ? choices.below(4) : 0; count > 0; --count) {
        Value& element = add(has_tensors ? TENON_VALUE_TENSOR : TENON_VALUE_INT);
        fill(element, choices, depth + 1);
        out.elements.push_back(&element.value);
      }
      out.value.as.span = {out.elements.data(), out.elements.size()};
      break;
    }
    case TENON_VALUE_BOOL:
      out.value.as.boolean = 1;
      break;
    default:
      out.value.as.integer = 7;
  }
}

WorkerPeer::Arguments CallArguments::expected() const {
  WorkerPeer::Arguments out;
  std::vector<const tenon_value*> seen;
  const auto count = [&](const tenon_value& value, bool is_top) {
    if (value.kind == TENON_VALUE_TENSOR) {
      out.ranks.push_back(static_cast<std::size_t>(value.as.tensor->dl.ndim));
    }
    const bool is_number = value.kind == TENON_VALUE_INT || value.kind == TENON_VALUE_DOUBLE ||
                           value.kind == TENON_VALUE_BOOL;
    if (is_top && is_number) ++out.num_numbers;
  };
  for (const tenon_value* each : pointers_) {
    if (!each || std::find(seen.begin(), seen.end(), each) != seen.end()) continue;
    seen.push_back(each);
    count(*each, true);
    for (const auto& value : values_) {
      if (&value->value != each) continue;
      for (const tenon_value* element : value->elements) count(*element, false);
    }
  }
  return out;
}

void CallArguments::change(Choices& choices) {
  for (const auto& each : tensors_) {
    if (!each->own || !choices.often()) continue;
    if (!each->is_constant && choices.rarely()) {
      // An input that is set to other bytes, which may be read-only.
      each->tensor.dl.data = System::read_only().data();
      each->tensor.dl.byte_offset = 0;
      each->tensor.capacity = each->tensor.nbytes;
    } else {
      each->tensor.dl.data = each->data;
    }
  }
}

void CallArguments::check(bool takes_views) const {
  for (const auto& each : tensors_) {
    const tenon_tensor& tensor = each->tensor;
    const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
    std::uint64_t nbytes = 4;
    for (std::size_t i = 0; i < rank; ++i) {
      if (tensor.dl.shape[i] < 0) broken("a size is negative");
      nbytes *= static_cast<std::uint64_t>(tensor.dl.shape[i]);
    }
    if (nbytes != tensor.nbytes || nbytes > std::max<std::uint64_t>(tensor.capacity, 4096)) {
      broken("a tensor has other bytes than its sizes");
    }
    const bool is_moved =
        tensor.dl.data != each->data && tensor.dl.data != System::read_only().data();
    if (is_moved && (!takes_views || each->is_constant)) broken("a tensor was moved");
    if (each->is_constant && each->own) {
      for (std::size_t i = 0; i < each->room; ++i) {
        if (each->own[i] != std::byte{0}) broken("a constant was written");
      }
    }
    if (tensor.dl.data && tensor.dl.device.device_type == TENON_DL_CPU) {
      read_bytes(static_cast<const std::byte*>(tensor.dl.data) + tensor.dl.byte_offset,
                 tensor.nbytes);
    }
  }
}

}  // namespace tenon::fuzz
