// SPDX-License-Identifier: MIT
//
// Methods of the C interface.
#include <cstring>
#include <string>
#include <vector>

#include "c_support.hpp"
#include "tenon/core/scalar_type.hpp"

using namespace tenon::test;
using Vector = std::vector<float>;

namespace {

Failed set_input_failed(tenon_method* method, std::uint64_t index, const tenon_dl_tensor& tensor) {
  const tenon_dl_tensor* const pointer = &tensor;
  return failed(&tenon_method_set_input, method, index, pointer);
}

/// A managed tensor of four floats that counts how often it is deleted.
struct Managed {
  Floats floats{{1, 2, 3, 4}};
  tenon_dl_managed_tensor tensor{};
  int deleted = 0;

  Managed() {
    tensor.major = 1;
    tensor.manager_ctx = this;
    tensor.deleter = [](tenon_dl_managed_tensor* self) {
      ++static_cast<Managed*>(self->manager_ctx)->deleted;
    };
    tensor.dl_tensor = floats.tensor();
  }
};

}  // namespace

TEST_CASE("a method runs with inputs that are not copied", "[c]") {
  const auto method = load("count");
  CHECK(tenon_method_num_inputs(method.get()) == 1);
  CHECK(tenon_method_num_outputs(method.get()) == 1);
  CHECK(std::string(tenon_method_variant(method.get())).empty());
  CHECK(tenon_method_get_output(method.get(), 1) == nullptr);
  CHECK(tenon_method_get_input(method.get(), 1) == nullptr);
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  CHECK(run(method.get()) == Vector{3, 4, 5, 6});
  const tenon_value* const value = tenon_method_get_output(method.get(), 0);
  CHECK(run(method.get()) == Vector{4, 5, 6, 7});
  CHECK(tenon_method_get_output(method.get(), 0) == value);

  Floats input({5, 6, 7, 8});
  const tenon_dl_tensor* const tensor = &input.tensor();
  call(&tenon_method_set_input, method.get(), std::uint64_t{0}, tensor);
  CHECK(tenon_method_get_input(method.get(), 0)->as.tensor->dl.data == tensor->data);
  std::array<float, 4> copy{};
  call(&tenon_method_execute, method.get());
  const tenon_method* const of = method.get();
  call(&tenon_method_read_output, of, std::uint64_t{0}, static_cast<void*>(copy.data()),
       std::uint64_t{16});
  CHECK(copy == std::array<float, 4>{9, 10, 11, 12});
  CHECK(failed(&tenon_method_read_output, of, std::uint64_t{0}, static_cast<void*>(copy.data()),
               std::uint64_t{12})
            .status == TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a method outlives the handles that it was loaded with", "[c]") {
  auto registry = counting_registry();
  auto program = program_of("count");
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  const auto method = load(program.get(), options);
  registry.reset();
  program.reset();
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
}

TEST_CASE("a failure of a method has the number and the text of the C++ host", "[c]") {
  const auto method = load("fail");
  const auto unset = failed(&tenon_method_execute, method.get());
  CHECK(unset.status == TENON_STATUS_INVALID_ARGUMENT);
  Floats input({1, 2, 3, 4});
  const tenon_dl_tensor* const tensor = &input.tensor();
  call(&tenon_method_set_input, method.get(), std::uint64_t{0}, tensor);
  const auto failure = failed(&tenon_method_execute, method.get());
  CHECK(failure.status == TENON_STATUS_INVALID_STATE);
  CHECK_THAT(failure.text, ContainsSubstring("failed as it was asked"));
  CHECK_THAT(failure.text, ContainsSubstring("Counting"));
}

TEST_CASE("what cannot be loaded says why", "[c]") {
  const auto registry = counting_registry();
  auto options = sized<tenon_method_options>();
  tenon_method* out = nullptr;
  const tenon_method_options* const given = &options;
  const auto load_failed = [&](const std::string& blob, const char* name = "forward",
                               const std::string& id = "Counting") {
    const auto program = program_of(blob, id);
    const tenon_program* const of = program.get();
    return failed(&tenon_method_load, of, name, given, &out);
  };
  CHECK(load_failed("count").status == TENON_STATUS_NOT_FOUND);  // No registry.
  options.registry = registry.get();
  CHECK(load_failed("count", "backward").status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(load_failed("refuse").status == TENON_STATUS_DELEGATE_INVALID_COMPATIBILITY);
  CHECK_THAT(load_failed("count", "forward", "Couting").text, ContainsSubstring("Counting"));
  options.embedded_code = "perhaps";
  CHECK(load_failed("count").status == TENON_STATUS_INVALID_ARGUMENT);
  options.embedded_code = "deny";
  options.variant = "fast";
  CHECK(load_failed("count").status == TENON_STATUS_INVALID_ARGUMENT);
  options.variant = nullptr;
  options.flags = 1u << 5;
  CHECK(load_failed("count").status == TENON_STATUS_NOT_SUPPORTED);
  options.flags = 0;
  const char* const files[] = {"/nowhere/weights.ptd"};
  options.data_files = files;
  options.num_data_files = 1;
  CHECK(load_failed("count").status == TENON_STATUS_ACCESS_FAILED);
  options.num_data_files = 0;
  auto budget = sized<tenon_device_bytes>();
  budget.device = {TENON_DL_CPU, 0};
  budget.nbytes = 1;
  options.budget = &budget;
  options.num_budget = 1;
  CHECK(load_failed("count").status == TENON_STATUS_OUT_OF_RESOURCES);
  options.budget = nullptr;
  CHECK(load_failed("count").status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(out == nullptr);
}

TEST_CASE("options of a load reach the backend that they name", "[c]") {
  const auto registry = counting_registry();
  std::array<tenon_option, 2> values{};
  values[0] = real_option("step", 10);
  values[1] = {sizeof(tenon_option), TENON_OPTION_STRING, "label", {}};
  values[1].as.span = {"two", 3};
  auto backend = options_for("Counting", values.data(), 2);
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  options.backend_options = &backend;
  options.num_backend_options = 1;
  auto scheduling = sized<tenon_scheduling>();
  scheduling.priority = TENON_PRIORITY_HIGH;
  options.scheduling = &scheduling;
  CHECK(run(load("count", options).get()) == Vector{11, 12, 13, 14});

  const auto program = program_of("count");
  const tenon_program* const of = program.get();
  const tenon_method_options* const given = &options;
  tenon_method* out = nullptr;
  const auto load_failed = [&] { return failed(&tenon_method_load, of, "forward", given, &out); };
  values[1].key = nullptr;
  CHECK(load_failed().text == "tenon_method_load: key is null");
  values[1].key = "colour";
  CHECK(load_failed().status == TENON_STATUS_NOT_FOUND);
  values[1].key = "label";
  values[1].type = 99;
  CHECK(load_failed().status == TENON_STATUS_INVALID_TYPE);
  backend.num_options = 0;
  backend.backend_id = "Other";
  static_cast<void>(load("count", options));
  backend.num_options = 1;
  CHECK(load_failed().status == TENON_STATUS_INVALID_ARGUMENT);
  backend.struct_size = 1;
  CHECK(load_failed().status == TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("an input that does not fit is refused with what was expected", "[c]") {
  const auto method = load("count");
  Floats input({1, 2, 3, 4});
  tenon_dl_tensor& tensor = input.tensor();
  CHECK(set_input_failed(method.get(), 1, tensor).status == TENON_STATUS_INVALID_ARGUMENT);
  const auto changed = [&](const auto& change) {
    Floats other({1, 2, 3, 4});
    change(other);
    return set_input_failed(method.get(), 0, other.tensor());
  };
  CHECK(changed([](Floats& f) { f.size() = 3; }).status == TENON_STATUS_NOT_SUPPORTED);
  CHECK_THAT(changed([](Floats& f) { f.size() = -1; }).text, ContainsSubstring("a size is -1"));
  CHECK_THAT(changed([](Floats& f) { f.tensor().data = nullptr; }).text,
             ContainsSubstring("data is null"));
  CHECK_THAT(changed([](Floats& f) { f.tensor().shape = nullptr; }).text,
             ContainsSubstring("shape is null"));
  CHECK_THAT(changed([](Floats& f) { f.tensor().ndim = 17; }).text, ContainsSubstring("found 17"));
  CHECK_THAT(changed([](Floats& f) { f.tensor().ndim = -1; }).text, ContainsSubstring("found -1"));
  CHECK(changed([](Floats& f) { f.tensor().dtype.bits = 64; }).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(changed([](Floats& f) { f.tensor().dtype = {TENON_DL_FLOAT, 32, 2}; }).text,
             ContainsSubstring("in 2 lanes"));
  CHECK(changed([](Floats& f) { f.tensor().device = {TENON_DL_CUDA, 0}; }).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  std::int64_t stride = 2;
  CHECK_THAT(changed([&](Floats& f) { f.tensor().strides = &stride; }).text,
             ContainsSubstring("with stride 1 in dimension 0, found 2"));
  stride = 1;
  tensor.strides = &stride;
  const tenon_dl_tensor* const pointer = &tensor;
  call(&tenon_method_set_input, method.get(), std::uint64_t{0}, pointer);

  // Pinned memory of CUDA is memory of the CPU, and an offset is part of the address.
  std::array<float, 5> five{0, 1, 2, 3, 4};
  tensor.device = {3, 0};
  tensor.data = five.data();
  tensor.byte_offset = sizeof(float);
  call(&tenon_method_set_input, method.get(), std::uint64_t{0}, pointer);
  call(&tenon_method_execute, method.get());
  CHECK(output(method.get()) == Vector{2, 3, 4, 5});
}

TEST_CASE("dimensions in another order have their strides", "[c]") {
  // Two times three elements whose first dimension is the inner one.
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(32);
  auto tensor = planned_tensor(tenon::ScalarType::Float, {2, 3}, memory, 0);
  tensor.dim_order = {1, 0};
  static_cast<void>(plan.input(std::move(tensor)));
  const auto program = copy_program(builder);
  const auto method = load(program.get(), sized<tenon_method_options>());
  std::array<float, 6> values{};
  std::array<std::int64_t, 2> sizes{2, 3};
  std::array<std::int64_t, 2> strides{1, 2};
  tenon_dl_tensor input{};
  input.data = values.data();
  input.device = {TENON_DL_CPU, 0};
  input.ndim = 2;
  input.dtype = {TENON_DL_FLOAT, 32, 1};
  input.shape = sizes.data();
  CHECK_THAT(set_input_failed(method.get(), 0, input).text,
             ContainsSubstring("with stride 1 in dimension 0, found 3"));
  input.strides = strides.data();
  const tenon_dl_tensor* const pointer = &input;
  call(&tenon_method_set_input, method.get(), std::uint64_t{0}, pointer);
  CHECK(failed(&tenon_method_export_output, method.get(), std::uint64_t{0},
               std::array<tenon_dl_managed_tensor*, 1>{}.data())
            .status == TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("a managed input is kept until it is replaced", "[c]") {
  Managed first, second;
  auto method = load("count");
  call(&tenon_method_set_input_managed, method.get(), std::uint64_t{0}, &first.tensor);
  call(&tenon_method_execute, method.get());
  CHECK(output(method.get()) == Vector{2, 3, 4, 5});
  CHECK(first.deleted == 0);
  second.tensor.major = 2;
  CHECK(failed(&tenon_method_set_input_managed, method.get(), std::uint64_t{0}, &second.tensor)
            .status == TENON_STATUS_NOT_SUPPORTED);
  second.tensor.major = 1;
  CHECK(failed(&tenon_method_set_input_managed, method.get(), std::uint64_t{9}, &second.tensor)
            .status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(second.deleted == 0);
  CHECK(first.deleted == 0);
  call(&tenon_method_set_input_managed, method.get(), std::uint64_t{0}, &second.tensor);
  CHECK(first.deleted == 1);
  method.reset();
  CHECK(second.deleted == 1);

  Managed third;
  method = load("count");
  call(&tenon_method_set_input_managed, method.get(), std::uint64_t{0}, &third.tensor);
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  CHECK(third.deleted == 1);
}

TEST_CASE("an input that the program writes to is not given read-only memory", "[c]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  const auto x = plan.input(planned_tensor(tenon::ScalarType::Float, {4}, memory, 0));
  plan.instruction(kernel_call(plan.op("counting::increase_", ""), {x}));
  const auto program = copy_program(builder);
  auto registry = counting_registry();
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  Managed state;  // The method keeps it.
  const auto method = load(program.get(), options);
  CHECK(tenon_method_writes_input(method.get(), 0) == 1);
  CHECK(tenon_method_writes_input(method.get(), 1) == 0);
  CHECK(tenon_method_writes_input(load("count").get(), 0) == 0);
  state.tensor.flags = 1;
  const auto refused =
      failed(&tenon_method_set_input_managed, method.get(), std::uint64_t{0}, &state.tensor);
  CHECK(refused.status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(refused.text, ContainsSubstring("the program writes to input 0"));
  state.tensor.flags = 0;
  call(&tenon_method_set_input_managed, method.get(), std::uint64_t{0}, &state.tensor);
  call(&tenon_method_execute, method.get());
  CHECK(floats(state.tensor.dl_tensor) == Vector{2, 3, 4, 5});
}

TEST_CASE("an exported output keeps its method", "[c]") {
  auto method = load("count");
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  tenon_dl_managed_tensor* exported = nullptr;
  call(&tenon_method_export_output, method.get(), std::uint64_t{0}, &exported);
  CHECK(exported->major == 1);
  CHECK(exported->flags == 0);
  CHECK(failed(&tenon_method_export_output, method.get(), std::uint64_t{1}, &exported).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  method.reset();
  CHECK(floats(exported->dl_tensor) == Vector{2, 3, 4, 5});
  CHECK(exported->dl_tensor.strides[0] == 1);
  exported->deleter(exported);
}

TEST_CASE("inputs that are no tensors must be those that were exported", "[c]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  plan.input(int_value(7));
  plan.input(double_value(0.5));
  plan.input(bool_value(true));
  plan.input(string_value("label"));
  plan.output(int_value(7));
  const auto program = copy_program(builder);
  const auto method = load(program.get(), sized<tenon_method_options>());
  std::array<tenon_value, 4> values{};
  for (tenon_value& value : values) value.struct_size = sizeof value;
  values[0].kind = TENON_VALUE_INT;
  values[0].as.integer = 7;
  values[1].kind = TENON_VALUE_DOUBLE;
  values[1].as.real = 0.5;
  values[2].kind = TENON_VALUE_BOOL;
  values[2].as.boolean = 1;
  values[3].kind = TENON_VALUE_STRING;
  values[3].as.span = {"label", 5};
  for (std::uint64_t i = 0; i < 4; ++i) {
    const tenon_value* const value = &values[i];
    call(&tenon_method_set_input_value, method.get(), i, value);
  }
  call(&tenon_method_execute, method.get());
  const tenon_value* value = tenon_method_get_output(method.get(), 0);
  CHECK(value->kind == TENON_VALUE_INT);
  CHECK(value->as.integer == 7);
  CHECK(failed(&tenon_method_export_output, method.get(), std::uint64_t{0},
               std::array<tenon_dl_managed_tensor*, 1>{}.data())
            .status == TENON_STATUS_INVALID_ARGUMENT);
  value = &values[0];
  values[0].as.integer = 8;
  CHECK(failed(&tenon_method_set_input_value, method.get(), std::uint64_t{0}, value).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  values[0].kind = TENON_VALUE_TENSOR;
  CHECK(failed(&tenon_method_set_input_value, method.get(), std::uint64_t{0}, value).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  value = &values[3];
  values[3].as.span.data = nullptr;
  CHECK(failed(&tenon_method_set_input_value, method.get(), std::uint64_t{3}, value).text ==
        "tenon_method_set_input_value: data is null");
}

TEST_CASE("an output without memory of the method is given its bytes", "[c]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  const auto x = plan.input(planned_tensor(tenon::ScalarType::Float, {4}, memory, 0));
  const auto y = plan.output(tensor(tenon::ScalarType::Float, {4}));
  const auto blob = builder.segment(bytes_of("count"));
  const auto delegate = plan.delegate("Counting", tenon::schema::DataLocation::SEGMENT, blob);
  plan.instruction(delegate_call(delegate, {x, y}));
  const auto program = copy_program(builder);
  const auto registry = counting_registry();
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  const auto method = load(program.get(), options);
  tenon_dl_managed_tensor* exported = nullptr;
  CHECK(failed(&tenon_method_export_output, method.get(), std::uint64_t{0}, &exported).status ==
        TENON_STATUS_INVALID_STATE);
  std::array<float, 4> bytes{};
  const tenon_dl_device cpu{TENON_DL_CPU, 0};
  CHECK(failed(&tenon_method_set_output, method.get(), std::uint64_t{0},
               static_cast<void*>(bytes.data()), std::uint64_t{8}, cpu)
            .status == TENON_STATUS_INVALID_ARGUMENT);
  call(&tenon_method_set_output, method.get(), std::uint64_t{0}, static_cast<void*>(bytes.data()),
       std::uint64_t{16}, cpu);
  CHECK(run(method.get()) == Vector{2, 3, 4, 5});
  CHECK(bytes == std::array<float, 4>{2, 3, 4, 5});
}

TEST_CASE("a method reports its memory", "[c]") {
  const auto method = load("count");
  auto memory = sized<tenon_method_memory>();
  const tenon_method* const of = method.get();
  call(&tenon_method_get_memory, of, &memory);
  CHECK(memory.num_delegates == 1);
  CHECK(memory.planned_device == 0);
  CHECK(memory.tables > 0);
  CHECK(memory.host >= memory.tables + memory.planned_host + 8);
  auto delegate = sized<tenon_delegate_memory>();
  call(&tenon_method_get_delegate_memory, of, std::uint64_t{0}, &delegate);
  CHECK(delegate.is_reported == 1);
  CHECK(delegate.host_weights == 5);
  CHECK(delegate.host_scratch == 3);
  CHECK(failed(&tenon_method_get_delegate_memory, of, std::uint64_t{1}, &delegate).status ==
        TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("streams and hints work as in the C++ host", "[c]") {
  const auto method = load("count");
  const char* const kind = TENON_KIND_CUDA_STREAM;
  void* const own = nullptr;
  CHECK(failed(&tenon_method_set_stream, method.get(), "Counting", kind, own).status ==
        TENON_STATUS_NOT_SUPPORTED);
  CHECK(failed(&tenon_method_set_stream, method.get(), "Other", kind, own).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  const tenon_scheduling* const none = nullptr;
  call(&tenon_method_set_scheduling, method.get(), none);
}
