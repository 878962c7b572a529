// SPDX-License-Identifier: MIT
//
// The part of Linux that two processes talk through, inside this one: files in memory, sockets that
// carry descriptors, futexes, a clock. The linker puts the functions of system.cpp in place of
// libc's (--wrap), so that the code under test is compiled as it is shipped. Nothing sleeps, a
// mapping is a block that AddressSanitizer guards, and what is left open at the end is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::fuzz {

/// What a descriptor is of.
struct Object {
  enum class Kind { file, socket, other };
  struct Message {
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<Object>> descriptors;
  };

  Kind kind = Kind::other;
  // Of a file.
  std::string name;
  std::uint64_t size = 0;
  int seals = 0;
  std::byte* bytes =
      nullptr;  ///< Null until they are needed, and while `size` is `max_bytes` or more.
  // Of a socket.
  std::weak_ptr<Object> other_end;
  std::deque<Message> queue;  ///< For this end.
  bool is_shut = false;       ///< This end writes no more.

  static constexpr std::uint64_t max_bytes = std::uint64_t{64} << 20;

  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object();

  /// The bytes of a file; null for a file that is too large.
  std::byte* data();
};
using ObjectPointer = std::shared_ptr<Object>;

/// The other process.
class Peer {
 public:
  virtual ~Peer() = default;
  /// The code under test sleeps until the word changes, or for `limit_ns`, where that is not
  /// negative.
  virtual void wait(void* word, std::int64_t limit_ns) = 0;
  /// It sends a message. What is returned is an errno, 0 for success.
  virtual int send(const ObjectPointer& from, std::span<const std::byte> bytes,
                   std::span<const ObjectPointer> descriptors) = 0;
  /// Whether the other side has taken what was sent.
  virtual bool has_taken(const ObjectPointer&) { return true; }
  /// It looks for a message where there is none, or polls.
  virtual void ask(const ObjectPointer& socket) = 0;
  /// It ends the process of the other side.
  virtual void kill() = 0;
};

/// One run. From its begin to its end system.cpp's functions replace libc's.
class System {
 public:
  explicit System(Peer& peer);
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  /// Aborts when the code under test has left descriptors or mappings.
  ~System();

  /// The call after `count` more that takes a resource fails; 0: none does.
  void fail_after(std::size_t count) noexcept;
  void advance(std::int64_t ns) noexcept;
  /// What is open at the end stays so, for the rest of the process.
  void keep() noexcept { keeps_ = true; }

  /// A descriptor for the code under test.
  int open(ObjectPointer object);
  static ObjectPointer make_file(std::string_view name, std::uint64_t size);
  /// Two ends.
  static std::pair<ObjectPointer, ObjectPointer> make_sockets();
  /// The object behind a descriptor of this run, null for another one.
  ObjectPointer find(int descriptor) const noexcept;

  /// Whether the bytes are in a mapping of the code under test.
  static bool is_mapped(const void* data, std::uint64_t size) noexcept;

  /// Memory that may be read and not written: `pread` into it fails as the kernel does it.
  static std::span<std::byte> read_only();

 private:
  bool keeps_ = false;
};

}  // namespace tenon::fuzz
