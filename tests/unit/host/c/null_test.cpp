// SPDX-License-Identifier: MIT
//
// Null where something must be, for every function of the C interface.
#include <string>

#include "c_support.hpp"

using namespace tenon::test;

namespace {

/// The call fails with InvalidArgument, and its text is that `what` of the function is null.
template <class Function, class... Arguments>
void expect_null(const std::string& what, const Function& function, Arguments... arguments) {
  const auto failure = failed(function, arguments...);
  CHECK(failure.status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(failure.text, ContainsSubstring(": " + what + " is null"));
}

}  // namespace

TEST_CASE("null is ignored where a handle is destroyed", "[c]") {
  tenon_error_destroy(nullptr);
  tenon_registry_destroy(nullptr);
  tenon_backend_list_destroy(nullptr);
  tenon_program_destroy(nullptr);
  tenon_method_meta_destroy(nullptr);
  tenon_executor_destroy(nullptr);
  tenon_method_destroy(nullptr);
  tenon_session_destroy(nullptr);
  tenon_task_run(nullptr);
  tenon_task_drop(nullptr);
}

TEST_CASE("null handles have nothing", "[c]") {
  CHECK(tenon_backend_list_size(nullptr) == 0);
  CHECK(tenon_program_num_methods(nullptr) == 0);
  CHECK(tenon_program_method_name(nullptr, 0) == nullptr);
  CHECK(tenon_method_meta_num_inputs(nullptr) == 0);
  CHECK(tenon_method_meta_num_outputs(nullptr) == 0);
  CHECK(tenon_method_meta_num_backends(nullptr) == 0);
  CHECK(tenon_method_meta_backend(nullptr, 0) == nullptr);
  CHECK(tenon_method_num_inputs(nullptr) == 0);
  CHECK(tenon_method_num_outputs(nullptr) == 0);
  CHECK(tenon_method_writes_input(nullptr, 0) == 0);
  CHECK(std::string(tenon_method_variant(nullptr)).empty());
  CHECK(tenon_method_get_input(nullptr, 0) == nullptr);
  CHECK(tenon_method_get_output(nullptr, 0) == nullptr);
}

TEST_CASE("null for what a function of the registry needs is refused", "[c]") {
  const auto owned = counting_registry();
  tenon_registry* const registry = owned.get();
  tenon_registry* const no_registry = nullptr;
  const char* const no_text = nullptr;
  expect_null("out", &tenon_registry_create, static_cast<const tenon_registry_options*>(nullptr),
              static_cast<tenon_registry**>(nullptr));
  expect_null("registry", &tenon_registry_discover, no_registry,
              static_cast<const tenon_discovery_options*>(nullptr));
  expect_null("registry", &tenon_registry_register_plugin, no_registry, "a", no_text);
  expect_null("path", &tenon_registry_register_plugin, registry, no_text, no_text);
  expect_null("plugin", &tenon_registry_register_static_plugin, registry,
              static_cast<const tenon_plugin_head*>(nullptr), no_text);
  expect_null("id", &tenon_registry_unregister, registry, no_text);
  expect_null("id", &tenon_registry_check_backend, static_cast<const tenon_registry*>(registry),
              no_text);
  expect_null("out", &tenon_registry_list, static_cast<const tenon_registry*>(registry),
              static_cast<tenon_backend_list**>(nullptr));
  auto info = sized<tenon_backend_info>();
  expect_null("list", &tenon_backend_list_get, static_cast<const tenon_backend_list*>(nullptr),
              std::uint64_t{0}, &info);
}

TEST_CASE("null for what a function of programs needs is refused", "[c]") {
  const auto owned = program_of("count");
  const tenon_program* const program = owned.get();
  const tenon_program_options* const no_options = nullptr;
  tenon_program* out = nullptr;
  tenon_method_meta* meta = nullptr;
  const char* const no_text = nullptr;
  const void* const no_bytes = nullptr;
  void(TENON_CALL* const no_release)(void*) = nullptr;
  expect_null("path", &tenon_program_open, no_text, no_options, &out);
  expect_null("out", &tenon_program_open, "a", no_options, static_cast<tenon_program**>(nullptr));
  expect_null("bytes", &tenon_program_copy, no_bytes, std::uint64_t{8}, no_text, no_options, &out);
  expect_null("bytes", &tenon_program_borrow, no_bytes, std::uint64_t{8}, no_release,
              static_cast<void*>(nullptr), no_text, no_options, &out);
  expect_null("method", &tenon_program_get_method_meta, program, no_text, &meta);
  expect_null("out", &tenon_program_get_method_meta, program, "forward",
              static_cast<tenon_method_meta**>(nullptr));
  auto value = sized<tenon_value_meta>();
  const tenon_method_meta* const no_meta = nullptr;
  expect_null("meta", &tenon_method_meta_get_input, no_meta, std::uint64_t{0}, &value);
  expect_null("meta", &tenon_method_meta_get_output, no_meta, std::uint64_t{0}, &value);
}

TEST_CASE("null for what a function of methods needs is refused", "[c]") {
  const auto owned = load("count");
  tenon_method* const method = owned.get();
  tenon_method* const no_method = nullptr;
  const tenon_method* const no_const_method = nullptr;
  const auto program = program_of("count");
  const tenon_program* const of = program.get();
  const tenon_method_options* const no_options = nullptr;
  void* const no_data = nullptr;
  tenon_method* out = nullptr;
  void(TENON_CALL* const no_completion)(void*, tenon_method*, tenon_status, tenon_error*) = nullptr;
  tenon_status(TENON_CALL* const no_submit)(void*, tenon_task*) = nullptr;
  void(TENON_CALL* const no_release)(void*) = nullptr;
  expect_null("program", &tenon_method_load, static_cast<const tenon_program*>(nullptr), "forward",
              no_options, &out);
  expect_null("name", &tenon_method_load, of, static_cast<const char*>(nullptr), no_options, &out);
  expect_null("out", &tenon_method_load, of, "forward", no_options,
              static_cast<tenon_method**>(nullptr));
  expect_null("method", &tenon_method_execute, no_method);
  expect_null("tensor", &tenon_method_set_input, method, std::uint64_t{0},
              static_cast<const tenon_dl_tensor*>(nullptr));
  expect_null("tensor", &tenon_method_set_input_managed, method, std::uint64_t{0},
              static_cast<tenon_dl_managed_tensor*>(nullptr));
  expect_null("value", &tenon_method_set_input_value, method, std::uint64_t{0},
              static_cast<const tenon_value*>(nullptr));
  expect_null("data", &tenon_method_set_output, method, std::uint64_t{0}, no_data, std::uint64_t{1},
              tenon_dl_device{TENON_DL_CPU, 0});
  expect_null("completion", &tenon_method_execute_async, method, no_completion, no_data);
  expect_null("method", &tenon_method_cancel, no_method);
  expect_null("out", &tenon_method_export_output, method, std::uint64_t{0},
              static_cast<tenon_dl_managed_tensor**>(nullptr));
  expect_null("to", &tenon_method_read_output, static_cast<const tenon_method*>(method),
              std::uint64_t{0}, no_data, std::uint64_t{1});
  expect_null("method", &tenon_method_get_memory, no_const_method,
              static_cast<tenon_method_memory*>(nullptr));
  expect_null("out", &tenon_method_get_memory, static_cast<const tenon_method*>(method),
              static_cast<tenon_method_memory*>(nullptr));
  expect_null("out", &tenon_method_get_delegate_memory, static_cast<const tenon_method*>(method),
              std::uint64_t{0}, static_cast<tenon_delegate_memory*>(nullptr));
  expect_null("backend_id", &tenon_method_set_stream, method, static_cast<const char*>(nullptr),
              static_cast<const char*>(nullptr), no_data);
  expect_null("method", &tenon_method_set_scheduling, no_method,
              static_cast<const tenon_scheduling*>(nullptr));
  expect_null("out", &tenon_method_create_session, method, no_session_options,
              static_cast<tenon_session**>(nullptr));
  expect_null("method", &tenon_method_use_session, no_method, static_cast<tenon_session*>(nullptr));
  expect_null("out", &tenon_executor_create, std::uint32_t{1}, std::uint64_t{0},
              static_cast<tenon_executor**>(nullptr));
  tenon_executor* executor = nullptr;
  CHECK(failed(&tenon_executor_create, std::uint32_t{0}, std::uint64_t{0}, &executor).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  expect_null("submit", &tenon_executor_create_custom, no_submit, no_release, no_data, &executor);
}

TEST_CASE("null is taken where the header says so", "[c]") {
  ProgramBuilder builder;
  auto plan = builder.plan("forward");
  const auto memory = plan.buffer(16);
  plan.input(planned_tensor(tenon::ScalarType::Float, {}, memory, 0));
  plan.input(planned_tensor(tenon::ScalarType::Float, {2, 0}, memory, 0));
  plan.output(tensor(tenon::ScalarType::Float, {0}));
  const AlignedBytes bytes = builder.build();
  const void* const begin = bytes.bytes().data();
  const std::uint64_t size = bytes.bytes().size();
  const tenon_program_options* const no_options = nullptr;
  const char* const no_name = nullptr;
  void* const no_data = nullptr;
  void(TENON_CALL* const no_release)(void*) = nullptr;
  tenon_program* program = nullptr;
  call(&tenon_program_borrow, begin, size, no_release, no_data, no_name, no_options, &program);
  tenon_program_destroy(program);
  call(&tenon_program_copy, begin, size, no_name, no_options, &program);
  const ProgramHandle owned(program);
  tenon_dl_managed_tensor managed{};  // The method keeps it.
  tenon_method* made = nullptr;
  call(&tenon_method_load, static_cast<const tenon_program*>(program), "forward",
       static_cast<const tenon_method_options*>(nullptr), &made);
  const MethodHandle method(made);

  float number = 1;
  tenon_dl_tensor scalar{&number, {TENON_DL_CPU, 0}, 0, {TENON_DL_FLOAT, 32, 1},
                         nullptr, nullptr,           0};
  std::int64_t sizes[] = {2, 0};
  tenon_dl_tensor empty{nullptr, {TENON_DL_CPU, 0}, 2, {TENON_DL_FLOAT, 32, 1}, sizes, nullptr, 0};
  call(&tenon_method_set_input, made, std::uint64_t{0},
       static_cast<const tenon_dl_tensor*>(&scalar));
  managed = {1, 1, nullptr, nullptr, 0, empty};  // Without a deleter.
  call(&tenon_method_set_input_managed, made, std::uint64_t{1}, &managed);
  call(&tenon_method_set_output, made, std::uint64_t{0}, no_data, std::uint64_t{0},
       tenon_dl_device{TENON_DL_CPU, 0});
  call(&tenon_method_set_scheduling, made, static_cast<const tenon_scheduling*>(nullptr));
  call(&tenon_method_execute, made);
  call(&tenon_method_read_output, static_cast<const tenon_method*>(made), std::uint64_t{0}, no_data,
       std::uint64_t{0});
  call(&tenon_method_use_session, made, static_cast<tenon_session*>(nullptr));

  const auto registry = new_registry();
  call(&tenon_registry_discover, registry.get(),
       static_cast<const tenon_discovery_options*>(nullptr));
  tenon_executor* executor = nullptr;
  const auto submit = [](void*, tenon_task*) -> tenon_status { return TENON_STATUS_INTERNAL; };
  call(&tenon_executor_create_custom, +submit, no_release, no_data, &executor);
  tenon_executor_destroy(executor);
}
