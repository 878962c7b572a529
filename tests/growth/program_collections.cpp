// SPDX-License-Identifier: MIT
//
// What a program can hold any number of: opening it and loading its method.
#include <algorithm>
#include <cstdint>

#include "collection.hpp"
#include "growing_programs.hpp"
#include "tenon/host.hpp"
#include "tenon/host/inspect.hpp"
#include "tenon/host/schema/program_generated.h"
#include "unit/host/layers/data/data_file_builder.hpp"

namespace tenon::test {
namespace {

using namespace host;

struct Files {
  AlignedBytes program;
  std::vector<AlignedBytes> data{};
};

const BackendRegistry& registry() {
  static BackendRegistry out;
  static const bool registered = out.register_backend(tenon_static_plugin_Growing).ok();
  return registered ? out : (std::abort(), out);
}

Result<std::shared_ptr<const Program>> open(const Files& files) {
  return Program::from_bytes(files.program.bytes(), nullptr, "test.pte");
}

Status load(const Files& files, MethodOptions options) {
  TENON_TRY(auto program, open(files));
  std::vector<std::shared_ptr<const DataFile>> opened;
  for (const AlignedBytes& data : files.data) {
    TENON_TRY(auto file, DataFile::from_bytes(data.bytes(), nullptr, "test.ptd"));
    opened.push_back(std::move(file));
  }
  options.layers.add(DataFiles(std::move(opened)));
  if (!options.registry) options.registry = &registry();
  TENON_TRY(const auto method, Method::load(std::move(program), "forward", std::move(options)));
  return method->num_inputs() == static_cast<std::size_t>(-1) ? error(Error::Internal, "?") : ok();
}

/// Opens the program and loads its method.
Task loads(const ProgramBuilder& builder, std::vector<AlignedBytes> data = {},
           MethodOptions options = {}) {
  auto files = std::make_shared<Files>(Files{builder.build(), std::move(data)});
  return [files, options] { return load(*files, options); };
}

Collection loading(std::string_view what, ProgramBuilder (*build)(std::size_t),
                   std::string_view outcome = {}) {
  return {what, [build](std::size_t count) { return loads(build(count)); }, outcome};
}

ProgramBuilder with_plan(const auto& fill) {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  fill(builder, plan);
  return builder;
}

ProgramBuilder integers(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    for (std::size_t i = 0; i < count; ++i) plan.value(int_value(1));
  });
}

ProgramBuilder planned_tensors(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    const auto buffer = plan.buffer(static_cast<std::int64_t>(16 * count));
    for (std::size_t i = 0; i < count; ++i) {
      plan.value(planned_tensor(ScalarType::Float, {4}, buffer, 16 * i));
    }
  });
}

ProgramBuilder planned_inputs(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    const auto buffer = plan.buffer(static_cast<std::int64_t>(16 * count));
    for (std::size_t i = 0; i < count; ++i) {
      plan.input(planned_tensor(ScalarType::Float, {4}, buffer, 16 * i));
    }
  });
}

ProgramBuilder aliased_inputs(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    const auto buffer = plan.buffer(16);
    for (std::size_t i = 0; i < count; ++i) {
      plan.input(planned_tensor(ScalarType::Float, {4}, buffer, 0));
    }
  });
}

ProgramBuilder outputs(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    for (std::size_t i = 0; i < count; ++i) plan.output(tensor(ScalarType::Float, {4}));
  });
}

ProgramBuilder buffers(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    for (std::size_t i = 0; i < count; ++i) {
      plan.value(planned_tensor(ScalarType::Float, {1}, plan.buffer(16), 0));
    }
  });
}

ProgramBuilder constants(std::size_t count) {
  return with_plan([&](ProgramBuilder& builder, PlanBuilder& plan) {
    builder.constants(std::vector<std::string>(count, std::string(4, 'c')));
    for (std::size_t i = 0; i < count; ++i) {
      plan.value(constant_tensor(ScalarType::Float, {1}, static_cast<std::uint32_t>(i + 1)));
    }
  });
}

ProgramBuilder initial_states(std::size_t count) {
  return with_plan([&](ProgramBuilder& builder, PlanBuilder& plan) {
    builder.mutable_data(std::vector<std::string>(count, std::string(4, 's')));
    const auto buffer = plan.buffer(static_cast<std::int64_t>(16 * count));
    for (std::size_t i = 0; i < count; ++i) {
      auto state = planned_tensor(ScalarType::Float, {1}, buffer, 16 * i);
      state.data_buffer_idx = static_cast<std::uint32_t>(i + 1);
      plan.value(std::move(state));
    }
  });
}

ProgramBuilder one_list(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    const auto item = plan.value(int_value(1));
    plan.value(int_list(std::vector<std::int64_t>(count, item)));
  });
}

ProgramBuilder lists_of_tensors(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    const auto item = plan.value(tensor(ScalarType::Float, {1}));
    for (std::size_t i = 0; i < count; ++i) {
      plan.value(tensor_list({item}));
      plan.value(optional_tensor_list({item, -1}));
    }
  });
}

ProgramBuilder text_values(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    for (std::size_t i = 0; i < count; ++i) plan.value(string_value(growing::key(i)));
  });
}

ProgramBuilder delegate_calls(std::size_t count) {
  ProgramBuilder builder = growing::delegates(1);
  PlanBuilder plan(*builder.program.execution_plan[0]);
  for (std::size_t i = 0; i < count; ++i) plan.instruction(delegate_call(0, {}));
  return builder;
}

ProgramBuilder jumps(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    const auto condition = plan.value(bool_value(true));
    for (std::size_t i = 0; i < count; ++i) plan.instruction(jump_false_call(condition, 0));
  });
}

ProgramBuilder arguments(std::size_t count) {
  ProgramBuilder builder = growing::delegates(1);
  PlanBuilder plan(*builder.program.execution_plan[0]);
  const auto value = plan.value(int_value(1));
  plan.instruction(delegate_call(0, std::vector<std::int32_t>(count, value)));
  return builder;
}

ProgramBuilder chains(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    for (std::size_t i = 0; i < count; ++i) {
      plan.table().chains.push_back(std::make_unique<schema::objects::ChainT>());
    }
  });
}

ProgramBuilder methods(std::size_t count) {
  ProgramBuilder builder = growing::delegates(1);
  for (std::size_t i = 0; i < count; ++i) builder.plan(growing::key(i));
  return builder;
}

ProgramBuilder named_data(std::size_t count) {
  ProgramBuilder builder = growing::delegates(1);
  const auto segment = builder.segment(bytes_of("data"));
  for (std::size_t i = 0; i < count; ++i) builder.named_data(growing::key(i), segment);
  return builder;
}

ProgramBuilder segments(std::size_t count) {
  ProgramBuilder builder = growing::delegates(1);
  for (std::size_t i = 0; i < count; ++i) builder.segment(bytes_of("data"), 16);
  return builder;
}

ProgramBuilder dimensions(std::size_t count) {
  return with_plan([&](ProgramBuilder&, PlanBuilder& plan) {
    for (std::size_t i = 0; i < count; ++i) {
      plan.value(tensor(ScalarType::Float, std::vector<std::int32_t>(16, 1)));
    }
  });
}

AlignedBytes data_file(std::size_t count, std::string_view prefix = "k") {
  DataFileBuilder data;
  for (std::size_t i = 0; i < count; ++i) {
    data.tensor(concat(prefix, i), ScalarType::Float, {1}, "four");
  }
  return data.build();
}

/// Facts that an application asks for about a method.
Status ask_facts(const Files& files) {
  TENON_TRY(const auto program, open(files));
  for (const std::string_view name : program->method_names()) {
    TENON_TRY(const MethodMeta meta, MethodMeta::of(*program, name));
    std::size_t sum = 0;
    for (std::size_t i = 0; i < meta.num_inputs(); ++i) {
      sum += static_cast<std::size_t>(meta.input_tag(i).ok());
      sum += static_cast<std::size_t>(meta.input_tensor_meta(i).ok());
    }
    for (std::size_t i = 0; i < meta.num_outputs(); ++i) {
      sum += static_cast<std::size_t>(meta.output_tag(i).ok());
    }
    for (std::size_t i = 0; i < meta.num_attributes(); ++i) {
      sum += static_cast<std::size_t>(meta.attribute_tensor_meta(i).ok());
    }
    for (std::size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
      sum += static_cast<std::size_t>(meta.memory_planned_buffer_device(i).ok());
    }
    if (sum == static_cast<std::size_t>(-1)) return error(Error::Internal, "?");
  }
  return ok();
}

Task asks(ProgramBuilder builder) {
  auto files = std::make_shared<Files>(Files{builder.build()});
  return [files] { return ask_facts(*files); };
}

Task runs(ProgramBuilder builder) {
  auto files = std::make_shared<Files>(Files{builder.build()});
  return [files]() -> Status {
    TENON_TRY(auto program, open(*files));
    MethodOptions options;
    options.registry = &registry();
    TENON_TRY(const auto method, Method::load(std::move(program), "forward", options));
    return method->execute();
  };
}

/// Gives each input its bytes.
Task sets_inputs(std::size_t count) {
  auto files = std::make_shared<Files>(Files{planned_inputs(count).build()});
  return [files]() -> Status {
    TENON_TRY(auto program, open(*files));
    MethodOptions options;
    options.registry = &registry();
    TENON_TRY(const auto method, Method::load(std::move(program), "forward", options));
    alignas(4) static constexpr std::array<std::byte, 16> bytes{};
    static constexpr std::array<std::int64_t, 1> sizes{4};
    for (std::size_t i = 0; i < method->num_inputs(); ++i) {
      TENON_RETURN_IF_ERROR(method->set_input(i, InputTensor{ScalarType::Float, sizes, bytes}));
    }
    return method->execute();
  };
}

Task merges(std::size_t count) {
  std::vector<AlignedBytes> data;
  data.push_back(data_file(count, "k"));
  data.push_back(data_file(count, "other"));
  return loads(growing::external_tensors(count), std::move(data));
}

Task checks_blob(std::size_t count) {
  auto files = std::make_shared<Files>(Files{growing::named_data_asked_for(count).build()});
  return [files, count]() -> Status {
    TENON_TRY(const auto program, open(*files));
    TENON_TRY(const auto backend, registry().lookup_backend("Growing"));
    TENON_TRY(const auto data, MergedDataMap::create(program));
    TENON_TRY(const schema::ExecutionPlan* plan, program->plan("forward"));
    TENON_TRY(const auto check,
              check_blob(*backend, *program, "forward", *plan->delegates()->Get(0), data->abi()));
    return check && check->missing_keys.size() == count ? ok() : error(Error::Internal, "missing");
  };
}

Task finds_requirements(ProgramBuilder builder) {
  auto files = std::make_shared<Files>(Files{builder.build()});
  return [files]() -> Status {
    TENON_TRY(const auto program, open(*files));
    TENON_TRY(const schema::ExecutionPlan* plan, program->plan("forward"));
    const std::size_t found = find_missing_operators(*plan, nullptr).size() +
                              find_missing_tensors(*plan, nullptr).size() +
                              find_device_buffers(*plan).size() + find_backend_ids(*plan).size();
    return found == 0 ? error(Error::Internal, "nothing was found") : ok();
  };
}

}  // namespace

std::vector<Collection> program_collections() {
  return {
      loading("values: integers", integers),
      loading("values: texts", text_values),
      loading("values: planned tensors", planned_tensors),
      loading("values: tensors of 16 dimensions", dimensions),
      loading("values: items of one list", one_list),
      loading("values: lists of tensors", lists_of_tensors),
      loading("values: constants", constants),
      loading("values: initial states", initial_states),
      {"values: external tensors",
       [](std::size_t count) {
         std::vector<AlignedBytes> data;
         data.push_back(data_file(count));
         return loads(growing::external_tensors(count), std::move(data));
       }},
      loading("inputs: planned", planned_inputs),
      loading("inputs: with one address", aliased_inputs),
      {"inputs: set and run", sets_inputs},
      loading("outputs", outputs),
      {"inputs and outputs: facts",
       [](std::size_t count) {
         ProgramBuilder builder = planned_inputs(count);
         PlanBuilder plan(*builder.program.execution_plan[0]);
         for (std::size_t i = 0; i < count; ++i) plan.output(tensor(ScalarType::Float, {4}));
         return asks(std::move(builder));
       }},
      {"attributes: facts",
       [](std::size_t count) { return asks(growing::external_tensors(count)); }},
      {"planned buffers on a device: facts",
       [](std::size_t count) { return asks(growing::device_buffers(count)); }},
      loading("planned buffers", buffers),
      loading("planned buffers on a device", growing::device_buffers),
      {"delegates", [](std::size_t count) { return loads(growing::delegates(count)); }},
      loading("delegates of unknown backends", growing::backend_ids, "is not registered"),
      loading("compile specs of a delegate", growing::compile_specs),
      loading("operators without a kernel", growing::operators, "no kernel for"),
      loading("calls of an operator without a kernel", growing::kernel_calls, "no kernel for"),
      {"operators with a kernel",
       [](std::size_t count) {
         auto kernels = std::make_shared<KernelTable>();
         for (std::size_t i = 0; i < count; ++i) {
           const Kernel none{[](void*, const tenon_execution_context*, tenon_value* const*,
                                std::uint32_t) -> tenon_status { return TENON_STATUS_OK; }};
           static_cast<void>(kernels->add(concat("test::op", i, ".out"), none));
         }
         auto files = std::make_shared<Files>(Files{growing::operators(count).build()});
         return Task([files, kernels] {
           MethodOptions options;
           options.kernels = kernels.get();
           return load(*files, options);
         });
       }},
      loading("instructions: calls of a delegate", delegate_calls),
      loading("instructions: jumps", jumps),
      {"instructions: run", [](std::size_t count) { return runs(jumps(count)); }},
      loading("instructions: arguments of a call", arguments),
      loading("chains", chains),
      loading("methods", methods),
      {"methods: facts", [](std::size_t count) { return asks(methods(count)); }},
      loading("named data", named_data),
      loading("segments", segments),
      {"keys of a data file",
       [](std::size_t count) {
         std::vector<AlignedBytes> data;
         data.push_back(data_file(count));
         return loads(growing::delegates(1), std::move(data));
       }},
      {"keys of two data files", merges},
      {"keys that check_blob asks for", checks_blob},
      {"requirements: operators",
       [](std::size_t count) { return finds_requirements(growing::operators(count)); }},
      {"requirements: external tensors",
       [](std::size_t count) { return finds_requirements(growing::external_tensors(count)); }},
      {"requirements: planned buffers on a device",
       [](std::size_t count) { return finds_requirements(growing::device_buffers(count)); }},
      {"requirements: backends",
       [](std::size_t count) { return finds_requirements(growing::backend_ids(count)); }},
  };
}

}  // namespace tenon::test
