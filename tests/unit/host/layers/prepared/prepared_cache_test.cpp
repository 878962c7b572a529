// SPDX-License-Identifier: MIT
//
// Directories of a cache, and what is removed from them.
#if !defined(_WIN32)
#include <sys/stat.h>
#endif

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <tenon/host/prepared.hpp>
#include <utility>
#include <vector>

#include "prepared_support.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "tenon/host/layers/prepared/impl/prepared_file.hpp"

namespace {

namespace host = tenon::host;
using namespace prepared_test;
using tenon::Error;

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

TEST_CASE("other files in the directory stay, but for files of processes that were killed",
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

TEST_CASE("a file with another file's name, or with other content, does not verify", "[prepared]") {
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

namespace {

/// A host that keeps what is logged.
struct LoggingHost : tenon_host {
  LoggingHost() : tenon_host(quiet) {
    log = [](const tenon_host* self, std::int32_t, const char* text, std::uint64_t size) {
      static_cast<const LoggingHost*>(self)->all += std::string(text, size);
    };
  }
  mutable std::string all;
};

/// The name of the file with key 7.
std::string name_of_seven() { return "07" + std::string(62, '0') + ".prepared"; }

/// Looks for the bytes of key 7, and stores new ones; what the log says.
std::string look_and_store(const host::PreparedCache& cache, tenon_status expected) {
  const LoggingHost log;
  host::PreparedKey key{{}, "Acme", "/usr/lib/acme.so"};
  key.digest.bytes[0] = 7;
  tenon_prepared* prepared = nullptr;
  REQUIRE(cache.open(key, log, &prepared).ok());
  CHECK(prepared->data == nullptr);
  const tenon_span part{"bytes", 5};
  CHECK(prepared->store(prepared, &part, 1) == expected);
  prepared->release(prepared);
  return log.all;
}

}  // namespace

#if !defined(_WIN32)
TEST_CASE("whatever is at the name of a file is neither waited for nor written through",
          "[prepared]") {
  namespace fs = std::filesystem;
  const tenon::test::TemporaryDirectory directory;
  const fs::path other = directory.write("other", "not of the cache");
  ::chmod(other.c_str(), 0644);
  const auto link_to = [](const fs::path& target) {
    return [target](const fs::path& at) { fs::create_symlink(target, at); };
  };
  const struct {
    const char* what;
    std::function<void(const fs::path&)> put;
    const char* why;  ///< In the log.
    tenon_status stored = TENON_STATUS_OK;
  } cases[] = {
      {"a FIFO", [](const fs::path& at) { REQUIRE(::mkfifo(at.c_str(), 0600) == 0); }, "FIFO"},
      {"a link to a FIFO",
       [&](const fs::path& at) {
         REQUIRE(::mkfifo((directory / "fifo").c_str(), 0600) == 0);
         fs::create_symlink(directory / "fifo", at);
       },
       "FIFO"},
      {"a link to another file", link_to(other), "ends after"},
      {"a link to nothing", link_to(directory / "nothing"), ""},
      {"a link to a device", link_to("/dev/zero"), "device"},
      {"a link to itself", link_to(name_of_seven()), "symbolic links"},
      {"a directory", [](const fs::path& at) { fs::create_directory(at); }, "directory",
       TENON_STATUS_ACCESS_FAILED},
      {"a file that others can write to",
       [&](const fs::path& at) {
         fs::copy_file(other, at);
         ::chmod(at.c_str(), 0666);
       },
       "writable by every user"},
  };
  for (const auto& each : cases) {
    INFO(each.what);
    const fs::path folder = directory / "cache";
    const host::PreparedCache cache = open_cache(folder);
    const fs::path at = folder / name_of_seven();
    each.put(at);
    const std::string log = look_and_store(cache, each.stored);
    INFO(log);
    CHECK_THAT(log, ContainsSubstring(each.why));
    CHECK(fs::is_regular_file(fs::symlink_status(at)) == (each.stored == TENON_STATUS_OK));
    CHECK(fs::file_size(other) == 16);
    CHECK_FALSE(fs::exists(directory / "nothing"));
    CHECK((each.stored != TENON_STATUS_OK || cache.verify(name_of_seven()).ok()));
    fs::remove_all(folder);
  }
}
#endif

TEST_CASE("a file that is larger than its cache may be is not read", "[prepared]") {
  const tenon::test::TemporaryDirectory directory;
  const host::PreparedCache cache = open_cache(directory / "cache", 1 << 20);
  host::detail::PreparedHead head;
  head.key.bytes[0] = 7;
  head.nbytes = std::uint64_t{3} << 30;  // A hole: the file takes a page.
  const auto page = head.write();
  const std::filesystem::path at = directory / "cache" / name_of_seven();
  std::ofstream(at, std::ios::binary)
      .write(reinterpret_cast<const char*>(page.data()), std::ssize(page));
  std::filesystem::resize_file(at, page.size() + head.nbytes);
  std::filesystem::permissions(at, std::filesystem::perms::owner_read);
  const std::string log = look_and_store(cache, TENON_STATUS_OK);
  CHECK_THAT(log, ContainsSubstring("has 3221229568 bytes, expected at most 1048576"));
  CHECK(std::filesystem::file_size(at) == page.size() + 5);
}
