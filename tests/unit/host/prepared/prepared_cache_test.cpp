// SPDX-License-Identifier: MIT
//
// Directories of a cache, and what is removed from them.
#include <chrono>
#include <filesystem>
#include <string>
#include <tenon/host/prepared.hpp>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace {

namespace host = tenon::host;
using tenon::Error;

const tenon_host quiet{sizeof(tenon_host),
                       1,
                       1,
                       "test",
                       "",
                       nullptr,
                       [](const tenon_host*, std::int32_t, const char*, std::uint64_t) {},
                       nullptr,
                       nullptr};

host::PreparedCache open_cache(const std::filesystem::path& path,
                               std::uint64_t max_bytes = 1 << 20) {
  auto opened = host::PreparedCache::open(path, max_bytes);
  INFO(opened.text());
  REQUIRE(opened.ok());
  return *std::move(opened);
}

/// Stores `size` bytes under a key of its own; gives the name of the file.
std::string store(const host::PreparedCache& cache, std::uint8_t number, std::size_t size) {
  host::PreparedKey key{{}, "Acme", "/usr/lib/acme.so"};
  key.digest.bytes[0] = number;
  tenon_prepared* prepared = nullptr;
  REQUIRE(cache.open(key, quiet, &prepared).ok());
  CHECK(prepared->data == nullptr);
  const std::string bytes(size, 'a');
  const tenon_span part{bytes.data(), size};
  CHECK(prepared->store(prepared, &part, 1) == TENON_STATUS_OK);
  prepared->release(prepared);
  return key.digest.to_hex() + ".prepared";
}

void set_age(const host::PreparedCache& cache, const std::string& name, std::chrono::hours age) {
  std::filesystem::last_write_time(cache.directory() / name,
                                   std::filesystem::file_time_type::clock::now() - age);
}

std::vector<std::string> names(const host::PreparedCache& cache) {
  const auto list = cache.list();
  REQUIRE(list.ok());
  std::vector<std::string> out;
  for (const host::PreparedEntry& each : *list) out.push_back(each.name);
  return out;
}

}  // namespace

TEST_CASE("a directory that does not exist is created for its user alone", "[prepared]") {
  const tenon::test::TemporaryDirectory directory;
  const host::PreparedCache cache = open_cache(directory / "a/b");
  CHECK(std::filesystem::status(directory / "a/b").permissions() ==
        std::filesystem::perms::owner_all);
  const std::string name = store(cache, 1, 10);
  using std::filesystem::perms;
  CHECK(std::filesystem::status(directory / "a/b" / name).permissions() ==
        (perms::owner_read | perms::owner_write));
}

TEST_CASE("a directory that cannot be used is refused", "[prepared]") {
  const tenon::test::TemporaryDirectory directory;
  directory.write("file", "");
  CHECK(host::PreparedCache::open(directory / "file").error() != Error::Ok);
  CHECK(host::PreparedCache::open(directory / "file/in").error() == Error::AccessFailed);
  std::filesystem::create_directory(directory / "open");
  std::filesystem::permissions(directory / "open", std::filesystem::perms::all);
  const auto opened = host::PreparedCache::open(directory / "open");
  CHECK(opened.error() == Error::AccessFailed);
  CHECK_THAT(std::string(opened.text()), ContainsSubstring("open"));
}

TEST_CASE("files that were not used for the longest time make room", "[prepared]") {
  const tenon::test::TemporaryDirectory directory;
  const host::PreparedCache cache = open_cache(directory / "cache", 3 * 4200);
  const std::string first = store(cache, 1, 100);
  const std::string second = store(cache, 2, 100);
  const std::string third = store(cache, 3, 100);
  set_age(cache, first, std::chrono::hours(2));
  set_age(cache, second, std::chrono::hours(3));
  set_age(cache, third, std::chrono::hours(1));
  CHECK(names(cache) == std::vector{third, first, second});
  SECTION("when another one is stored") {
    const std::string fourth = store(cache, 4, 100);
    CHECK(names(cache) == std::vector{fourth, third, first});
  }
  SECTION("a file that is found has been used") {
    host::PreparedKey key{{}, "Acme", "/usr/lib/acme.so"};
    key.digest.bytes[0] = 2;
    tenon_prepared* prepared = nullptr;
    REQUIRE(cache.open(key, quiet, &prepared).ok());
    CHECK(prepared->nbytes == 100);
    CHECK(reinterpret_cast<std::uintptr_t>(prepared->data) % 4096 == 0);
    prepared->release(prepared);
    CHECK(names(cache) == std::vector{second, third, first});
  }
  SECTION("when the application says so") {
    const auto removed = cache.prune(4200);
    REQUIRE(removed.ok());
    CHECK(*removed == 2);
    CHECK(names(cache) == std::vector{third});
    CHECK(*cache.prune(0) == 1);
  }
}

TEST_CASE("other files in the directory stay, but for those of processes that were killed",
          "[prepared]") {
  const tenon::test::TemporaryDirectory directory;
  const host::PreparedCache cache = open_cache(directory / "cache");
  directory.write("cache/notes", "mine");
  directory.write("cache/.tenon-1-0.tmp", "left");
  directory.write("cache/.tenon-2-0.tmp", "being written");
  set_age(cache, ".tenon-1-0.tmp", std::chrono::hours(25));
  CHECK(*cache.prune(0) == 1);
  CHECK(std::filesystem::exists(directory / "cache/notes"));
  CHECK(std::filesystem::exists(directory / "cache/.tenon-2-0.tmp"));
  CHECK_FALSE(std::filesystem::exists(directory / "cache/.tenon-1-0.tmp"));
}

TEST_CASE("a file that is named as another one, or is none, does not verify", "[prepared]") {
  const tenon::test::TemporaryDirectory directory;
  const host::PreparedCache cache = open_cache(directory / "cache");
  const std::string name = store(cache, 1, 10);
  std::filesystem::copy_file(cache.directory() / name, cache.directory() / "other.prepared");
  CHECK(cache.verify(name).ok());
  const auto other = cache.verify("other.prepared");
  CHECK(other.error() == Error::InvalidExternalData);
  CHECK_THAT(std::string(other.text()), ContainsSubstring("was stored under the key 01000"));
  CHECK(cache.verify("none.prepared").error() == Error::NotFound);
  directory.write("cache/text.prepared", "text");
  CHECK(cache.verify("text.prepared").error() == Error::InvalidExternalData);
  CHECK(names(cache).size() == 3);
}
