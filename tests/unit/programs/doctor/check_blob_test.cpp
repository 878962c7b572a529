// SPDX-License-Identifier: MIT
#include "tenon/host/layers/inspect/check_blob.hpp"
#include "tenon/host/all_layers.hpp"
#include "tenon/host/schema/program_generated.h"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/idle_backend.hpp"
#include "support/program_builder.hpp"
#include "tenon/host/layers/data/data_file.hpp"
#include "tenon/host/layers/data/merged_data_map.hpp"
#include "tenon/host/loader/impl/plugin/host_table.hpp"
#include "tenon/host/loader/plugin/backend.hpp"
#include "tenon/host/loader/plugin/plugin_record.hpp"
#include "unit/host/layers/data/data_file_builder.hpp"

using namespace tenon;
using namespace tenon::host;

namespace {

using Judgement = std::function<tenon_status(const tenon_init_context&, std::uint32_t&)>;

/// The answer of the backend of the current test.
Judgement judgement;
const void* extension_table = nullptr;
int num_inits = 0;

tenon_status init(tenon_backend*, const tenon_init_context*, tenon_delegate**) {
  ++num_inits;
  return TENON_STATUS_OK;
}
const void* get_extension(tenon_backend*, const char* id) {
  return std::string_view(id) == TENON_EXTENSION_CHECK_BLOB ? extension_table : nullptr;
}
tenon_status ask(tenon_backend*, const tenon_init_context* context, std::uint32_t* verdict) {
  return judgement(*context, *verdict);
}
const tenon_check_blob_v1 whole_table{sizeof(tenon_check_blob_v1), 0, &ask};

/// One program with one delegate, whose blob is "blob" and that has one compile spec; a backend
/// that answers as the test says; and a data file with the key "there".
class Bench {
 public:
  explicit Bench(Judgement answer, const void* table = &whole_table) {
    judgement = std::move(answer);
    extension_table = table;
    num_inits = 0;
    test::ProgramBuilder builder;
    auto plan = builder.plan("forward");
    const auto segment = builder.segment(test::bytes_of("blob"));
    const auto delegate = plan.delegate("Judge", schema::DataLocation::SEGMENT, segment);
    plan.compile_spec(delegate, "mode", "fast");
    builder.named_data("of the program", builder.segment(test::bytes_of("bytes")));
    bytes_ = std::make_unique<test::AlignedBytes>(builder.build());
    program_ = *Program::from_bytes(bytes_->bytes(), nullptr, "model.pte");
    test::DataFileBuilder data;
    data.data("there", "some bytes");
    data_bytes_ = std::make_unique<test::AlignedBytes>(data.build());
    const auto file = *DataFile::from_bytes(data_bytes_->bytes(), nullptr, "weights.ptd");
    map_ = *MergedDataMap::create(program_, {file});
    record_.id = "Judge";
    tenon_backend_api api = test::idle_table();
    api.init = &init;
    api.get_extension = &get_extension;
    backend_ = std::make_unique<LoadedBackend>(*LoadedBackend::open(record_, host_.get(), api));
  }
  ~Bench() { CHECK(num_inits == 0); }

  [[nodiscard]] Result<std::optional<BlobCheck>> check(
      bool with_data = true, std::span<const tenon_option> options = {}) const {
    const schema::ExecutionPlan& plan = **program_->plan("forward");
    return check_blob(*backend_, *program_, "forward", *plan.delegates()->Get(0),
                      with_data ? map_->abi() : nullptr, nullptr, options);
  }
  /// The verdict of a `check_blob` that succeeds.
  [[nodiscard]] BlobCheck verdict(bool with_data = true) const {
    auto result = check(with_data);
    INFO(result.text());
    REQUIRE(result.ok());
    REQUIRE(result->has_value());
    return **std::move(result);
  }
  void say(tenon_status status, std::string_view text) const {
    host_.get()->set_last_error(host_.get(), status, text.data(), text.size());
  }

 private:
  std::unique_ptr<test::AlignedBytes> bytes_, data_bytes_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const MergedDataMap> map_;
  BackendRecord record_;
  HostTable host_{all_layers({"test"}), "judge.so"};
  std::unique_ptr<LoadedBackend> backend_;
};

/// Asks for the data of a key as a backend does.
tenon_status get(const tenon_init_context& context, std::string_view key) {
  tenon_buffer out{};
  out.struct_size = sizeof out;
  return context.named_data_map->get_data(context.named_data_map, key.data(), key.size(), &out);
}
tenon_status get_layout(const tenon_init_context& context, std::string_view key) {
  tenon_tensor_layout out{};
  out.struct_size = sizeof out;
  return context.named_data_map->get_tensor_layout(context.named_data_map, key.data(), key.size(),
                                                   &out);
}

}  // namespace

TEST_CASE("a backend judges a blob with what init would get", "[check_blob]") {
  std::string seen;
  const Bench bench([&](const tenon_init_context& context, std::uint32_t&) {
    const tenon_compile_spec& spec = context.compile_specs[0];
    seen = concat(std::string_view(context.method_name), " ",
                  std::string_view(static_cast<const char*>(context.processed->data),
                                   context.processed->nbytes),
                  " ", context.num_compile_specs, " ", std::string_view(spec.key));
    CHECK(context.host != nullptr);
    CHECK(context.runtime_allocator != nullptr);
    return tenon_status{TENON_STATUS_OK};
  });
  const BlobCheck check = bench.verdict();
  CHECK(seen == "forward blob 1 mode");
  CHECK(blob_verdict_name(check.verdict) == "optimal");
  CHECK(check.reason.empty());
  CHECK(check.missing_keys.empty());
}

TEST_CASE("a backend without check_blob gives no verdict", "[check_blob]") {
  const Judgement never = [](const tenon_init_context&, std::uint32_t&) {
    FAIL("it was asked");
    return tenon_status{TENON_STATUS_OK};
  };
  const tenon_check_blob_v1 without_function{sizeof(tenon_check_blob_v1), 0, nullptr};
  const tenon_check_blob_v1 shorter{offsetof(tenon_check_blob_v1, check_blob) + 4, 0, &ask};
  for (const void* table :
       std::initializer_list<const void*>{nullptr, &without_function, &shorter}) {
    const Bench bench(never, table);
    const auto check = bench.check();
    REQUIRE(check.ok());
    CHECK_FALSE(check->has_value());
  }
}

TEST_CASE("a verdict comes with the backend's reason, or says that it gave none", "[check_blob]") {
  for (const std::uint32_t verdict : {TENON_BLOB_USABLE, TENON_BLOB_INCOMPATIBLE}) {
    std::function<void()> say;
    const Bench bench([&](const tenon_init_context&, std::uint32_t& out) {
      out = verdict;
      say();
      return tenon_status{TENON_STATUS_OK};
    });
    // The number next to the text does not matter.
    say = [&] { bench.say(TENON_STATUS_INTERNAL, "made for chip 2"); };
    CHECK(bench.verdict().verdict == verdict);
    CHECK(bench.verdict().reason == "made for chip 2");
    say = [&] { bench.say(TENON_STATUS_OK, ""); };
    CHECK(bench.verdict().reason == "the backend gave no reason");
    // What was said before is not the reason.
    bench.say(TENON_STATUS_INTERNAL, "an older trouble");
    say = [] {};
    CHECK(bench.verdict().reason == "the backend gave no reason");
  }
}

TEST_CASE("a reason that comes with the verdict optimal is dropped", "[check_blob]") {
  std::function<void()> say;
  const Bench bench([&](const tenon_init_context&, std::uint32_t&) {
    say();
    return tenon_status{TENON_STATUS_OK};
  });
  say = [&] { bench.say(TENON_STATUS_OK, "all is well"); };
  CHECK(bench.verdict().reason.empty());
}

TEST_CASE("a verdict that the host does not know counts as usable", "[check_blob]") {
  for (const std::uint32_t verdict : {3u, 0x8000'0000u, 0xffff'ffffu}) {
    std::function<void()> say = [] {};
    const Bench bench([&](const tenon_init_context&, std::uint32_t& out) {
      out = verdict;
      say();
      return tenon_status{TENON_STATUS_OK};
    });
    const std::string unknown =
        concat("the backend gave verdict ", verdict, ", which this host does not know: ");
    CHECK(bench.verdict().verdict == TENON_BLOB_USABLE);
    CHECK(bench.verdict().reason == unknown + "the backend gave no reason");
    say = [&] { bench.say(TENON_STATUS_OK, "better after a second load"); };
    CHECK(bench.verdict().reason == unknown + "better after a second load");
  }
}

TEST_CASE("a backend judges a blob for the options of the load", "[check_blob]") {
  std::vector<std::string> seen;
  const Bench bench([&](const tenon_init_context& context, std::uint32_t&) {
    for (std::uint32_t i = 0; i < context.num_runtime_specs; ++i) {
      seen.push_back(concat(context.runtime_specs[i].key, "=",
                            *OptionView(context.runtime_specs[i]).integer()));
    }
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(bench.check(true).ok());
  CHECK(seen.empty());
  const std::array options = {write_option("device", std::int64_t{1})};
  CHECK(bench.check(true, options).ok());
  CHECK(seen == std::vector<std::string>{"device=1"});
}

TEST_CASE("a backend that fails to judge is an error with its own text", "[check_blob]") {
  std::function<void()> say = [] {};
  const Bench bench([&](const tenon_init_context&, std::uint32_t& out) {
    out = TENON_BLOB_INCOMPATIBLE;
    say();
    return tenon_status{TENON_STATUS_OUT_OF_RESOURCES};
  });
  const auto silent = bench.check();
  CHECK(silent.error() == Error::OutOfResources);
  CHECK(silent.text() == "backend Judge: check_blob: the plugin gave no reason");
  say = [&] { bench.say(TENON_STATUS_OUT_OF_RESOURCES, "no table of chips"); };
  CHECK(bench.check().text() == "backend Judge: check_blob: no table of chips");
}

TEST_CASE("an unknown status is an error", "[check_blob]") {
  const Bench bench([](const tenon_init_context&, std::uint32_t&) { return tenon_status{0x7777}; });
  const auto check = bench.check();
  CHECK(check.error() == Error::Internal);
  CHECK_THAT(std::string(check.text()), ContainsSubstring("which is not a status number"));
}

TEST_CASE("a blob that a backend releases all the same is still there", "[check_blob]") {
  std::string seen;
  const Bench bench([&](const tenon_init_context& context, std::uint32_t&) {
    for (int i = 0; i < 2; ++i) context.processed->release(context.processed);
    seen.assign(static_cast<const char*>(context.processed->data), context.processed->nbytes);
    return tenon_status{TENON_STATUS_OK};
  });
  for (int i = 0; i < 2; ++i) {
    seen.clear();
    CHECK(bench.verdict().verdict == TENON_BLOB_OPTIMAL);
    CHECK(seen == "blob");
  }
}

TEST_CASE("keys that are nowhere are recorded once, those that are there never", "[check_blob]") {
  const Bench bench([](const tenon_init_context& context, std::uint32_t&) {
    CHECK(context.named_data_map->num_keys == 2);
    for (int i = 0; i < 3; ++i) {
      CHECK(get(context, "there") == TENON_STATUS_OK);
      CHECK(get(context, "of the program") == TENON_STATUS_OK);
      CHECK(get(context, "second") == TENON_STATUS_NOT_FOUND);
      CHECK(get(context, "first") == TENON_STATUS_NOT_FOUND);
      CHECK(get(context, {"bin\0ary", 7}) == TENON_STATUS_NOT_FOUND);
      // Without a layout, but with data; and without either.
      CHECK(get_layout(context, "of the program") == TENON_STATUS_NOT_FOUND);
      CHECK(get_layout(context, "shape") == TENON_STATUS_NOT_FOUND);
    }
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(bench.verdict().missing_keys ==
        std::vector<std::string>{"second", "first", {"bin\0ary", 7}, "shape"});
}

TEST_CASE("a question that is no question is refused and is no key", "[check_blob]") {
  const Bench bench([](const tenon_init_context& context, std::uint32_t&) {
    const tenon_named_data_map* map = context.named_data_map;
    CHECK(map->get_data(map, nullptr, 4, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
    CHECK(map->get_data(map, "gone", 4, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
    CHECK(map->get_tensor_layout(map, "gone", 4, nullptr) == TENON_STATUS_INVALID_ARGUMENT);
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(bench.verdict().missing_keys.empty());
}

TEST_CASE("without any named data every key that is asked for is missing", "[check_blob]") {
  const Bench bench([](const tenon_init_context& context, std::uint32_t&) {
    REQUIRE(context.named_data_map != nullptr);
    CHECK(context.named_data_map->num_keys == 0);
    CHECK(get(context, "there") == TENON_STATUS_NOT_FOUND);
    CHECK(get_layout(context, "shape") == TENON_STATUS_NOT_FOUND);
    const char* key = nullptr;
    std::uint64_t size = 0;
    CHECK(context.named_data_map->get_key(context.named_data_map, 0, &key, &size) ==
          TENON_STATUS_INVALID_ARGUMENT);
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(bench.verdict(false).missing_keys == std::vector<std::string>{"there", "shape"});
}

TEST_CASE("a backend may walk over the keys that are there", "[check_blob]") {
  std::vector<std::string> keys;
  const Bench bench([&](const tenon_init_context& context, std::uint32_t&) {
    const tenon_named_data_map* map = context.named_data_map;
    for (std::uint32_t i = 0; i < map->num_keys; ++i) {
      const char* key = nullptr;
      std::uint64_t size = 0;
      CHECK(map->get_key(map, i, &key, &size) == TENON_STATUS_OK);
      keys.emplace_back(key, size);
    }
    return tenon_status{TENON_STATUS_OK};
  });
  CHECK(bench.verdict().missing_keys.empty());
  CHECK(keys == std::vector<std::string>{"there", "of the program"});
}
