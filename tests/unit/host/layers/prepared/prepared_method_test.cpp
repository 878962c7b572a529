// SPDX-License-Identifier: MIT
//
// A plugin prepares from a blob, and finds what it prepared in a later load.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <tenon/host.hpp>
#include <tenon/host/prepared.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "prepared_support.hpp"
#include "support/catch.hpp"
#include "support/program_builder.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace host = tenon::host;
using namespace prepared_test;
using tenon::test::ProgramBuilder;
using Lines = std::vector<std::string>;

/// The plugin, its log, and a cache in a directory of its own.
struct Fixture {
  tenon::test::TemporaryDirectory directory;
  std::filesystem::path plugin = directory / "prepares.so";
  host::PreparedCache cache = open_cache(directory / "cache");
  host::MethodOptions options;
  std::mutex mutex;
  Lines lines;

  Fixture() {
    std::filesystem::copy_file(TENON_PREPARES_PLUGIN, plugin);
    options.layers = {cache};
  }

  /// Loads the plugin anew and a program of one delegate, runs it on 1, and gives the output; the
  /// log has the lines of this call.
  float run(const std::string& blob = "blob", const std::string& at = "") {
    lines.clear();
    host::BackendRegistry registry;
    host::HostInfo info;
    info.log = [this](std::int32_t, std::string_view, std::string_view line) {
      const std::lock_guard lock(mutex);
      lines.emplace_back(line);
    };
    auto loaded = host::Plugin::load(plugin, host::all_layers(info));
    INFO(loaded.text());
    REQUIRE(loaded.ok());
    auto backend = (*loaded)->backend("Prepares");
    REQUIRE(backend.ok());
    REQUIRE(registry.register_backend(*std::move(backend)).ok());
    ProgramBuilder builder;
    auto plan = builder.plan("forward");
    const auto memory = plan.buffer(32);
    const auto x =
        plan.input(tenon::test::planned_tensor(tenon::ScalarType::Float, {1}, memory, 0));
    const auto y =
        plan.output(tenon::test::planned_tensor(tenon::ScalarType::Float, {1}, memory, 16));
    const auto segment = builder.segment(tenon::test::bytes_of(blob));
    const auto delegate = plan.delegate("Prepares", tenon::schema::DataLocation::SEGMENT, segment);
    plan.compile_spec(delegate, "at", at);
    plan.instruction(tenon::test::delegate_call(delegate, {x, y}));
    auto bytes = std::make_shared<tenon::test::AlignedBytes>(builder.build());
    auto program = host::Program::from_bytes(std::as_const(*bytes).bytes(), bytes, "test.pte");
    REQUIRE(program.ok());
    host::MethodOptions copy = options;
    copy.registry = &registry;
    auto method = host::Method::load(*std::move(program), "forward", std::move(copy));
    INFO(method.text());
    REQUIRE(method.ok());
    const float one = 1;
    const std::vector<std::int64_t> sizes{1};
    REQUIRE((*method)
                ->set_input(0, host::InputTensor{tenon::ScalarType::Float, sizes,
                                                 std::as_bytes(std::span(&one, 1))})
                .ok());
    REQUIRE((*method)->execute().ok());
    return tenon::Tensor<const float>(*(*method)->output(0).as.tensor)[0];
  }

  [[nodiscard]] std::filesystem::path only_file() const {
    const auto list = cache.list();
    REQUIRE(list.ok());
    REQUIRE(list->size() == 1);
    return cache.directory() / list->front().name;
  }
};

const Lines prepared{"prepared"};
const Lines found{"found 4 bytes"};

}  // namespace

TEST_CASE("what a plugin prepared in one load is found in the next one", "[prepared]") {
  Fixture fixture;
  const std::string at = GENERATE("", "destroy");
  const float first = fixture.run("blob", at);
  CHECK(first == 1 + 'b' + 'l' + 'o' + 'b');
  CHECK(fixture.lines == prepared);
  CHECK(fixture.run("blob", at) == first);
  CHECK(fixture.lines == found);
  const auto list = fixture.cache.list();
  REQUIRE(list.ok());
  REQUIRE(list->size() == 1);
  CHECK(list->front().backend_id == "Prepares");
  CHECK(list->front().plugin_path == fixture.plugin);
  CHECK(fixture.cache.verify(list->front().name).ok());
}

TEST_CASE("bytes are found for the same blob, specs, identity and plugin alone", "[prepared]") {
  Fixture fixture;
  fixture.run();
  SECTION("another blob") { fixture.run("clob"); }
  SECTION("another compile spec") { fixture.run("blob", "end"); }
  SECTION("another identity") {
    fixture.options.backend_options.push_back({"Prepares", "identity", std::string("driver 2")});
    fixture.run();
  }
  SECTION("another plugin") {
    std::ofstream(fixture.plugin, std::ios::app | std::ios::binary) << "later version";
    fixture.run();
  }
  CHECK(fixture.lines == prepared);
  CHECK(fixture.cache.list()->size() == 2);
}

TEST_CASE("nothing is kept where the application gave no place", "[prepared]") {
  Fixture fixture;
  fixture.options.layers = {};
  fixture.run();
  fixture.run();
  CHECK(fixture.lines == prepared);
  CHECK(fixture.cache.list()->empty());
}

TEST_CASE("a file that is not what was stored is not used, and is replaced", "[prepared]") {
  Fixture fixture;
  const float first = fixture.run();
  const std::filesystem::path file = fixture.only_file();
  const auto size = std::filesystem::file_size(file);
  const auto write = [&](std::streamoff at, const std::string& text) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    stream << text;
  };
  std::string reason;
  SECTION("its bytes were changed") {
    write(4097, "x");
    reason = "its bytes are not those that were stored";
  }
  SECTION("it was cut") {
    std::filesystem::resize_file(file, 4098);
    reason = "has 4098 bytes, expected 4096 and 4";
  }
  SECTION("it was cut in the first page") {
    std::filesystem::resize_file(file, 100);
    reason = "ends after 100 bytes, expected 4096";
  }
  SECTION("it is empty") {
    std::filesystem::resize_file(file, 0);
    reason = "ends after 0 bytes, expected 4096";
  }
  SECTION("it is of another version") {
    write(0, "TNPREP99");
    reason = "begins with 'TNPREP99', expected TNPREP01";
  }
  SECTION("it was stored under another key") {
    write(16, "another key");
    reason = "was stored under another key";
  }
  SECTION("it says that it is endless") {
    write(8, std::string(8, '\xff'));
    reason = "has 4100 bytes, expected 4096 and 18446744073709551615";
  }
  REQUIRE_FALSE(reason.empty());
  CHECK(fixture.run() == first);
  REQUIRE(fixture.lines.size() == 2);
  CHECK_THAT(fixture.lines[0], ContainsSubstring("prepared bytes of Prepares are not used: "));
  CHECK(fixture.lines[0].ends_with(reason));
  CHECK(fixture.lines[1] == "prepared");
  CHECK(fixture.run() == first);
  CHECK(fixture.lines == found);
  CHECK(std::filesystem::file_size(file) == size);
}

#if !defined(_WIN32)
TEST_CASE("a file that another user can write to is not used", "[prepared]") {
  Fixture fixture;
  fixture.run();
  const std::filesystem::path file = fixture.only_file();
  std::filesystem::permissions(file, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  fixture.run();
  CHECK(fixture.lines.front().find("are not used: AccessFailed") != std::string::npos);
  CHECK(fixture.lines.back() == "prepared");
}

TEST_CASE("a link in place of a file is checked as the file that it names", "[prepared]") {
  Fixture fixture;
  fixture.run();
  const std::filesystem::path file = fixture.only_file();
  fixture.directory.write("elsewhere", "not prepared");
  std::filesystem::remove(file);
  std::filesystem::create_symlink(fixture.directory / "elsewhere", file);
  fixture.run();
  CHECK(fixture.lines.front().find("are not used: ") != std::string::npos);
  CHECK(fixture.lines.back() == "prepared");
}
#endif

TEST_CASE("a load does not fail because its bytes cannot be kept", "[prepared]") {
  Fixture fixture;
  SECTION("there are more than the cache may take") {
    const host::PreparedCache small = open_cache(fixture.directory / "small", 4000);
    fixture.options.layers = {small};
    fixture.run();
    CHECK(fixture.lines == Lines{"prepared",
                                 "prepared bytes of Prepares are not kept: OutOfResources (0x25): "
                                 "takes 4100 bytes, the cache 4000"});
    CHECK(small.list()->empty());
  }
  SECTION("the directory was removed") {
    std::filesystem::remove(fixture.cache.directory());
    fixture.run();
    REQUIRE(fixture.lines.size() == 2);
    CHECK(fixture.lines[1].find("are not kept: ") != std::string::npos);
  }
  SECTION("the blob was released before it was asked for") {
    fixture.run("blob", "broken");
    CHECK(fixture.lines == prepared);
    CHECK(fixture.cache.list()->empty());
  }
}

TEST_CASE("several loads at once find or prepare the same", "[prepared][threads]") {
  Fixture fixture;
  std::vector<float> outputs(4);
  {
    std::vector<std::jthread> threads;
    for (float& output : outputs) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          const auto opened = host::PreparedCache::open(fixture.cache.directory());
          const host::PreparedKey key{{}, "Prepares", "/plugin.so"};
          tenon_prepared* kept = nullptr;
          if (!opened.ok() || !opened->open(key, quiet, &kept).ok()) return;
          const float number = 42;
          if (kept->data) output += *static_cast<const float*>(kept->data) - number;
          const tenon_span parts[] = {
              {&number, 2}, {nullptr, 0}, {reinterpret_cast<const char*>(&number) + 2, 2}};
          if (kept->store(kept, parts, 3) != TENON_STATUS_OK) output += 1;
          kept->release(kept);
        }
      });
    }
  }
  CHECK(outputs == std::vector<float>(4, 0));
  CHECK(fixture.cache.verify(fixture.only_file().filename().string()).ok());
}
