// SPDX-License-Identifier: MIT
//
// Memory and fences of other owners, as they may be: closed, of another kind, too small, never
// signalled.
#include "tenon/backend/mapped_memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using namespace tenon;

namespace mapped_memory_test {

/// A descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) { REQUIRE(number >= 0); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

/// Both ends of a pipe or of a connection.
struct Pair {
  Descriptor first;
  Descriptor second;
};
Pair pipe_pair(int flags = 0) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), flags) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}
Pair connection() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}
Descriptor event(std::uint64_t count, int flags = 0) {
  Descriptor out(::eventfd(0, flags));
  if (count != 0) REQUIRE(::eventfd_write(out.get(), count) == 0);
  return out;
}
Descriptor frame(int seals, off_t nbytes = 8192) {
  Descriptor out(::memfd_create("frame", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(out.get(), nbytes) == 0);
  if (seals != 0) REQUIRE(::fcntl(out.get(), F_ADD_SEALS, seals) == 0);
  return out;
}
/// Opens the file of `of` again.
Descriptor reopened(const Descriptor& of, int flags) {
  return Descriptor(::open(concat("/proc/self/fd/", of.get()).c_str(), flags | O_CLOEXEC));
}

constexpr std::uint64_t full = std::numeric_limits<std::uint64_t>::max() - 1;
constexpr int closed = 1'000'000;

/// Descriptors that are no fence, although most can be read, or written to, at once.
struct NoFence {
  std::string name;
  int number;
};

}  // namespace mapped_memory_test
using namespace mapped_memory_test;

TEST_CASE("what is no fence is neither waited for nor written to", "[backend][external]") {
  const Descriptor file = frame(0, 0);
  const Descriptor folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor zeros(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const Descriptor path = reopened(file, O_PATH);
  const Pair empty = pipe_pair(), filled = pipe_pair(), stuffed = pipe_pair(O_NONBLOCK);
  REQUIRE(::write(filled.second.get(), "12345678", 8) == 8);
  const std::array<char, 4096> some{};
  while (::write(stuffed.second.get(), some.data(), some.size()) > 0) continue;
  REQUIRE(::fcntl(stuffed.second.get(), F_SETFL, 0) == 0);
  const auto readerless = [] {
    auto [reader, writer] = pipe_pair();
    return std::move(writer);
  }();
  const auto writerless = [] {
    auto [reader, writer] = pipe_pair();
    return std::move(reader);
  }();
  const auto lonely = [] {
    auto [here, there] = connection();
    return std::move(here);
  }();
  const Pair open_connection = connection();
  const NoFence cases[] = {
      {"a descriptor that is not open", closed},
      {"a negative descriptor", -1},
      {"the most negative descriptor", std::numeric_limits<int>::min()},
      {"the largest descriptor", std::numeric_limits<int>::max()},
      {"a file", file.get()},
      {"a folder", folder.get()},
      {"/dev/null", nothing.get()},
      {"/dev/zero", zeros.get()},
      {"a descriptor that is a path alone", path.get()},
      {"the end to read of an empty pipe", empty.first.get()},
      {"the end to read of a pipe with bytes", filled.first.get()},
      {"the end to read of a pipe that nothing writes to", writerless.get()},
      {"the end to write of a full pipe", stuffed.second.get()},
      {"the end to write of a pipe that nothing reads", readerless.get()},
      {"a connection whose other end is closed", lonely.get()},
      {"a connection", open_connection.first.get()},
  };
  for (const NoFence& each : cases) {
    for (const HandleKind kind : {FenceKind::EventFd, FenceKind::SyncFile}) {
      CAPTURE(each.name, kind.text());
      const Status waited = wait_for({.kind = kind, .descriptor = each.number}, 0);
      CHECK(waited.error() == Error::InvalidArgument);
      CHECK_THAT(std::string(waited.text()), ContainsSubstring("cannot be waited for"));
      const Status signalled = signal({.kind = kind, .descriptor = each.number});
      CHECK(signalled.error() ==
            (kind == FenceKind::EventFd ? Error::InvalidArgument : Error::NotSupported));
    }
  }
  struct stat status{};
  REQUIRE(::fstat(file.get(), &status) == 0);
  CHECK(status.st_size == 0);
  for (const HandleKind kind : {FenceKind::SemaphoreFd, FenceKind::SemaphoreWin32, "acme.fence"}) {
    CHECK(wait_for({.kind = kind, .descriptor = 0}, 0).error() == Error::NotSupported);
    CHECK(signal({.kind = kind, .descriptor = 0}).error() == Error::NotSupported);
  }
}

TEST_CASE("an event is a fence whatever its count, and keeps it", "[backend][external]") {
  for (const int flags : {0, static_cast<int>(EFD_NONBLOCK), static_cast<int>(EFD_SEMAPHORE)}) {
    for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, full - 1, full}) {
      CAPTURE(flags, count);
      const Descriptor of = event(count, flags);
      const ExternalFence fence{.kind = FenceKind::EventFd, .descriptor = of.get()};
      const Status waited = wait_for(fence, 0);
      CHECK(waited.error() == (count == 0 ? Error::TimedOut : Error::Ok));
      // An eventfd that cannot count any further is signalled.
      CHECK(signal(fence).ok());
      CHECK(wait_for(fence, -1).ok());
      eventfd_t found = 0;
      REQUIRE(::eventfd_read(of.get(), &found) == 0);
      CHECK(found == ((flags & EFD_SEMAPHORE) != 0 ? 1 : count == full ? full : count + 1));
    }
  }
  const Descriptor never = event(0);
  const Descriptor events(::epoll_create1(EPOLL_CLOEXEC));
  for (const Descriptor* each : {&never, &events}) {
    const Status late = wait_for({.kind = FenceKind::EventFd, .descriptor = each->get()}, 5);
    CHECK(late.error() == Error::TimedOut);
    CHECK_THAT(std::string(late.text()), ContainsSubstring("was not signalled in 5 ms"));
  }
}

TEST_CASE("signals do not prolong the wait for a fence", "[backend][external]") {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = [](int) {};
  ignore.sa_flags = SA_RESTART;
  REQUIRE(::sigaction(SIGALRM, &ignore, &before) == 0);
  // Each comes before the wait that it interrupts has ended.
  const itimerval often{{0, 2'000}, {0, 2'000}};
  const itimerval never{};
  REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
  const Descriptor of = event(0);
  const Status late = wait_for({.kind = FenceKind::EventFd, .descriptor = of.get()}, 50);
  REQUIRE(::setitimer(ITIMER_REAL, &never, nullptr) == 0);
  REQUIRE(::sigaction(SIGALRM, &before, nullptr) == 0);
  CHECK(late.error() == Error::TimedOut);
}

TEST_CASE("memory that is not what is said of it is not mapped", "[backend][external]") {
  const Descriptor good = frame(F_SEAL_SHRINK);
  const Descriptor empty = frame(F_SEAL_SHRINK, 0);
  const Descriptor loose = frame(0);
  const Descriptor fixed = frame(F_SEAL_SHRINK | F_SEAL_WRITE);
  const Descriptor to_be_fixed = frame(F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE);
  const Descriptor without_seals(::memfd_create("frame", MFD_CLOEXEC));
  const Descriptor to_read = reopened(good, O_RDONLY);
  const Descriptor to_write = reopened(good, O_WRONLY);
  const Descriptor path = reopened(good, O_PATH);
  const Descriptor folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Descriptor zeros(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const Descriptor an_event = event(1);
  const Pair ends = pipe_pair(), connected = connection();
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  struct Case {
    std::string name;
    int number;
    std::uint64_t offset = 0;
    std::uint64_t nbytes = 16;
    bool is_written = false;
    tenon_dl_device device{TENON_DL_CPU, 0};
  };
  const Case cases[] = {
      {"a descriptor that is not open", closed},
      {"a negative descriptor", -1},
      {"the most negative descriptor", std::numeric_limits<int>::min()},
      {"a folder", folder.get()},
      {"/dev/zero", zeros.get()},
      {"an event", an_event.get()},
      {"a pipe", ends.first.get()},
      {"a connection", connected.first.get()},
      {"a descriptor that is a path alone", path.get()},
      {"one that may become smaller", loose.get()},
      {"one that cannot be sealed", without_seals.get()},
      {"one without bytes", empty.get()},
      {"no bytes", good.get(), 0, 0},
      {"one byte too many", good.get(), 0, 8193},
      {"from the end", good.get(), 8192, 1},
      {"from behind the end", good.get(), 8193, 1},
      {"a range that ends behind the end", good.get(), 8191, 2},
      {"a range that wraps around", good.get(), most - 7, 16},
      {"half of all addresses", good.get(), 0, std::uint64_t{1} << 63},
      {"all addresses", good.get(), 1, most},
      {"to write one that is opened to be read", to_read.get(), 0, 16, true},
      {"to read one that is opened to be written", to_write.get()},
      {"to write one that is sealed against it", fixed.get(), 0, 16, true},
      {"to write one that is sealed against it from now on", to_be_fixed.get(), 0, 16, true},
      {"for a GPU", good.get(), 0, 16, false, {TENON_DL_CUDA, 0}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.name);
    ExternalMemory memory;
    memory.descriptor = each.number;
    memory.offset = each.offset;
    memory.nbytes = each.nbytes;
    memory.is_written = each.is_written;
    memory.device = each.device;
    CHECK(MappedMemory::map(memory).error() == Error::InvalidArgument);
  }
}

TEST_CASE("memory that is mapped stays there, whatever its owner does", "[backend][external]") {
  const Descriptor of = frame(F_SEAL_SHRINK);
  ExternalMemory memory;
  memory.descriptor = of.get();
  memory.offset = 4097;
  memory.nbytes = 4095;
  memory.is_written = true;
  const auto first = MappedMemory::map(memory), second = MappedMemory::map(memory);
  REQUIRE((first.ok() && second.ok()));
  auto* const bytes = static_cast<volatile unsigned char*>(first->data());
  CHECK(::ftruncate(of.get(), 0) != 0);
  REQUIRE(::ftruncate(of.get(), 1 << 20) == 0);
  bytes[4094] = 7;
  CHECK(static_cast<volatile unsigned char*>(second->data())[4094] == 7);
  REQUIRE(::fallocate(of.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192) == 0);
  CHECK(bytes[4094] == 0);
}
