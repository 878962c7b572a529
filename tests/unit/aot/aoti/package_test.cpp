// SPDX-License-Identifier: MIT
//
// The fixture was compiled by torch 2.15 (tests/live/checks/packed_models.py) and stripped.
#include "tenon/aot/compiler/aoti/aoti_package.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/core/bytes.hpp"
#include "unit/aot/pt2/archive_support.hpp"

namespace tenon::test::aoti_package {

constexpr std::string_view directory = "model/data/aotinductor/model/";

const std::filesystem::path& fixture() {
  static const std::filesystem::path path =
      std::filesystem::path(TENON_TEST_FIXTURES) / "aoti_package/compiled.pt2";
  return path;
}

/// The name of the fixture's entry that ends so.
std::string entry(const ZipContent& zip, std::string_view suffix) {
  for (const auto& [name, content] : zip.entries) {
    if (name.ends_with(suffix)) return name;
  }
  FAIL("no entry ends in " << suffix);
  return {};
}

struct Refusal {
  Error code;
  std::string text;
};

/// What reading says of the fixture after a change.
template <class Change>
Refusal refusal(Change change) {
  const TemporaryDirectory place;
  auto zip = ZipContent::read(fixture());
  change(zip);
  const std::string path = place.file("p.pt2");
  zip.write(path);
  const auto models = aot::read_aoti_package(path);
  CHECK_FALSE(models.ok());
  std::string text(models.text());
  CHECK(text.starts_with(path + ": "));
  return {models.error(), text.substr(std::min(text.size(), path.size() + 2))};
}

void check_fixture(const std::vector<aot::AotiModel>& models) {
  REQUIRE(models.size() == 1);
  CHECK(models[0].name == "forward");
  CHECK(models[0].torch_device == "cpu");
  CHECK(as_text(models[0].library.bytes())
            .starts_with("\x7f"
                         "ELF"));
  REQUIRE(models[0].weights.has_value());
  CHECK(models[0].weights->size() == 832);
}

TEST_CASE("a package that torch wrote is read, also when it is compressed", "[compile][aoti]") {
  const auto models = aot::read_aoti_package(fixture());
  INFO(models.text());
  REQUIRE(models.ok());
  check_fixture(*models);

  const TemporaryDirectory place;
  auto zip = ZipContent::read(fixture());
  zip.compressed = true;
  zip.write(place.file("p.pt2"));
  const auto unpacked = aot::read_aoti_package(place.file("p.pt2"));
  INFO(unpacked.text());
  REQUIRE(unpacked.ok());
  check_fixture(*unpacked);
  CHECK(as_text(unpacked->at(0).library.bytes()) == as_text(models->at(0).library.bytes()));
}

TEST_CASE("a package with several models has each under its name", "[compile][aoti]") {
  const TemporaryDirectory place;
  auto zip = ZipContent::read(fixture());
  const auto one = zip.entries;
  for (const auto& [name, content] : one) {
    if (!name.starts_with(directory)) continue;
    zip.entries.emplace("model/data/aotinductor/decode/" + name.substr(directory.size()), content);
  }
  zip.write(place.file("p.pt2"));
  const auto models = aot::read_aoti_package(place.file("p.pt2"));
  INFO(models.text());
  REQUIRE(models.ok());
  REQUIRE(models->size() == 2);
  CHECK(models->at(0).name == "decode");
  CHECK(models->at(1).name == "forward");
}

TEST_CASE("weights may be inside the library, and metadata missing", "[compile][aoti]") {
  const TemporaryDirectory place;
  auto zip = ZipContent::read(fixture());
  zip.entries.erase(entry(zip, "weights.blob"));
  zip.entries.erase(entry(zip, "wrapper_metadata.json"));
  zip.entries.erase(entry(zip, "kernel_metadata.json"));
  zip.write(place.file("p.pt2"));
  const auto models = aot::read_aoti_package(place.file("p.pt2"));
  INFO(models.text());
  REQUIRE(models.ok());
  CHECK_FALSE(models->at(0).weights.has_value());
  CHECK(models->at(0).torch_device.empty());
}

TEST_CASE("the description of operator calls is that next to the library", "[compile][aoti]") {
  const TemporaryDirectory place;
  auto zip = ZipContent::read(fixture());
  const std::string library = entry(zip, ".wrapper.so");
  zip.entries[library.substr(0, library.size() - 3) + ".json"] = R"({"nodes": []})";
  zip.write(place.file("p.pt2"));
  const auto models = aot::read_aoti_package(place.file("p.pt2"));
  INFO(models.text());
  REQUIRE(models.ok());
  REQUIRE(models->at(0).operator_calls.has_value());
  CHECK(as_text(models->at(0).operator_calls->bytes()) == R"({"nodes": []})");
  CHECK_FALSE(aot::read_aoti_package(fixture())->at(0).operator_calls.has_value());
}

TEST_CASE("a library's description of operator calls is a file of its name", "[compile][aoti]") {
  const TemporaryDirectory place;
  const auto zip = ZipContent::read(fixture());
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(place.file(name), std::ios::binary) << bytes;
  };
  const std::string without = zip.entries.at(entry(zip, ".wrapper.so"));
  const std::string with = without + "aoti_torch_proxy_executor_call_function";
  const std::filesystem::path library = place.file("m.wrapper.so");
  write("m.wrapper.so", with);
  CHECK_FALSE(aot::read_aoti_library(library)->operator_calls.has_value());
  write("m.wrapper.json", "the calls");
  // A library that calls no operators has none, whatever is next to it.
  write("m.wrapper.so", without);
  CHECK_FALSE(aot::read_aoti_library(library)->operator_calls.has_value());
  write("m.wrapper.so", with);
  const auto model = aot::read_aoti_library(library);
  REQUIRE(model.ok());
  REQUIRE(model->operator_calls.has_value());
  CHECK(as_text(model->operator_calls->bytes()) == "the calls");
}

TEST_CASE("a damaged package is refused by entry", "[compile][aoti]") {
  const auto zip = ZipContent::read(fixture());
  const std::string library = entry(zip, ".so");
  const std::string own = library.substr(std::string_view("model/").size());

  const auto without = refusal([&](ZipContent& it) { it.entries.erase(library); });
  CHECK(without.code == Error::InvalidProgram);
  CHECK_THAT(without.text, ContainsSubstring("model 'model' has no library (*.so)"));

  const auto twice = refusal([&](ZipContent& it) {
    it.entries[std::string(directory) + "b.wrapper.so"] = it.entries[library];
  });
  CHECK(twice.code == Error::NotSupported);
  CHECK_THAT(twice.text, ContainsSubstring("has 2 libraries, expected one"));

  const auto text = refusal([&](ZipContent& it) { it.entries[library] = "#!/bin/sh\n"; });
  CHECK(text.code == Error::InvalidProgram);
  CHECK_THAT(text.text, ContainsSubstring("is not a shared library (expected ELF or Mach-O of 64 "
                                          "bits, found '#!/b')"));

  for (const std::size_t size : {std::size_t{19}, std::size_t{20}, std::size_t{64},
                                 std::size_t{1000}, std::size_t{100000}}) {
    INFO(size);
    const auto cut = refusal([&](ZipContent& it) { it.entries[library].resize(size); });
    CHECK(cut.code == Error::InvalidProgram);
    CHECK_THAT(cut.text, ContainsSubstring("entry '" + own.substr(0, 20)));
  }

  const auto renamed = refusal([&](ZipContent& it) {
    std::string& bytes = it.entries[library];
    const std::string name = "AOTInductorModelContainerCreateWithDevice";
    for (std::size_t at = bytes.find(name); at != std::string::npos; at = bytes.find(name, at)) {
      bytes[at] = 'B';
    }
  });
  CHECK(renamed.code == Error::InvalidProgram);
  CHECK_THAT(renamed.text, ContainsSubstring("is not a model of AOTInductor"));

  const auto pickled = refusal([&](ZipContent& it) {
    it.entries.erase(entry(it, "weights.blob"));
    it.entries[std::string(directory) + "weights_config.json"] = "{}";
  });
  CHECK(pickled.code == Error::NotSupported);
  CHECK_THAT(pickled.text, ContainsSubstring("package_constants_on_disk_format='binary_blob'"));

  for (const char* metadata : {"[]", "{", "{\"AOTI_DEVICE_KEY\": 3}"}) {
    INFO(metadata);
    const auto wrong = refusal([&](ZipContent& it) {
      for (auto& [name, content] : it.entries) {
        if (name.ends_with("_metadata.json")) content = metadata;
      }
    });
    CHECK(wrong.code == Error::InvalidProgram);
    CHECK_THAT(wrong.text, ContainsSubstring("data/aotinductor/model/"));
  }

  const auto exported =
      aot::read_aoti_package(std::filesystem::path(TENON_TEST_FIXTURES) / "aoti_package/model.pt2");
  CHECK(exported.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(exported.text()), ContainsSubstring("has no compiled model"));
}

TEST_CASE("a library and its weights are read from files", "[compile][aoti]") {
  const TemporaryDirectory place;
  const auto zip = ZipContent::read(fixture());
  const std::string library = place.file("m.so");
  const std::string weights = place.file("m.blob");
  std::ofstream(library, std::ios::binary) << zip.entries.at(entry(zip, ".so"));
  std::ofstream(weights, std::ios::binary) << zip.entries.at(entry(zip, "weights.blob"));
  const auto model = aot::read_aoti_library(library, weights);
  INFO(model.text());
  REQUIRE(model.ok());
  CHECK(model->weights->size() == 832);
  CHECK(model->name.empty());
  CHECK(aot::read_aoti_library(library)->weights == std::nullopt);
  CHECK(aot::read_aoti_library(place.file("none.so")).error() == Error::AccessFailed);
  const auto swapped = aot::read_aoti_library(weights, library);
  CHECK(swapped.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(swapped.text()), ContainsSubstring(weights + ": is not a shared library"));
}

}  // namespace tenon::test::aoti_package
