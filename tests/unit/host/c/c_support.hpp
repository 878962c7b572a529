// SPDX-License-Identifier: MIT
#pragma once

#include "tenon/host/c/tenon_host.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/program_builder.hpp"

/// The C interface, with handles that destroy themselves: tests use nothing else of the host.
namespace tenon::test {

template <auto destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    destroy(handle);
  }
};
template <class T, auto destroy>
using Handle = std::unique_ptr<T, Destroyer<destroy>>;
using ErrorHandle = Handle<tenon_error, &tenon_error_destroy>;
using RegistryHandle = Handle<tenon_registry, &tenon_registry_destroy>;
using ListHandle = Handle<tenon_backend_list, &tenon_backend_list_destroy>;
using ProgramHandle = Handle<tenon_program, &tenon_program_destroy>;
using MetaHandle = Handle<tenon_method_meta, &tenon_method_meta_destroy>;
using ExecutorHandle = Handle<tenon_executor, &tenon_executor_destroy>;
using MethodHandle = Handle<tenon_method, &tenon_method_destroy>;
using SessionHandle = Handle<tenon_session, &tenon_session_destroy>;

struct Failed {
  tenon_status status;
  std::string text;
};

/// Calls a function of the interface without its last argument; it must succeed.
template <class Function, class... Arguments>
void call(const Function& function, Arguments... arguments) {
  tenon_error* error = nullptr;
  const tenon_status status = function(arguments..., &error);
  const ErrorHandle owned(error);
  INFO((error ? tenon_error_text(error) : ""));
  REQUIRE(status == TENON_STATUS_OK);
  CHECK(error == nullptr);
}

/// Calls a function of the interface without its last argument; it must fail.
template <class Function, class... Arguments>
Failed failed(const Function& function, Arguments... arguments) {
  tenon_error* error = nullptr;
  const tenon_status status = function(arguments..., &error);
  const ErrorHandle owned(error);
  REQUIRE(status != TENON_STATUS_OK);
  REQUIRE(error != nullptr);
  CHECK(tenon_error_status(error) == status);
  CHECK(function(arguments..., static_cast<tenon_error**>(nullptr)) == status);
  return {status, tenon_error_text(error)};
}

/// A struct with its size.
template <class Struct>
Struct sized() {
  Struct out{};
  out.struct_size = sizeof out;
  return out;
}

inline tenon_option real_option(const char* key, double value) {
  auto out = sized<tenon_option>();
  out.type = TENON_OPTION_DOUBLE;
  out.key = key;
  out.as.real = value;
  return out;
}

/// `count` options, from `options` on, for the backend `id`.
inline tenon_backend_options options_for(const char* id, const tenon_option* options,
                                         std::uint32_t count = 1) {
  auto out = sized<tenon_backend_options>();
  out.backend_id = id;
  out.options = options;
  out.num_options = count;
  return out;
}

inline constexpr const tenon_session_options* no_session_options = nullptr;

inline RegistryHandle new_registry() {
  tenon_registry* registry = nullptr;
  call(&tenon_registry_create, static_cast<const tenon_registry_options*>(nullptr), &registry);
  return RegistryHandle(registry);
}

/// A registry that knows the plugin of counting_backend.cpp.
inline RegistryHandle counting_registry() {
  auto out = new_registry();
  call(&tenon_registry_register_plugin, out.get(), TENON_TEST_COUNTING,
       static_cast<const char*>(nullptr));
  return out;
}

inline ProgramHandle copy_program(const ProgramBuilder& builder) {
  const AlignedBytes bytes = builder.build();
  tenon_program* program = nullptr;
  call(&tenon_program_copy, static_cast<const void*>(bytes.bytes().data()),
       std::uint64_t{bytes.bytes().size()}, "test.pte",
       static_cast<const tenon_program_options*>(nullptr), &program);
  return ProgramHandle(program);
}

/// "forward" of one delegate of `id` with that blob, from four floats to four floats.
inline ProgramHandle program_of(const std::string& blob, const std::string& id = "Counting") {
  return copy_program(delegate_program(id, blob));
}

inline MethodHandle load(const tenon_program* program, const tenon_method_options& options) {
  tenon_method* method = nullptr;
  call(&tenon_method_load, program, "forward", &options, &method);
  return MethodHandle(method);
}

inline MethodHandle load(const std::string& blob, tenon_method_options options) {
  return load(program_of(blob).get(), options);
}

inline MethodHandle load(const std::string& blob) {
  const auto registry = counting_registry();
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  return load(blob, options);
}

/// Four floats as a DLTensor.
class Floats {
 public:
  explicit Floats(std::array<float, 4> values) : values_(values) {
    tensor_.data = values_.data();
    tensor_.device = {TENON_DL_CPU, 0};
    tensor_.ndim = 1;
    tensor_.dtype = {TENON_DL_FLOAT, 32, 1};
    tensor_.shape = &size_;
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  tenon_dl_tensor& tensor() { return tensor_; }
  std::int64_t& size() { return size_; }

 private:
  std::array<float, 4> values_;
  std::int64_t size_ = 4;
  tenon_dl_tensor tensor_{};
};

inline std::vector<float> floats(const tenon_dl_tensor& tensor) {
  REQUIRE(tensor.ndim == 1);
  const auto* const first = static_cast<const float*>(tensor.data) + tensor.byte_offset / 4;
  return {first, first + tensor.shape[0]};
}

inline std::vector<float> output(const tenon_method* method) {
  const tenon_value* const value = tenon_method_get_output(method, 0);
  REQUIRE(value != nullptr);
  REQUIRE(value->kind == TENON_VALUE_TENSOR);
  return floats(value->as.tensor->dl);
}

/// The output of one run with the input 1, 2, 3, 4.
inline std::vector<float> run(tenon_method* method) {
  Floats input({1, 2, 3, 4});
  call(&tenon_method_set_input, method, std::uint64_t{0},
       static_cast<const tenon_dl_tensor*>(&input.tensor()));
  call(&tenon_method_execute, method);
  return output(method);
}

}  // namespace tenon::test
