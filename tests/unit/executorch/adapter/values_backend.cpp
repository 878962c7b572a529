// SPDX-License-Identifier: MIT
//
// A backend that reports what reached it through ExecuTorch, and uses the services of a host.

#include <bit>
#include <optional>
#include <span>
#include <tenon/tenon.hpp>

#include "values_backend.hpp"

namespace {

using tenon::concat;
using tenon::Error;
using tenon::Result;
using tenon::Status;
using tenon::test::seen;

std::string list_text(const auto& items, std::size_t count) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) {
    out += concat(i == 0 ? "" : ", ", static_cast<std::int64_t>(items[i]));
  }
  return out + "]";
}

std::string tensor_text(const tenon_tensor& tensor) {
  const auto rank = static_cast<std::size_t>(tensor.dl.ndim);
  std::string out = concat(tenon::name_of(static_cast<tenon::ScalarType>(tensor.scalar_type)), " ",
                           list_text(tensor.dl.shape, rank));
  out += concat(" strides ", list_text(tensor.dl.strides, rank), " order ",
                list_text(tensor.dim_order, rank), " bounds ", list_text(tensor.bounds, rank), " ",
                tensor.nbytes, " of ", tensor.capacity, " bytes");
  if (tensor.shape_dynamism != TENON_SHAPE_STATIC) out += " dynamic";
  if (tensor.dl.device.device_type != TENON_DL_CPU) {
    out += concat(" on ", tensor.dl.device.device_type, ":", tensor.dl.device.device_id);
  }
  if (!tensor.dl.data) out += " without data";
  return out;
}

std::string text_of(const tenon_value& value) {
  const std::string kind(tenon::value_kind_name(value.kind));
  const auto size = static_cast<std::size_t>(value.as.span.size);
  switch (value.kind) {
    case TENON_VALUE_TENSOR:
      return concat(kind, " ", tensor_text(*value.as.tensor));
    case TENON_VALUE_INT:
      return concat(kind, " ", value.as.integer);
    case TENON_VALUE_DOUBLE:
      return concat(kind, " ", value.as.real);
    case TENON_VALUE_BOOL:
      return concat(kind, " ", value.as.boolean != 0);
    case TENON_VALUE_STRING:
      return concat(kind, " ",
                    std::string_view(static_cast<const char*>(value.as.span.data), size));
    case TENON_VALUE_BOOL_LIST:
      return concat(kind, " ",
                    list_text(static_cast<const std::uint8_t*>(value.as.span.data), size));
    case TENON_VALUE_DOUBLE_LIST: {
      std::string out = kind;
      for (std::size_t i = 0; i < size; ++i) {
        out += concat(" ", static_cast<const double*>(value.as.span.data)[i]);
      }
      return out;
    }
    case TENON_VALUE_INT_LIST:
    case TENON_VALUE_TENSOR_LIST:
    case TENON_VALUE_OPTIONAL_TENSOR_LIST: {
      std::string out = kind + " (";
      for (std::size_t i = 0; i < size; ++i) {
        out += concat(i == 0 ? "" : "; ",
                      text_of(*static_cast<const tenon_value* const*>(value.as.span.data)[i]));
      }
      return out + ")";
    }
    default:
      return kind;
  }
}

/// Blobs: "describe" (each argument), "write" (changes numbers in place), "grow" (the last argument
/// to one element more than it has room for), "events" (to the tracer), "long" (fails with a long
/// text), "keep KEY" and "release KEY" (named data), "keys", "context" (what `init` gets), "temp
/// N", "runtime N" (memory), "places" (the addresses of the arguments' tensors), "resize N" (the
/// last argument to N elements, then fails).
class Values final : public tenon::Backend<Values>, public tenon::WithOptions<Values> {
 public:
  static constexpr std::string_view id = "Values";
  static constexpr std::array options{
      tenon::OptionSpec{"fast", false, "a boolean"},
      tenon::OptionSpec{"count", 3, "an integer; negative ones are refused"},
      tenon::OptionSpec{"scale", 0.5, "a number"},
      tenon::OptionSpec{"label", "none", "text"},
      tenon::OptionSpec{"table", tenon::Bytes(), "bytes"},
      tenon::OptionSpec{"late", 1, "given to one load only", TENON_OPTION_AT_LOAD}};

  struct Delegate {
    std::string blob;
    std::optional<tenon::NamedData> kept{};
    void* memory = nullptr;
  };

  Status on_set_option(std::string_view key, const tenon::OptionValue& value) {
    const auto number = value.get<std::int64_t>();
    if (key != "count" || *number >= 0) return tenon::ok();
    return tenon::error(Error::InvalidArgument, "option 'count': expected 0 or more, found ",
                        *number);
  }

  Result<Delegate> init(tenon::InitContext& context, tenon::Blob processed,
                        tenon::CompileSpecs specs) {
    Delegate delegate{std::string(processed.text())};
    const std::string_view blob = delegate.blob;
    const auto map = context.named_data_map();
    if (blob.starts_with("keep ") || blob.starts_with("release ")) {
      if (!map) return tenon::error(Error::NotFound, "no named data");
      TENON_TRY(auto data, map->get_data(blob.substr(blob.find(' ') + 1)));
      seen().push_back(concat("data ", tenon::as_text(data.bytes())));
      if (blob.starts_with("keep ")) delegate.kept.emplace(std::move(data));
    } else if (blob == "keys") {
      for (std::size_t i = 0; map && i < map->num_keys(); ++i) {
        TENON_TRY(const auto key, map->key(i));
        const auto layout = map->get_tensor_layout(key);
        seen().push_back(concat("key ", key));
        if (layout.ok()) {
          seen().back() += concat(" ", tenon::name_of(layout->scalar_type), " ",
                                  list_text(layout->sizes, layout->sizes.size()), " order ",
                                  list_text(layout->dim_order, layout->dim_order.size()));
        }
      }
      if (!map) seen().push_back("no keys");
    } else if (blob == "context") {
      TENON_RETURN_IF_ERROR(tell_context(context, processed, specs));
    } else if (blob.starts_with("runtime ")) {
      delegate.memory = context.runtime_allocator().allocate(number_in(blob), 64);
      if (!delegate.memory) return tenon::error(Error::MemoryAllocationFailed, "no memory");
    }
    return delegate;
  }

  Status execute(tenon::ExecutionContext& context, Delegate& delegate, tenon::Args args) {
    const std::string_view blob = delegate.blob;
    const std::span<tenon_value* const> values = args.raw();
    if (blob == "describe") {
      for (std::size_t i = 0; i < args.size(); ++i) seen().push_back(text_of(*values[i]));
    } else if (blob == "write") {
      for (std::size_t i = 0; i < args.size(); ++i) change(*values[i]);
    } else if (blob == "places") {
      for (std::size_t i = 0; i < args.size(); ++i) {
        seen().push_back(concat(std::bit_cast<std::uintptr_t>(values[i]->as.tensor)));
      }
    } else if (blob == "grow") {
      TENON_TRY(const auto tensor, args.tensor(args.size() - 1));
      std::vector<std::int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
      sizes[0] = static_cast<std::int64_t>(tensor.raw().capacity) + 1;
      return args.resize(args.size() - 1, sizes);
    } else if (blob.starts_with("resize ")) {
      const auto wanted = static_cast<std::int64_t>(number_in(blob));
      TENON_RETURN_IF_ERROR(args.resize(args.size() - 1, std::span(&wanted, 1)));
      return tenon::error(Error::OutOfResources, "resized to ", wanted, ", then failed");
    } else if (blob == "events") {
      const tenon::Tracer tracer = context.tracer();
      seen().push_back(tracer.enabled() ? "traced" : "not traced");
      const std::uint64_t start = tracer.now();
      tracer.log_event("by name", start, start + 1000);
      tracer.log_event("by number", start, start + 2000, 7);
      tracer.log_event("with data", start, start + 3000, 8, std::as_bytes(std::span("xy", 2)));
    } else if (blob == "long") {
      return tenon::error(Error::DelegateInvalidHandle, std::string(300, 'a'), " ",
                          std::string(300, 'b'), "\nsecond line \xc3\xa9");
    } else if (blob.starts_with("temp ")) {
      auto* memory =
          static_cast<std::byte*>(context.temp_allocator().allocate(number_in(blob), 64));
      if (!memory) return tenon::error(Error::MemoryAllocationFailed, "no temporary memory");
      memory[number_in(blob) - 1] = std::byte{1};
    }
    return tenon::ok();
  }

 private:
  static std::size_t number_in(std::string_view blob) {
    std::size_t out = 0;
    for (const char digit : blob.substr(blob.find(' ') + 1)) {
      out = out * 10 + static_cast<std::size_t>(digit - '0');
    }
    return out;
  }

  Status tell_context(const tenon::InitContext& context, tenon::Blob processed,
                      tenon::CompileSpecs specs) {
    seen().push_back(concat("method ", context.method_name()));
    for (std::size_t i = 0; i < specs.size(); ++i) {
      seen().push_back(concat("spec ", specs[i].key, "=", tenon::as_text(specs[i].value)));
    }
    TENON_TRY(const auto values, option_values(context));
    TENON_TRY(const bool fast, values.template get<bool>("fast"));
    TENON_TRY(const std::int64_t count, values.template get<std::int64_t>("count"));
    TENON_TRY(const double scale, values.template get<double>("scale"));
    TENON_TRY(const std::string label, values.template get<std::string>("label"));
    seen().push_back(concat("options ", fast, " ", count, " ", scale, " ", label));
    processed.release();
    processed.release();
    seen().push_back(concat("blob of ", processed.size(), " bytes"));
    return tenon::ok();
  }

  static void change(tenon_value& value) {
    if (value.kind == TENON_VALUE_INT) value.as.integer += 1;
    if (value.kind == TENON_VALUE_DOUBLE) value.as.real *= 2;
    if (value.kind == TENON_VALUE_BOOL) value.as.boolean = value.as.boolean == 0;
  }
};

}  // namespace

TENON_PLUGIN(Values);
