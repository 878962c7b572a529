// SPDX-License-Identifier: MIT
//
// Each struct that a caller of the C interface passes, with the sizes that a caller may state.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "c_support.hpp"

using namespace tenon::test;

namespace {

/// A struct of a caller whose header has more members than the library's.
template <class Struct>
struct Longer {
  Struct known{};
  std::array<std::uint64_t, 2> more{};

  explicit Longer(std::uint32_t size) { known.struct_size = size; }
};

/// What all structs of a test are passed for.
struct World {
  RegistryHandle registry = counting_registry();
  ProgramHandle program = program_of("count");
  MethodHandle method = load("count");

  tenon_status load_with(const tenon_method_options& options, tenon_error** error) {
    tenon_method* out = nullptr;
    auto with_registry = options;
    with_registry.registry = registry.get();
    const tenon_status status =
        tenon_method_load(program.get(), "forward", &with_registry, &out, error);
    tenon_method_destroy(out);
    return status;
  }
};

/// One struct: the size that the library knows, and a call that passes a struct that states `size`
/// and has `more` behind what is known.
struct Passed {
  std::string name;
  std::uint32_t size;
  std::function<tenon_status(World&, std::uint32_t size, std::uint64_t more, tenon_error**)> call;
};

template <class Struct, class Pass>
Passed argument(std::string name, const Pass& pass) {
  return {std::move(name), sizeof(Struct),
          [pass](World& world, std::uint32_t size, std::uint64_t more, tenon_error** error) {
            Longer<Struct> longer(size);
            longer.more[0] = more;
            return pass(world, longer.known, error);
          }};
}

std::vector<Passed> arguments() {
  return {
      argument<tenon_registry_options>(
          "tenon_registry_options",
          [](World&, const tenon_registry_options& options, tenon_error** error) {
            tenon_registry* out = nullptr;
            const tenon_status status = tenon_registry_create(&options, &out, error);
            tenon_registry_destroy(out);
            return status;
          }),
      argument<tenon_discovery_options>(
          "tenon_discovery_options",
          [](World& world, tenon_discovery_options& options, tenon_error** error) {
            options.flags = TENON_DISCOVERY_NO_ENVIRONMENT | TENON_DISCOVERY_NO_INSTALLED;
            return tenon_registry_discover(world.registry.get(), &options, error);
          }),
      argument<tenon_program_options>(
          "tenon_program_options",
          [](World&, const tenon_program_options& options, tenon_error** error) {
            const AlignedBytes bytes = delegate_program("Counting", "count").build();
            tenon_program* out = nullptr;
            const tenon_status status = tenon_program_copy(
                bytes.bytes().data(), bytes.bytes().size(), nullptr, &options, &out, error);
            tenon_program_destroy(out);
            return status;
          }),
      argument<tenon_method_options>(
          "tenon_method_options",
          [](World& world, tenon_method_options& options, tenon_error** error) {
            tenon_method* out = nullptr;
            options.registry = world.registry.get();
            const tenon_status status =
                tenon_method_load(world.program.get(), "forward", &options, &out, error);
            tenon_method_destroy(out);
            return status;
          }),
      argument<tenon_backend_options>(
          "tenon_method_options.backend_options",
          [](World& world, tenon_backend_options& backend, tenon_error** error) {
            backend.backend_id = "Counting";
            auto options = sized<tenon_method_options>();
            options.backend_options = &backend;
            options.num_backend_options = 1;
            return world.load_with(options, error);
          }),
      argument<tenon_option>("tenon_backend_options.options",
                             [](World& world, tenon_option& option, tenon_error** error) {
                               option.type = TENON_OPTION_DOUBLE;
                               option.key = "step";
                               option.as.real = 2;
                               const auto backend = options_for("Counting", &option);
                               auto options = sized<tenon_method_options>();
                               options.backend_options = &backend;
                               options.num_backend_options = 1;
                               return world.load_with(options, error);
                             }),
      argument<tenon_device_bytes>(
          "tenon_method_options.budget",
          [](World& world, tenon_device_bytes& budget, tenon_error** error) {
            budget.device = {TENON_DL_CPU, 0};
            budget.nbytes = 1 << 20;
            auto options = sized<tenon_method_options>();
            options.budget = &budget;
            options.num_budget = 1;
            return world.load_with(options, error);
          }),
      argument<tenon_scheduling>(
          "tenon_method_options.scheduling",
          [](World& world, const tenon_scheduling& scheduling, tenon_error** error) {
            auto options = sized<tenon_method_options>();
            options.scheduling = &scheduling;
            return world.load_with(options, error);
          }),
      argument<tenon_scheduling>(
          "tenon_method_set_scheduling",
          [](World& world, const tenon_scheduling& scheduling, tenon_error** error) {
            return tenon_method_set_scheduling(world.method.get(), &scheduling, error);
          }),
      argument<tenon_session_options>(
          "tenon_session_options",
          [](World& world, const tenon_session_options& options, tenon_error** error) {
            tenon_session* out = nullptr;
            const tenon_status status =
                tenon_method_create_session(world.method.get(), &options, &out, error);
            tenon_session_destroy(out);
            return status;
          }),
      argument<tenon_value>("tenon_method_set_input_value",
                            [](World&, tenon_value& value, tenon_error** error) {
                              ProgramBuilder builder;
                              builder.plan("forward").input(int_value(7));
                              const auto program = copy_program(builder);
                              const auto method =
                                  load(program.get(), sized<tenon_method_options>());
                              value.kind = TENON_VALUE_INT;
                              value.as.integer = 7;
                              return tenon_method_set_input_value(method.get(), 0, &value, error);
                            }),
  };
}

/// A struct that the library fills: what is behind its members is zero after a success.
template <class Struct, class Pass>
Passed result(std::string name, const Pass& pass) {
  return {std::move(name), sizeof(Struct),
          [pass](World& world, std::uint32_t size, std::uint64_t more, tenon_error** error) {
            Longer<Struct> longer(size);
            longer.more = {more, more};
            const tenon_status status = pass(world, longer.known, error);
            CHECK(longer.known.struct_size == size);
            const std::size_t written = status == TENON_STATUS_OK ? size - sizeof(Struct) : 0;
            CHECK(longer.more[0] == (written >= 8 ? 0 : more));
            CHECK(longer.more[1] == (written >= 16 ? 0 : more));
            return status;
          }};
}

std::vector<Passed> results() {
  const auto meta = [](const auto& function) {
    return [function](World& world, tenon_value_meta& out, tenon_error** error) {
      tenon_method_meta* made = nullptr;
      call(&tenon_program_get_method_meta, static_cast<const tenon_program*>(world.program.get()),
           "forward", &made);
      const MetaHandle owned(made);
      return function(made, 0, &out, error);
    };
  };
  return {
      result<tenon_backend_info>("tenon_backend_info",
                                 [](World& world, tenon_backend_info& out, tenon_error** error) {
                                   tenon_backend_list* list = nullptr;
                                   call(&tenon_registry_list,
                                        static_cast<const tenon_registry*>(world.registry.get()),
                                        &list);
                                   const ListHandle owned(list);
                                   return tenon_backend_list_get(list, 0, &out, error);
                                 }),
      result<tenon_value_meta>("tenon_method_meta_get_input", meta(&tenon_method_meta_get_input)),
      result<tenon_value_meta>("tenon_method_meta_get_output", meta(&tenon_method_meta_get_output)),
      result<tenon_method_memory>("tenon_method_memory",
                                  [](World& world, tenon_method_memory& out, tenon_error** error) {
                                    return tenon_method_get_memory(world.method.get(), &out, error);
                                  }),
      result<tenon_delegate_memory>(
          "tenon_delegate_memory",
          [](World& world, tenon_delegate_memory& out, tenon_error** error) {
            return tenon_method_get_delegate_memory(world.method.get(), 0, &out, error);
          }),
  };
}

Failed refused(const Passed& of, World& world, std::uint32_t size, std::uint64_t more) {
  tenon_error* error = nullptr;
  const tenon_status status = of.call(world, size, more, &error);
  const ErrorHandle owned(error);
  return {status, tenon_error_text(error)};
}

}  // namespace

TEST_CASE("a struct that states a size which no header has is refused", "[c]") {
  World world;
  auto all = arguments();
  for (Passed& each : results()) all.push_back(std::move(each));
  for (const Passed& each : all) {
    const std::uint32_t wrong[] = {0,
                                   4,
                                   each.size - 1,
                                   each.size - 4,
                                   each.size + 1,
                                   each.size + 2,
                                   4096 + 8,
                                   std::uint32_t{1} << 31,
                                   UINT32_MAX - 7,
                                   UINT32_MAX};
    for (const std::uint32_t size : wrong) {
      CAPTURE(each.name, size);
      const auto failure = refused(each, world, size, 0);
      CHECK(failure.status == TENON_STATUS_INVALID_ARGUMENT);
      CHECK_THAT(failure.text, ContainsSubstring("struct_size is " + std::to_string(size)));
    }
  }
}

TEST_CASE("a struct of a newer header is read while what is not known there is zero", "[c]") {
  World world;
  for (const Passed& each : arguments()) {
    for (const std::uint32_t longer : {0u, 8u, 16u}) {
      CAPTURE(each.name, longer);
      CHECK(refused(each, world, each.size + longer, 0).text == "");
      for (const std::uint64_t more : {std::uint64_t{1}, std::uint64_t{1} << 63}) {
        const auto failure = refused(each, world, each.size + longer, more);
        CHECK(failure.status ==
              (longer == 0 ? TENON_STATUS_OK : std::int32_t{TENON_STATUS_NOT_SUPPORTED}));
        if (longer != 0) CHECK_THAT(failure.text, ContainsSubstring("is not zero"));
      }
    }
  }
}

TEST_CASE("a struct of a newer header that the library fills is zero behind what is known", "[c]") {
  World world;
  for (const Passed& each : results()) {
    for (const std::uint32_t longer : {0u, 8u, 16u}) {
      CAPTURE(each.name, longer);
      CHECK(refused(each, world, each.size + longer, 7).text == "");
    }
  }
}

TEST_CASE("a reserved member that is set is refused", "[c]") {
  World world;
  tenon_registry* made = nullptr;
  auto registry = sized<tenon_registry_options>();
  registry.reserved = 1;
  const tenon_registry_options* const no_registry = &registry;
  auto discovery = sized<tenon_discovery_options>();
  discovery.reserved = 1;
  const tenon_discovery_options* const no_discovery = &discovery;
  auto budget = sized<tenon_device_bytes>();
  budget.reserved = 1;
  auto method = sized<tenon_method_options>();
  method.budget = &budget;
  method.num_budget = 1;
  tenon_error* error = nullptr;
  const Failed all[] = {
      failed(&tenon_registry_create, no_registry, &made),
      failed(&tenon_registry_discover, world.registry.get(), no_discovery),
      {world.load_with(method, &error), tenon_error_text(error)},
  };
  tenon_error_destroy(error);
  for (const Failed& each : all) {
    CHECK(each.status == TENON_STATUS_NOT_SUPPORTED);
    CHECK_THAT(each.text, ContainsSubstring("reserved is 1, expected 0"));
  }
}

TEST_CASE("all structs of an array state one size", "[c]") {
  World world;
  std::array<Longer<tenon_device_bytes>, 2> longer{Longer<tenon_device_bytes>(sizeof longer[0]),
                                                   Longer<tenon_device_bytes>(sizeof longer[0])};
  for (auto& each : longer) each.known.nbytes = 1 << 20;
  longer[0].known.device = {TENON_DL_CPU, 0};
  longer[1].known.device = {TENON_DL_CUDA, 0};
  auto options = sized<tenon_method_options>();
  options.budget = &longer[0].known;
  options.num_budget = 2;
  const auto load = [&] {
    tenon_error* error = nullptr;
    static_cast<void>(world.load_with(options, &error));
    const ErrorHandle owned(error);
    return std::string(tenon_error_text(error));
  };
  CHECK(load() == "");
  for (const std::size_t size : {sizeof(tenon_device_bytes), sizeof longer[0] + 8}) {
    longer[1].known.struct_size = static_cast<std::uint32_t>(size);
    CHECK_THAT(load(), ContainsSubstring("budget[1]: struct_size is " + std::to_string(size) +
                                         ", expected " + std::to_string(sizeof longer[0])));
  }
  longer[1].known.struct_size = sizeof longer[0];
  longer[1].more[1] = 1;
  CHECK_THAT(load(), ContainsSubstring("budget[1]"));
}
