// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "changed_library.hpp"
#include "support/catch.hpp"

using namespace tenon;
using namespace tenon::aoti;
using namespace tenon::test;

namespace {

/// Replaces a text of the string table by one of the same length.
void rename(std::span<std::byte> bytes, std::string_view from, std::string_view to) {
  REQUIRE(from.size() == to.size());
  const std::size_t at = as_text(bytes).find(std::string(from) + '\0');
  REQUIRE(at != std::string_view::npos);
  std::ranges::copy(std::as_bytes(std::span(to)), bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

/// The version of a function of the C library that the stand-in needs.
std::string version_of(const ElfEditor& library, std::string_view function) {
  const auto versions = needed_versions(library);
  REQUIRE(versions.ok());
  const auto symbol = std::ranges::find(library.symbols(), function, &DynamicSymbol::name);
  REQUIRE(symbol != library.symbols().end());
  const auto version = std::ranges::find(*versions, symbol->version, &NeededVersion::index);
  REQUIRE(version != versions->end());
  CHECK(version->file == "libc.so.6");
  return std::string(version->name);
}

/// Functions of the backend, and those that this program has for the libraries that are served.
const void* find_everywhere(std::string_view name) {
  if (const void* shim = find_host_shim(name)) return shim;
  return ::dlsym(RTLD_DEFAULT, std::string(name).c_str());
}

}  // namespace

TEST_CASE("a version that the named library lacks is listed before the model is loaded", "[aoti]") {
  AlignedBytes file = stand_in("good");
  const auto library = ElfEditor::open(file.bytes());
  REQUIRE(library.ok());
  const std::string version = version_of(*library, "memcpy");
  std::string newer = version;
  newer.back() = 'Q';
  rename(file.bytes(), version, newer);
  const Status checked = ModelLibrary::check(file.bytes(), &find_host_shim);
  CHECK(checked.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(checked.text()),
             ContainsSubstring("1 symbol version: " + newer + " of libc.so.6"));
  CHECK(ModelLibrary::load(file.bytes(), &find_host_shim).text() == checked.text());
}

TEST_CASE("versions of a library that is served need not be loaded", "[aoti]") {
  constexpr std::string_view served[] = {"libserved.so"};
  AlignedBytes file = stand_in("good");
  rename(file.bytes(), "libstdc++.so.6", "libserved.so.6");
  const auto library = ModelLibrary::load(file.bytes(), &find_everywhere, served);
  INFO(library.text());
  REQUIRE(library.ok());
  // A function of it that the backend does not have is missing, also with a version.
  const Status checked = ModelLibrary::check(file.bytes(), &find_host_shim, served);
  CHECK(checked.error() == Error::OperatorMissing);
  CHECK_THAT(std::string(checked.text()), ContainsSubstring("_ZdlPv"));
}

TEST_CASE("a library all of whose needed libraries are served needs no versions", "[aoti]") {
  constexpr std::string_view served[] = {"libstdc++.so", "libgcc_s.so", "libc.so",
                                         "ld-linux-x86-64.so", "ld-linux-aarch64.so"};
  AlignedBytes file = stand_in("good");
  auto library = ElfEditor::open(file.bytes());
  REQUIRE(library.ok());
  const auto versions = needed_versions(*library);
  REQUIRE(versions.ok());
  CHECK(versions->size() > 2);
  release_served_versions(*library, *versions, served);
  const auto again = ElfEditor::open(file.bytes());
  REQUIRE(again.ok());
  const auto left = needed_versions(*again);
  REQUIRE(left.ok());
  CHECK(left->empty());
}

TEST_CASE("needed versions that contradict the library are refused", "[aoti]") {
  struct Case {
    const char* message;
    std::function<void(const Change&)> change;
  };
  const auto change_record = [](const std::function<void(Elf64_Verneed&)>& change_of) {
    return [=](const Change& change) {
      const auto versions = needed_versions(change.library);
      REQUIRE((versions.ok() && !versions->empty()));
      auto record = change.library.at<Elf64_Verneed>(versions->front().record_at);
      change_of(record);
      change.library.put(versions->front().record_at, record);
    };
  };
  const Case cases[] = {
      {", and not that library",
       [](const Change& change) {
         // Twice the same library.
         const std::size_t first = entry_of(change.library, DT_NEEDED);
         for (std::size_t i = first; i < change.library.entries().size(); ++i) {
           if (change.library.entries()[i].tag != DT_NEEDED) continue;
           change.library.change_entry(i, change.library.entries()[first]);
         }
       }},
      {"and its symbols have none",
       [](const Change& change) {
         change.library.drop_entry(entry_of(change.library, DT_VERSYM));
       }},
      {"has version 32752, which is not among the needed ones",
       [](const Change& change) {
         const auto& table = change.library.entries()[entry_of(change.library, DT_VERSYM)];
         const auto place = change.library.place(table.value, 4, "versions");
         REQUIRE(place.ok());
         change.library.put(*place + 2, std::uint16_t{0x7ff0});
       }},
      {"a record of needed versions has the form 7",
       change_record([](Elf64_Verneed& record) { record.vn_version = 7; })},
      {"a needed version (16 bytes at address ",
       change_record([](Elf64_Verneed& record) { record.vn_aux = 0x7fffffff; })},
  };
  for (const Case& each : cases) {
    AlignedBytes file = changed(each.change);
    const Status checked = ModelLibrary::check(file.bytes(), &find_host_shim);
    CHECK(checked.error() == Error::InvalidArgument);
    CHECK_THAT(std::string(checked.text()), ContainsSubstring(each.message));
  }
}
