// SPDX-License-Identifier: MIT
//
// The resources of a process, their growth, and the functions of the C library that count and fail
// inside a plugin.
#include "kit/process/resources.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kit/process/faults.hpp"
#include "kit/process/interposition.hpp"
#include "support/catch.hpp"

namespace resources_test {
namespace {

using namespace tenon::conformance;

/// As `std::malloc`, whose calls the compiler may remove or move.
void* take(std::size_t size) {
  void* (*volatile allocate)(std::size_t) = &std::malloc;
  return allocate(size);
}

/// As `std::free`, for blocks that these tests still compare afterwards.
void give_to_free(void* block) {
  void (*volatile free)(void*) = &std::free;
  free(block);
}

bool mentions(const std::vector<std::string>& texts, const std::string& words) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("a descriptor that is left open is named by what it is open for") {
  const Resources before = Resources::now();
  const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  CHECK(mentions(before.more_in(Resources::now()), "(/dev/null)"));
  ::close(descriptor);
  CHECK(before.more_in(Resources::now()).empty());
}

#if defined(__linux__)
TEST_CASE("a thread that runs is named and one that ended is not") {
  const Resources before = Resources::now();
  std::atomic<bool> end = false;
  std::thread thread([&] {
    while (!end) std::this_thread::yield();
  });
  ::pthread_setname_np(thread.native_handle(), "left-behind");
  CHECK(mentions(before.more_in(Resources::now()), "left-behind"));
  end = true;
  thread.join();
  CHECK(before.more_in(Resources::once_threads_ended(before.threads.size())).empty());
}

TEST_CASE("a child process is reported") {
  const Resources before = Resources::now();
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  REQUIRE(child > 0);
  CHECK(mentions(before.more_in(Resources::now()), "process " + std::to_string(child)));
  CHECK(ResourceCounts::now().processes == 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(before.more_in(Resources::now()).empty());
}

TEST_CASE("mappings have their addresses and their names") {
  const std::size_t size = std::size_t{1} << 20;
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::vector<Mapping> all = mappings();
  CHECK(std::ranges::any_of(all, [&](const Mapping& one) {
    return one.begin <= address && address + size <= one.end && one.readable && !one.executable;
  }));
  CHECK(std::ranges::any_of(all, [](const Mapping& one) {
    return one.executable && one.name.find("libc") != std::string::npos;
  }));
  ::munmap(mapped, size);
}
#endif

TEST_CASE("growth from round to round is reported") {
  std::vector<void*> kept;
  kept.reserve(1000);
  const auto growth = growth_of(10, [&] { kept.push_back(take(1000)); });
  CHECK(mentions(growth, "bytes of memory more after 33 rounds than after 3"));
  for (void* block : kept) std::free(block);

  std::vector<int> open;
  open.reserve(1000);
  const auto descriptors =
      growth_of(10, [&] { open.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC)); });
  CHECK(mentions(descriptors, "30 descriptors more"));
  for (const int descriptor : open) ::close(descriptor);
}

TEST_CASE("a resource that is taken once is not growth") {
  for (const int when : {0, 2, 7, 15, 31}) {
    int round = 0;
    void* kept = nullptr;
    const auto growth = growth_of(10, [&] {
      std::free(take(100));
      if (round++ == when) kept = take(5000);
    });
    CHECK(growth.empty());
    std::free(kept);
  }
}

TEST_CASE("growth of declared bytes is reported separately") {
  std::int64_t declared = 0;
  const auto growth = growth_of(10, [&] { declared += 7; }, [&] { return declared; });
  CHECK(growth == std::vector<std::string>{"210 bytes by its own count more after 33 rounds than "
                                           "after 3"});
}

TEST_CASE("texts are joined as a person would") {
  CHECK(join_with_and({}).empty());
  CHECK(join_with_and({"a"}) == "a");
  CHECK(join_with_and({"a", "b", "c"}) == "a, b and c");
}

TEST_CASE("memory is counted to the byte and inside the plugin by itself") {
  if (!interposition.present) SUCCEED("not interposed under a sanitizer");
  if (!interposition.present) return;
  const std::int64_t before = heap_bytes();
  const std::uint64_t of_plugin = interposition.plugin_allocations;
  void* block = take(1000);
  CHECK(heap_bytes() - before >= 1000);
  block = std::realloc(block, 5000);
  CHECK(heap_bytes() - before >= 5000);
  std::free(block);
  CHECK(heap_bytes() == before);
  CHECK(interposition.plugin_allocations == of_plugin);
  {
    const InsidePlugin inside;
    block = take(10);
    const OutsidePlugin outside;
    std::free(take(10));
  }
  std::free(block);
  CHECK(interposition.plugin_allocations == of_plugin + 1);
}

TEST_CASE("a file operation fails inside the plugin when it is its turn and never outside") {
  if (!interposition.present) SUCCEED("not interposed under a sanitizer");
  if (!interposition.present) return;
  Faults faults;
  interposition.faults = &faults;
  faults.fail(Service::file, 2);
  const auto opens = [] {
    const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) ::close(descriptor);
    return descriptor >= 0;
  };
  CHECK(opens());
  CHECK(opens());
  bool first = false, second = false, third = false;
  int number = 0;
  {
    const InsidePlugin inside;
    first = opens();
    second = opens();
    number = errno;
    third = opens();
  }
  interposition.faults = nullptr;
  CHECK(first);
  CHECK(!second);
  CHECK(number == EMFILE);
  CHECK(third);
  CHECK(faults.asked(Service::file) == 3);
}

TEST_CASE("changes of the environment inside the plugin are noted, also when they are undone") {
  if (!interposition.present) SUCCEED("not interposed under a sanitizer");
  if (!interposition.present) return;
  static char put[] = "TENON_TEST_VARIABLE=put";
  const auto changes = [](const std::function<void()>& call) {
    environment_changes = {};
    {
      const InsidePlugin inside;
      call();
    }
    return std::exchange(environment_changes, {});
  };
  const EnvironmentChanges undone = changes([] {
    ::setenv("TENON_TEST_VARIABLE", "1", 1);
    ::unsetenv("TENON_TEST_VARIABLE");
  });
  CHECK(undone.count == 2);
  CHECK(std::string(undone.first.data()) == "TENON_TEST_VARIABLE");
  CHECK(changes([] { ::putenv(put); }).count == 1);
  // What changes nothing is no change.
  CHECK(changes([] { ::putenv(put); }).count == 0);
  CHECK(changes([] { ::setenv("TENON_TEST_VARIABLE", "put", 1); }).count == 0);
  CHECK(changes([] { ::setenv("TENON_TEST_VARIABLE", "other", 0); }).count == 0);
  CHECK(std::string(std::getenv("TENON_TEST_VARIABLE")) == "put");
  CHECK(changes([] { ::unsetenv("TENON_TEST_VARIABLE"); }).count == 1);
  CHECK(changes([] { ::unsetenv("TENON_TEST_VARIABLE"); }).count == 0);
  // Outside of the plugin nothing is noted.
  ::setenv("TENON_TEST_VARIABLE", "1", 1);
  ::unsetenv("TENON_TEST_VARIABLE");
  CHECK(environment_changes.count == 0);
}

TEST_CASE("a long name of a variable is noted cut") {
  if (!interposition.present) SUCCEED("not interposed under a sanitizer");
  if (!interposition.present) return;
  const std::string name(100, 'V');
  environment_changes = {};
  {
    const InsidePlugin inside;
    ::setenv(name.c_str(), "1", 1);
    ::unsetenv(name.c_str());
  }
  const EnvironmentChanges noted = std::exchange(environment_changes, {});
  CHECK(noted.count == 2);
  CHECK(std::string(noted.first.data()) == std::string(63, 'V'));
}

TEST_CASE("a block of the host that the plugin frees is kept and counted") {
  if (!interposition.present) SUCCEED("not interposed under a sanitizer");
  if (!interposition.present) return;
  void* block = take(100);
  interposition.watch_lent = true;
  interposition.lent_and_freed = 0;
  interposition.lend(block);
  {
    const InsidePlugin inside;
    give_to_free(block);
  }
  CHECK(interposition.lent_and_freed == 1);
  interposition.take_back(block);
  interposition.watch_lent = false;
  std::free(block);
  CHECK(interposition.lent_and_freed == 1);
}

}  // namespace resources_test
