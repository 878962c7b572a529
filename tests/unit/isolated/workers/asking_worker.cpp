// SPDX-License-Identifier: MIT
//
// A worker that does one thing that no worker does, named by the variable TENON_TEST_ASKS. It runs
// no plugin, and answers everything else as a plugin with all extensions.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "test_lane.hpp"
#include "worker/supervisor.hpp"

namespace {

using namespace tenon;
using namespace tenon::isolated;

constexpr std::size_t mib = std::size_t{1} << 20;

/// A file in memory of `size` bytes, of which it holds `held`.
host::FileDescriptor file_of(std::size_t size, std::size_t held, bool is_sealed) {
  host::FileDescriptor out(::memfd_create("asking", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  static_cast<void>(::ftruncate(out.get(), static_cast<off_t>(size)));
  static_cast<void>(write_all(out.get(), std::vector<std::byte>(held), 0));
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (is_sealed) static_cast<void>(::fcntl(out.get(), F_ADD_SEALS, seals));
  return out;
}

class AskingLane : public tenon::test::TestLane {
 public:
  AskingLane(Mapping shared, host::FileDescriptor socket, std::string_view what)
      : TestLane(std::move(shared), std::move(socket)), what_(what) {}

  [[noreturn]] void run() {
    for (;;) {
      wait();
      take_descriptors();
      answer(static_cast<Call>(header().kind));
    }
  }

 private:
  void answer(Call kind) const {
    if (what_ == "others" && kind == Call::init) {
      Writer identity;
      identity.put_text("identity");
      ask(Answer::open_prepared, identity);
    } else if (what_ == "others") {
      ask_for_others();
    } else if (what_ == "entries" && kind == Call::init) {
      Writer identity;
      identity.put_text("identity");
      for (int i = 0; i < 300; ++i) ask(Answer::open_prepared, identity);
    } else if (what_ == "code" && kind == Call::execute) {
      ask_with_directory(Answer::permit_code, {std::uint64_t{1} << 30});
    } else if (what_ == "stored" && kind == Call::execute) {
      ask_with_directory(Answer::store_prepared, {7, std::uint64_t{1} << 30});
    } else if (what_ == "text" && kind == Call::execute) {
      return send_file(file_of(20 * mib, 20 * mib, true), 20 * mib);
    } else if (what_ == "state" && kind == Call::list_state) {
      return list({512 * mib, 512 * mib, 512 * mib});
    } else if (kind == Call::list_state) {
      return list({mib});
    } else if (what_ == "longer" && kind == Call::read_state) {
      return send_part(18 * mib, 18 * mib, true);
    } else if (what_ == "hollow" && kind == Call::read_state) {
      return send_part(mib, mib / 2, true);
    } else if (what_ == "unsealed" && kind == Call::read_state) {
      return send_part(mib, mib, false);
    } else if (what_ == "whole" && kind == Call::read_state) {
      return send_part(mib, mib, true);
    }
    send(Answer::done, answer_to(kind));
  }

  /// Each question about data, and bytes for each of several entries.
  void ask_for_others() const {
    for (std::uint64_t entry = 0; entry < 4; ++entry) {
      Writer key;
      key.put_text("weight");
      ask(Answer::get_data, key);
      ask(Answer::get_tensor_layout, key);
      Writer index;
      index.put<std::uint32_t>(0);
      ask(Answer::get_key, index);
      const host::FileDescriptor bytes = file_of(16, 16, true);
      Writer stored;
      stored.put(entry);
      stored.put<std::uint64_t>(16);
      ask(Answer::store_prepared, stored, bytes.get());
    }
  }

  void ask_with_directory(Answer question, const std::vector<std::uint64_t>& numbers) const {
    Writer what;
    what.put_array(numbers.data(), numbers.size());
    const host::FileDescriptor directory(::open("/", O_RDONLY | O_CLOEXEC));
    ask(question, what, directory.get());
  }

  void list(const std::vector<std::uint64_t>& sizes) const {
    Writer to = answer_to(Call::destroy);
    to.put<std::uint64_t>(sizes.size());
    for (const std::uint64_t size : sizes) {
      to.put_text("part");
      to.put(size);
    }
    send(Answer::done, to);
  }

  /// The answer to `read_state`: a part of `size` bytes.
  void send_part(std::size_t size, std::size_t held, bool is_sealed) const {
    Writer head = answer_to(Call::destroy);
    head.put<std::uint64_t>(size);
    const std::size_t whole = head.size() + size;
    host::FileDescriptor file = file_of(whole, held == size ? whole : held, false);
    static_cast<void>(write_all(file.get(), head.bytes(), 0));
    if (is_sealed)
      static_cast<void>(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE));
    send_file(std::move(file), whole);
  }
  void send_file(host::FileDescriptor file, std::size_t size) const {
    send(Answer::done, {}, file.get(), size);
  }

  std::string_view what_;
};

int serve(int socket, bool) {
  const char* const what = std::getenv("TENON_TEST_ASKS");
  if (!what) return EXIT_FAILURE;
  return tenon::test::serve_lanes(
      socket, [&](Mapping shared, host::FileDescriptor ends, const host::FileDescriptor&) {
        return new AskingLane(std::move(shared), std::move(ends), what);
      });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return supervise({argv[2], {argv + 3, argv + argc}}, &serve);
}
