// SPDX-License-Identifier: MIT
//
// A backend written for ExecuTorch alone, whose blobs say what it is to do: words apart by spaces.
#include "probe_backend.hpp"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks_delegate.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "tenon/core/concat.hpp"
#include "tenon/executorch/plugin.hpp"

namespace tenon::test {

ProbeRecord& probe() {
  static ProbeRecord record;
  return record;
}

namespace {

namespace et = ::executorch::runtime;

std::string text_of(const et::BackendOption& option) {
  const std::string key = option.key;
  if (const auto* flag = std::get_if<bool>(&option.value)) return concat(key, "=", *flag);
  if (const auto* number = std::get_if<int>(&option.value)) return concat(key, "=", *number);
  using Text = std::array<char, et::kMaxOptionValueLength>;
  return concat(key, "=", std::string(std::get<Text>(option.value).data()));
}

class ProbeBackend final : public et::BackendInterface {
 public:
  ProbeBackend() { ++probe().num_alive; }
  ~ProbeBackend() override { --probe().num_alive; }

  bool is_available() const override {
    if (!unavailable_) return true;
    ET_LOG(Error, "there is no device today");
    return false;
  }

  et::Result<et::DelegateHandle*> init(et::BackendInitContext& context,
                                       et::FreeableBuffer* processed,
                                       et::ArrayRef<et::CompileSpec> specs) const override {
    auto words = std::make_unique<std::string>(static_cast<const char*>(processed->data()),
                                               processed->size());
    const auto has = [&](std::string_view word) { return words->find(word) != std::string::npos; };
    ProbeRecord& record = probe();
    record.method_name = context.get_method_name();
    record.compile_specs.clear();
    for (const et::CompileSpec& spec : specs) {
      record.compile_specs.push_back(
          concat(spec.key, "=",
                 std::string(static_cast<const char*>(spec.value.buffer), spec.value.nbytes)));
    }
    record.runtime_specs.clear();
    for (const et::BackendOption& option : context.runtime_specs()) {
      record.runtime_specs.push_back(text_of(option));
    }
    record.runtime_allocators.push_back(context.get_runtime_allocator());
    if (has("init-fails")) {
      ET_LOG(Error, "blob: expected version %d, found %d", 1, 2);
      ET_LOG(Error, "cannot load it");
      return et::Error::DelegateInvalidCompatibility;
    }
    if (has("init-says-nothing")) return et::Error::NotSupported;
    if (has("init-checks")) ET_CHECK_MSG(specs.size() == 77, "there are %zu specs", specs.size());
    if (has("init-data")) {
      const et::Error read = read_data(context);
      if (read != et::Error::Ok) return read;
    }
    if (has("init-memory") && !context.get_runtime_allocator()->allocate(64, 64)) {
      return et::Error::MemoryAllocationFailed;
    }
    if (has("init-frees")) {
      processed->Free();
      processed->Free();
    }
    ++record.num_delegates;
    return words.release();
  }

  et::Error execute(et::BackendExecutionContext& context, et::DelegateHandle* handle,
                    et::Span<et::EValue*> args) const override {
    const std::string& words = *static_cast<const std::string*>(handle);
    const auto has = [&](std::string_view word) { return words.find(word) != std::string::npos; };
    if (has("says-info")) ET_LOG(Info, "about to run");
    if (has("fails")) {
      ET_LOG(Error, "argument 0: expected %s", "something else");
      return et::Error::InvalidArgument;
    }
    if (has("checks")) ET_CHECK_MSG(args.size() == 77, "there are %zu arguments", args.size());
    if (has("throws")) throw 5;
    if (has("takes-memory") && !context.allocate(64)) return et::Error::MemoryAllocationFailed;
    et::EventTracer* const tracer = context.event_tracer();
    if (has("traces")) {
      constexpr auto none = static_cast<et::DebugHandle>(et::kUnsetDelegateDebugIntId);
      const auto named = et::event_tracer_start_profiling_delegate(tracer, "named", none);
      const auto numbered = et::event_tracer_start_profiling_delegate(tracer, nullptr, 7);
      et::event_tracer_end_profiling_delegate(tracer, numbered, "abc", 3);
      et::event_tracer_end_profiling_delegate(tracer, named);
      const et_timestamp_t now = et::pal_current_ticks();
      et::event_tracer_log_profiling_delegate(tracer, "logged", none, now, now);
      et::event_tracer_log_output_delegate(tracer, "an output", none, 5);
    }
    if (has("counts")) {
      // Numbers in, numbers out.
      *args[1] = et::EValue(args[0]->toInt() + 1);
      *args[2] = et::EValue(0.5);
      *args[3] = et::EValue(true);
      return et::Error::Ok;
    }
    const auto in = args[0]->toTensor();
    auto& out = args[args.size() - 1]->toTensor();
    if (has("swaps")) {
      out.unsafeGetTensorImpl()->set_data(const_cast<void*>(in.const_data_ptr()));
      return et::Error::Ok;
    }
    const et::Error resized = et::resize_tensor(out, in.sizes());
    if (resized != et::Error::Ok) return resized;
    const float* from = in.const_data_ptr<float>();
    std::transform(from, from + in.numel(), out.mutable_data_ptr<float>(),
                   [](float value) { return value + 1; });
    return et::Error::Ok;
  }

  et::Error set_option(et::BackendOptionContext&,
                       const et::Span<et::BackendOption>& options) override {
    for (const et::BackendOption& option : options) {
      probe().options.push_back(text_of(option));
      if (text_of(option) == "level=-1") {
        ET_LOG(Error, "level: expected 0 or more, found -1");
        return et::Error::InvalidArgument;
      }
      if (std::string_view(option.key) == "unavailable")
        unavailable_ = std::get<bool>(option.value);
    }
    return et::Error::Ok;
  }

  et::Error get_option(et::BackendOptionContext&, et::Span<et::BackendOption>& options) override {
    for (et::BackendOption& option : options) {
      if (std::string_view(option.key) == "level") option.value = 40;
      if (std::string_view(option.key) == "odd") option.value = true;
    }
    return et::Error::Ok;
  }

  void destroy(et::DelegateHandle* handle) const override {
    delete static_cast<std::string*>(handle);
    --probe().num_delegates;
  }

 private:
  static et::Error read_data(et::BackendInitContext& context) {
    ProbeRecord& record = probe();
    const et::NamedDataMap* const map = context.get_named_data_map();
    if (!map) return et::Error::NotFound;
    const auto count = map->get_num_keys();
    record.keys.clear();
    for (std::uint32_t i = 0; i < *count; ++i) record.keys.emplace_back(*map->get_key(i));
    const auto beyond = map->get_key(*count);
    if (beyond.ok()) return et::Error::Internal;
    auto data = map->get_data("weights");
    if (!data.ok()) return data.error();
    record.weights.assign(static_cast<const char*>(data->data()), data->size());
    std::string copy(record.weights.size(), '?');
    const et::Error loaded = map->load_data_into("weights", copy.data(), copy.size());
    if (loaded != et::Error::Ok || copy != record.weights) return et::Error::Internal;
    if (map->load_data_into("weights", copy.data(), copy.size() + 1) == et::Error::Ok) {
      return et::Error::Internal;
    }
    const auto layout = map->get_tensor_layout("weights");
    if (layout.ok()) record.weights_sizes = {layout->sizes().begin(), layout->sizes().end()};
    record.missing = concat(static_cast<std::uint32_t>(map->get_data("nothing").error()));
    return et::Error::Ok;
  }

  bool unavailable_ = false;
};

}  // namespace

struct Probe {
  static constexpr std::string_view id = "Probe";
  static constexpr std::string_view description = "does what its blobs say";
  using Interface = ProbeBackend;
  static constexpr std::array options{
      OptionSpec{"level", std::int64_t{3}, "a number"},
      OptionSpec{"unavailable", false, "says that it is not available"},
      OptionSpec{"name", "plain", "a text"},
      OptionSpec{"odd", std::int64_t{1}, "declared as a bool"}};
};

}  // namespace tenon::test

using tenon::test::Probe;
TENON_EXECUTORCH_BACKEND(Probe);
