// SPDX-License-Identifier: MIT
//
// The registry, programs and errors of the C interface.
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "c_support.hpp"
#include "support/temporary_directory.hpp"

using namespace tenon::test;

namespace {

std::vector<tenon_backend_info> all(const tenon_backend_list* list) {
  std::vector<tenon_backend_info> out;
  for (std::uint64_t i = 0; i < tenon_backend_list_size(list); ++i) {
    out.push_back(sized<tenon_backend_info>());
    call(&tenon_backend_list_get, list, i, &out.back());
  }
  return out;
}

ListHandle list_of(const tenon_registry* registry) {
  tenon_backend_list* list = nullptr;
  call(&tenon_registry_list, registry, &list);
  return ListHandle(list);
}

/// As the library shows a path: on Windows with its drive.
std::string shown(const std::filesystem::path& path) {
  return std::filesystem::absolute(path).make_preferred().string();
}

struct Log {
  std::mutex mutex;
  std::string text;
};

void append(void* data, std::int32_t level, const char* plugin, const char* text,
            std::uint64_t size) {
  auto& log = *static_cast<Log*>(data);
  const std::lock_guard lock(log.mutex);
  log.text += std::to_string(level) + " " + plugin + " " + std::string(text, size) + "\n";
}

}  // namespace

TEST_CASE("the C interface says its version and the names of errors", "[c]") {
  CHECK(tenon_c_version() == TENON_C_VERSION);
  CHECK(std::string(tenon_release()) == TENON_VERSION_STRING);
  CHECK(std::string(tenon_status_name(TENON_STATUS_OK)) == "Ok");
  CHECK(std::string(tenon_status_name(TENON_STATUS_CANCELLED)) == "Cancelled");
  CHECK(std::string(tenon_status_name(4711)) == "Internal");
  CHECK(tenon_error_status(nullptr) == TENON_STATUS_OK);
  CHECK(std::string(tenon_error_text(nullptr)).empty());
}

TEST_CASE("a plugin that is registered is listed, checked and forgotten", "[c]") {
  const auto registry = counting_registry();
  const auto list = list_of(registry.get());
  const auto backends = all(list.get());
  REQUIRE(backends.size() == 1);
  CHECK(std::string(backends[0].id) == "Counting");
  CHECK(backends[0].state == TENON_BACKEND_STATE_KNOWN);
  CHECK(backends[0].origin == shown(TENON_TEST_COUNTING));
  CHECK(std::string(backends[0].description) == "counts its runs");
  CHECK(std::string(backends[0].name) == "Counting");
  CHECK(std::string(backends[0].reason).empty());
  CHECK(backends[0].num_users == 0);

  call(&tenon_registry_check_backend, registry.get(), "Counting");
  const auto unknown = failed(&tenon_registry_check_backend, registry.get(), "Countin");
  CHECK(unknown.status == TENON_STATUS_NOT_FOUND);
  CHECK_THAT(unknown.text, ContainsSubstring("Counting"));

  CHECK(failed(&tenon_registry_register_plugin, registry.get(), TENON_TEST_COUNTING,
               static_cast<const char*>(nullptr))
            .status == TENON_STATUS_REGISTRATION_ALREADY_REGISTERED);
  call(&tenon_registry_register_plugin, registry.get(), TENON_TEST_COUNTING, "Again");
  call(&tenon_registry_unregister, registry.get(), "Again");
  CHECK(failed(&tenon_registry_unregister, registry.get(), "Again").status ==
        TENON_STATUS_NOT_FOUND);
  CHECK(failed(&tenon_registry_register_plugin, registry.get(), "/nowhere/acme.so",
               static_cast<const char*>(nullptr))
            .text.starts_with(shown("/nowhere/acme.so")));
  // The list is unchanged.
  CHECK(std::string(backends[0].id) == "Counting");
}

TEST_CASE("a registry finds plugins in directories that it is given", "[c]") {
  const TemporaryDirectory directory;
  auto plugin = directory.path() / "acme";
  plugin += std::filesystem::path(TENON_TEST_COUNTING).extension();
  std::filesystem::copy_file(TENON_TEST_COUNTING, plugin);
  const auto registry = new_registry();
  const std::string path = directory.path().string();
  const char* const paths[] = {path.c_str()};
  auto options = sized<tenon_discovery_options>();
  options.flags = TENON_DISCOVERY_NO_ENVIRONMENT | TENON_DISCOVERY_NO_INSTALLED;
  options.paths = paths;
  options.num_paths = 1;
  call(&tenon_registry_discover, registry.get(), &options);
  const auto list = list_of(registry.get());
  REQUIRE(tenon_backend_list_size(list.get()) == 1);
  CHECK(all(list.get())[0].origin == shown(plugin));

  options.flags = 1u << 7;
  CHECK(failed(&tenon_registry_discover, registry.get(), &options).status ==
        TENON_STATUS_NOT_SUPPORTED);
  options.flags = 0;
  options.num_paths = 1;
  options.paths = nullptr;
  CHECK(failed(&tenon_registry_discover, registry.get(), &options).status ==
        TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("what plugins log reaches the application", "[c]") {
  Log log;
  auto registry_options = sized<tenon_registry_options>();
  registry_options.name = "acme 1.0";
  registry_options.log = &append;
  registry_options.log_data = &log;
  tenon_registry* created = nullptr;
  call(&tenon_registry_create, &registry_options, &created);
  const RegistryHandle registry(created);
  call(&tenon_registry_register_plugin, registry.get(), TENON_TEST_COUNTING,
       static_cast<const char*>(nullptr));
  auto options = sized<tenon_method_options>();
  options.registry = registry.get();
  const auto method = load("count", options);
  CHECK(log.text == "1 " + shown(TENON_TEST_COUNTING) + " loads count\n");
}

TEST_CASE("a list has no backend above its end", "[c]") {
  const auto registry = counting_registry();
  const auto list = list_of(registry.get());
  auto above = sized<tenon_backend_info>();
  CHECK(failed(&tenon_backend_list_get, static_cast<const tenon_backend_list*>(list.get()),
               std::uint64_t{1}, &above)
            .text == "tenon_backend_list_get: expected an index below 1, found 1");
}

TEST_CASE("a program is opened from a file, a copy and bytes of the caller", "[c]") {
  const TemporaryDirectory directory;
  const AlignedBytes bytes = delegate_program("Counting", "count").build();
  const auto path = (directory.path() / "model.pte").string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.bytes().data()),
             static_cast<std::streamsize>(bytes.bytes().size()));
  const tenon_program_options* const no_options = nullptr;
  tenon_program* program = nullptr;
  call(&tenon_program_open, path.c_str(), no_options, &program);
  CHECK(tenon_program_num_methods(program) == 1);
  CHECK(std::string(tenon_program_method_name(program, 0)) == "forward");
  CHECK(tenon_program_method_name(program, 1) == nullptr);
  tenon_program_destroy(program);
  CHECK(failed(&tenon_program_open, "/nowhere/model.pte", no_options, &program).status ==
        TENON_STATUS_ACCESS_FAILED);

  int released = 0;
  const auto release = [](void* data) { ++*static_cast<int*>(data); };
  void (*const release_pointer)(void*) = release;
  const void* const data = bytes.bytes().data();
  const std::uint64_t size = bytes.bytes().size();
  call(&tenon_program_borrow, data, size, release_pointer, static_cast<void*>(&released),
       "borrowed", no_options, &program);
  CHECK(released == 0);
  tenon_program_destroy(program);
  CHECK(released == 1);
  CHECK(failed(&tenon_program_borrow, static_cast<const void*>(static_cast<const char*>(data) + 4),
               size - 4, release_pointer, static_cast<void*>(&released), "borrowed", no_options,
               &program)
            .status == TENON_STATUS_INVALID_ARGUMENT);
  CHECK(released == 1);
  const auto cut =
      failed(&tenon_program_copy, data, std::uint64_t{30}, "cut", no_options, &program);
  CHECK(cut.status == TENON_STATUS_INVALID_PROGRAM);
  CHECK(cut.text.starts_with("cut: "));

  auto options = sized<tenon_program_options>();
  const char* const limits[] = {"values=1"};
  options.limits = limits;
  options.num_limits = 1;
  const tenon_program_options* const limited = &options;
  CHECK(failed(&tenon_program_copy, data, size, "limited", limited, &program).status ==
        TENON_STATUS_OUT_OF_RESOURCES);
  const char* const wrong[] = {"colour=1"};
  options.limits = wrong;
  CHECK(failed(&tenon_program_copy, data, size, "limited", limited, &program).status ==
        TENON_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("facts of a method are there before it is loaded, and outlive the program", "[c]") {
  auto program = program_of("count");
  tenon_method_meta* created = nullptr;
  const tenon_program* const of = program.get();
  call(&tenon_program_get_method_meta, of, "forward", &created);
  CHECK(failed(&tenon_program_get_method_meta, of, "backward", &created).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  const MetaHandle meta(created);
  program.reset();
  CHECK(tenon_method_meta_num_inputs(meta.get()) == 1);
  CHECK(tenon_method_meta_num_outputs(meta.get()) == 1);
  auto input = sized<tenon_value_meta>();
  const tenon_method_meta* const facts = meta.get();
  call(&tenon_method_meta_get_input, facts, std::uint64_t{0}, &input);
  CHECK(input.kind == TENON_VALUE_TENSOR);
  CHECK(input.rank == 1);
  CHECK(input.sizes[0] == 4);
  CHECK(input.dim_order[0] == 0);
  CHECK(input.dtype.code == TENON_DL_FLOAT);
  CHECK(input.dtype.bits == 32);
  CHECK(input.nbytes == 16);
  CHECK(input.shape_dynamism == TENON_SHAPE_STATIC);
  CHECK(input.device.device_type == TENON_DL_CPU);
  auto out = sized<tenon_value_meta>();
  call(&tenon_method_meta_get_output, facts, std::uint64_t{0}, &out);
  CHECK(out.nbytes == 16);
  CHECK(failed(&tenon_method_meta_get_output, facts, std::uint64_t{1}, &out).status ==
        TENON_STATUS_INVALID_ARGUMENT);
  REQUIRE(tenon_method_meta_num_backends(meta.get()) == 1);
  CHECK(std::string(tenon_method_meta_backend(meta.get(), 0)) == "Counting");
  CHECK(tenon_method_meta_backend(meta.get(), 1) == nullptr);
}
