// SPDX-License-Identifier: MIT
#include "tenon/aot/compiler/impl/pt2/archive.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace tenon;
using namespace tenon::aot;
using tenon::test::TemporaryDirectory;
using tenon::test::ZipContent;

namespace archive_test {

/// An archive with what makes it one, and an entry "data" with `content`.
ZipContent small(std::string content) {
  ZipContent out;
  out.entries = {{"m/archive_format", "pt2"}, {"m/byteorder", "little"}};
  out.entries.emplace("m/data", std::move(content));
  return out;
}

Result<Pt2Archive> open(const TemporaryDirectory& directory, const ZipContent& content) {
  content.write(directory / "a.pt2");
  return Pt2Archive::open(directory / "a.pt2");
}

/// Why it is refused, without the path.
std::string refusal(const TemporaryDirectory& directory, const ZipContent& content,
                    Error code = Error::InvalidProgram) {
  const auto archive = open(directory, content);
  REQUIRE_FALSE(archive.ok());
  CHECK(archive.error() == code);
  const std::string text(archive.text());
  REQUIRE(text.starts_with(directory.file("a.pt2") + ": "));
  return text.substr(directory.file("a.pt2").size() + 2);
}

/// Changes what `find` is at, wherever it is in the file.
void replace(const std::filesystem::path& path, std::string_view find, std::string_view with) {
  std::string content = test::file_content(path);
  REQUIRE(find.size() == with.size());
  REQUIRE(content.find(find) != std::string::npos);
  for (std::size_t at = 0; (at = content.find(find, at)) != std::string::npos; at += find.size()) {
    content.replace(at, find.size(), with);
  }
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace archive_test

using namespace archive_test;

TEST_CASE("entries of an archive are found below its directory", "[pt2]") {
  const TemporaryDirectory directory;
  ZipContent content = small("hello");
  content.entries["m/models/a.json"] = "{}";
  content.entries["m/models/b.json"] = "{}";
  content.entries["m/models/b.txt"] = "";
  content.entries["elsewhere"] = "ignored";
  const auto archive = open(directory, content);
  REQUIRE(archive.ok());
  CHECK(archive->path() == directory.file("a.pt2"));
  CHECK(archive->has("data"));
  CHECK_FALSE(archive->has("m/data"));
  CHECK_FALSE(archive->has("elsewhere"));
  CHECK(archive->names("models/", ".json") ==
        std::vector<std::string>{"models/a.json", "models/b.json"});
  const auto data = archive->read("data");
  REQUIRE(data.ok());
  CHECK(as_text(data->bytes()) == "hello");
  const auto empty = archive->read("models/b.txt");
  REQUIRE(empty.ok());
  CHECK(empty->empty());
  CHECK(archive->read("nothing").error() == Error::InvalidProgram);
  CHECK_THAT(std::string(archive->read("nothing").text()),
             ContainsSubstring("a.pt2: entry 'nothing' is missing"));
}

TEST_CASE("what is stored in an archive is used in place, and what is compressed unpacked",
          "[pt2]") {
  const TemporaryDirectory directory;
  // Larger than a chunk, and not all the same.
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i);
  for (const bool compressed : {false, true}) {
    ZipContent content = small(text);
    content.compressed = compressed;
    std::optional<Pt2Archive> archive;
    archive.emplace(*open(directory, content));
    auto data = archive->read("data");
    auto again = archive->read("data");
    REQUIRE(data.ok());
    REQUIRE(again.ok());
    archive.reset();
    CHECK(as_text(data->bytes()) == text);
    CHECK(as_text(again->bytes()) == text);
    CHECK(reinterpret_cast<std::uintptr_t>(data->bytes().data()) % alignof(std::max_align_t) == 0);
    CHECK((std::filesystem::file_size(directory / "a.pt2") < text.size()) == compressed);
  }
  // PyTorch puts entries where they are aligned; those are the same bytes each time.
  const auto archive =
      Pt2Archive::open(std::filesystem::path(TENON_TEST_FIXTURES) / "pt2/mlp/model.pt2");
  REQUIRE(archive.ok());
  const auto first = archive->read("data/weights/weight_0");
  const auto second = archive->read("data/weights/weight_0");
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->size() == 32 * 16 * sizeof(float));
  CHECK(first->bytes().data() == second->bytes().data());
}

TEST_CASE("files that are no archives of PyTorch are refused", "[pt2]") {
  const TemporaryDirectory directory;
  const auto why = [&](std::string_view bytes) {
    const auto archive = Pt2Archive::open(directory.write("b.pt2", bytes));
    REQUIRE_FALSE(archive.ok());
    CHECK(archive.error() == Error::InvalidProgram);
    return std::string(archive.text());
  };
  CHECK_THAT(why("no zip at all"), ContainsSubstring("b.pt2: cannot be read as a ZIP archive"));
  CHECK_THAT(why(std::string(1000, '\0')), ContainsSubstring("cannot be read as a ZIP archive"));
  CHECK(Pt2Archive::open(directory.write("empty", "")).error() == Error::AccessFailed);
  CHECK(Pt2Archive::open(directory.path()).error() == Error::AccessFailed);

  ZipContent other;
  other.entries = {{"a/b", "c"}};
  CHECK_THAT(refusal(directory, other), ContainsSubstring("has no entry 'archive_format'"));
  ZipContent format = small("");
  format.entries["m/archive_format"] = "pt3\n";
  CHECK_THAT(refusal(directory, format), ContainsSubstring("is 'pt3\\n', expected 'pt2'"));
  ZipContent big = small("");
  big.entries["m/byteorder"] = "big";
  CHECK_THAT(refusal(directory, big, Error::NotSupported),
             ContainsSubstring("entry 'byteorder' is 'big', expected 'little'"));
  ZipContent two = small("");
  two.entries["n/archive_format"] = "pt2";
  CHECK(refusal(directory, two) == "holds two archives, 'm' and 'n'");
}

TEST_CASE("names of entries that lead elsewhere are refused", "[pt2]") {
  const TemporaryDirectory directory;
  for (const std::string name :
       {"../evil", "m/../evil", "m/..", "/evil", "m//evil", "m/./evil", "m\\evil", "m/e\nvil"}) {
    INFO(name);
    ZipContent content = small("");
    content.entries[name] = "";
    CHECK_THAT(refusal(directory, content), ContainsSubstring("leads out of its directory"));
  }
}

TEST_CASE("an entry that appears twice is refused", "[pt2]") {
  const TemporaryDirectory directory;
  ZipContent content = small("a");
  content.entries["m/atad"] = "b";
  content.write(directory / "a.pt2");
  replace(directory / "a.pt2", "m/atad", "m/data");
  const auto archive = Pt2Archive::open(directory / "a.pt2");
  CHECK(archive.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(archive.text()), ContainsSubstring("entry 'm/data' appears twice"));
}

TEST_CASE("an entry whose bytes changed is refused", "[pt2]") {
  const TemporaryDirectory directory;
  small("the same words").write(directory / "a.pt2");
  replace(directory / "a.pt2", "the same words", "the same world");
  const auto archive = Pt2Archive::open(directory / "a.pt2");
  REQUIRE(archive.ok());
  const auto data = archive->read("data");
  CHECK(data.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(data.text()), ContainsSubstring("entry 'data' is damaged"));
}

TEST_CASE("an entry that claims more than it can have is refused without memory for it", "[pt2]") {
  const TemporaryDirectory directory;
  ZipContent content = small(std::string(5000, 'x'));
  content.compressed = true;
  content.write(directory / "a.pt2");
  // 5000, little-endian, is its size in both places where an archive says it.
  const std::string size("\x88\x13\x00\x00", 4);
  replace(directory / "a.pt2", size, std::string("\xff\xff\xff\x7f", 4));
  CHECK(Pt2Archive::open(directory / "a.pt2").error() == Error::OutOfResources);
  // Also where the application permits entries of any size.
  Pt2Limits limits;
  limits.unpacked_ratio = host::HostLimits::none;
  const auto archive = Pt2Archive::open(directory / "a.pt2", limits);
  REQUIRE(archive.ok());
  const auto data = archive->read("data");
  CHECK(data.error() == Error::InvalidProgram);
  CHECK_THAT(std::string(data.text()), ContainsSubstring("claims to unpack"));
}
