// SPDX-License-Identifier: MIT
//
// A worker that breaks the protocol. It runs no plugin: it answers each call as a worker would
// whose plugin has all extensions, and now and then, by the numbers in the variable
// TENON_TEST_HOSTILE ("attack seed"), does something that no worker does.
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "boundary/descriptors.hpp"
#include "boundary/lane.hpp"
#include "boundary/messages.hpp"
#include "boundary/protocol.hpp"
#include "hostile.hpp"
#include "tenon/abi/tenon.h"
#include "test_lane.hpp"
#include "worker/supervisor.hpp"

namespace {

using namespace tenon;
using namespace tenon::isolated;
using tenon::test::Attack;

/// Waits for the first call of a lane, and leaves its turn as no worker does. What is not answered
/// is not answered later either.
[[noreturn]] void break_turn(LaneHeader& header, int file, std::uint32_t how) {
  while (header.turn.load() != static_cast<std::uint32_t>(Turn::worker)) pause_shortly();
  const auto mine = static_cast<std::uint32_t>(Turn::application);
  const auto wake = [&] {
    ::syscall(SYS_futex, &header.turn, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  };
  const auto leave = [&](std::uint32_t turn) {
    header.turn.store(turn);
    wake();
  };
  const auto answer = [&](std::uint32_t kind, std::uint64_t size, std::uint32_t is_attached,
                          std::uint32_t num_descriptors) {
    header.kind = kind;
    header.size = size;
    header.is_attached = is_attached;
    header.num_descriptors = num_descriptors;
    leave(mine);
  };
  const auto for_ever = [](const auto& action) {
    for (;;) action();
  };
  constexpr auto done = static_cast<std::uint32_t>(Answer::done);
  switch (how) {
    case 0:  // A word that is no turn, and no sleeper is woken.
      header.turn.store(2);
      break;
    case 1:
      leave(2);
      break;
    case 2:
      leave(UINT32_MAX);
      break;
    case 3:
      leave(0x80000000u);
      break;
    case 4:  // The turn alone: the message is the application's own.
      leave(mine);
      break;
    case 5:
      answer(0, 0, 0, 0);
      break;
    case 6:
      answer(UINT32_MAX, 8, 0, 0);
      break;
    case 7:
      answer(done, lane_message_size + 1, 0, 0);
      break;
    case 8:
      answer(done, UINT64_MAX, 1, 0);
      break;
    case 9:  // Descriptors that are not sent.
      answer(done, 0, 0, 1);
      break;
    case 10:
      answer(done, 0, 0, UINT32_MAX);
      break;
    case 11:  // No answer, and the application is said to be awake.
      for_ever([&] { header.application_sleeps.store(0); });
      break;
    case 12:
      for_ever([&] {
        header.application_sleeps.store(1);
        header.worker_sleeps.store(1);
      });
      break;
    case 13:
      header.worker_sleeps.store(UINT32_MAX);
      break;
    case 14:  // Woken for nothing.
      for_ever(wake);
      break;
    case 15:
      for_ever([&] {
        leave(2);
        leave(static_cast<std::uint32_t>(Turn::worker));
      });
      break;
    case 16:
      header.kind = 0;
      for_ever([&] {
        leave(mine);
        leave(static_cast<std::uint32_t>(Turn::worker));
      });
      break;
    case 17:
      for_ever([&] { leave(static_cast<std::uint32_t>(Turn::worker)); });
      break;
    case 18:  // A sleeper is moved to a word that does not change.
      for_ever([&] {
        ::syscall(SYS_futex, &header.turn, FUTEX_REQUEUE, 0, INT_MAX, &header.cancel_flag, 0);
      });
      break;
    case 19:  // No wake, and garbage.
      header.application_sleeps.store(0);
      header.kind = done;
      header.size = 3;
      header.turn.store(mine);
      break;
    case 20:  // A question, and the next one before its answer.
      header.kind = static_cast<std::uint32_t>(Answer::log);
      header.size = 0;
      for_ever([&] { leave(mine); });
      break;
    case 21:  // A hole where the lane was.
      ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                  static_cast<off_t>(lane_size));
      break;
    case 22:
      for_ever([&] { header.cancel_flag.store(UINT32_MAX); });
      break;
    case 23:
      header.turn.store(3);
      ::_exit(3);
    default:
      ::kill(::getpid(), SIGSTOP);
      break;
  }
  for_ever([] { ::pause(); });
  std::abort();
}

class HostileLane : public tenon::test::TestLane {
 public:
  HostileLane(Mapping shared, host::FileDescriptor socket, host::FileDescriptor file, Attack attack,
              std::uint32_t seed)
      : TestLane(std::move(shared), std::move(socket)),
        file_(std::move(file)),
        attack_(attack),
        random_(seed + static_cast<std::uint32_t>(::getpid())),
        turn_(seed) {}

  [[noreturn]] void run() {
    if (static_cast<std::uint32_t>(attack_) == test::turns)
      break_turn(header(), file_.get(), turn_);
    for (;;) {
      wait();
      const auto kind = static_cast<Call>(header().kind);
      if (kind == Call::init) std::memcpy(&delegate_, message(), sizeof delegate_);
      take_descriptors();
      Writer answer = answer_to(kind);
      // Not at each call: later ones are to be reached, too.
      if (static_cast<std::uint32_t>(attack_) < test::num_attacks && pick(4) == 0) {
        attack(answer);
      } else {
        send(static_cast<std::uint32_t>(Answer::done), answer);
      }
    }
  }

 private:
  std::uint64_t pick(std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
  }
  /// Numbers that are at the edge of something.
  std::uint64_t odd_number() {
    const std::uint64_t some[] = {0,
                                  1,
                                  3,
                                  64,
                                  lane_message_size - 1,
                                  lane_message_size + 1,
                                  0x7fffffff,
                                  0xffffffff,
                                  std::uint64_t{1} << 40,
                                  INT64_MAX,
                                  std::uint64_t{1} << 63,
                                  UINT64_MAX - 7,
                                  UINT64_MAX,
                                  pick(UINT64_MAX)};
    return some[pick(std::size(some))];
  }

  void send(std::uint32_t kind, const Writer& what) const {
    TestLane::send(static_cast<Answer>(kind), what);
  }

  Writer random_bytes(std::size_t most) {
    Writer out;
    for (std::uint64_t i = pick(most); i > 0; --i) out.put(static_cast<std::uint8_t>(pick(256)));
    return out;
  }

  void attack(const Writer& answer) {
    const auto done = static_cast<std::uint32_t>(Answer::done);
    switch (attack_) {
      case Attack::garbage:
        return send(done, random_bytes(300));
      case Attack::cut: {
        Writer out;
        const auto bytes = answer.bytes();
        out.put_array(bytes.data(), static_cast<std::size_t>(pick(bytes.size() + 1)));
        return send(done, out);
      }
      case Attack::flipped: {
        std::vector<std::byte> bytes(answer.bytes().begin(), answer.bytes().end());
        for (std::uint64_t i = 1 + pick(4); i > 0 && !bytes.empty(); --i) {
          bytes[static_cast<std::size_t>(pick(bytes.size()))] ^=
              static_cast<std::byte>(1u << pick(8));
        }
        Writer out;
        out.put_array(bytes.data(), bytes.size());
        return send(done, out);
      }
      case Attack::numbers: {
        std::vector<std::byte> bytes(answer.bytes().begin(), answer.bytes().end());
        const std::uint64_t number = odd_number();
        const std::size_t size = std::min<std::size_t>(8, bytes.size());
        const auto at = static_cast<std::size_t>(pick(bytes.size() - size + 1));
        std::memcpy(bytes.data() + at, &number, size);
        Writer out;
        out.put_array(bytes.data(), bytes.size());
        for (std::uint64_t i = pick(4); i > 0; --i) out.put(odd_number());
        return send(done, out);
      }
      case Attack::kinds:
        return send(static_cast<std::uint32_t>(pick(2) == 0 ? pick(320) : odd_number()), answer);
      case Attack::sizes:
        header().kind = done;
        header().size = odd_number();
        header().is_attached = static_cast<std::uint32_t>(pick(2));
        header().num_descriptors = static_cast<std::uint32_t>(pick(2) == 0 ? 0 : odd_number());
        return give();
      case Attack::descriptors:
        return send_descriptors();
      case Attack::questions:
        for (std::uint64_t i = 1 + pick(8); i > 0; --i) ask_something();
        return send(done, answer);
      case Attack::views:
        return send_views();
      case Attack::races:
        begin_to_scribble();
        return send(done, answer);
      case Attack::crashes:
        for (std::size_t i = 0; i < sizeof(Crash); ++i) {
          reinterpret_cast<std::byte*>(&header().crash)[i] = static_cast<std::byte>(pick(256));
        }
        ::_exit(static_cast<int>(pick(256)));
      case Attack::endless:
        for (;;) {
          Writer line;
          line.put<std::int32_t>(TENON_LOG_DEBUG);
          line.put_text("and on");
          ask(Answer::log, line);
        }
      case Attack::untaken:
        for (int i = 0; i < 2000; ++i) {
          Writer what;
          what.put(delegate_);
          what.put<std::uint32_t>(0);
          what.put_text("weight");
          send(static_cast<std::uint32_t>(Answer::get_data), what);
          wait();
        }
        return send(done, answer);
    }
  }

  /// Descriptors of all kinds, and other numbers of them than are announced.
  void send_descriptors() {
    const int file = static_cast<int>(pick(7));
    host::FileDescriptor sent;
    std::uint64_t size = 4096;
    int ends[2] = {-1, -1};
    switch (file) {
      case 0:
        sent = host::FileDescriptor(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
        break;
      case 1:
        sent = host::FileDescriptor(::open("/", O_RDONLY | O_CLOEXEC));
        break;
      case 2:
        static_cast<void>(::pipe2(ends, O_CLOEXEC));
        sent = host::FileDescriptor(ends[0]);
        break;
      default:
        sent = host::FileDescriptor(::memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        // Smaller than it says, larger than it may be, all holes.
        size = file == 3 ? odd_number() : file == 4 ? std::uint64_t{1} << 36 : 65536;
        static_cast<void>(::ftruncate(sent.get(), file == 4 ? std::int64_t{1} << 36 : 65536));
        if (file > 4) {
          // All holes, or whole.
          const std::vector<std::byte> bytes(file == 5 ? 0 : 65536);
          static_cast<void>(write_all(sent.get(), bytes, 0));
          static_cast<void>(::fcntl(sent.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK));
        }
    }
    const int numbers[] = {sent.get(), sent.get(), sent.get(), sent.get()};
    const std::byte byte{};
    const auto count = static_cast<std::size_t>(pick(5));
    if (count != 0) {
      static_cast<void>(send_message(socket(), {&byte, 1}, {numbers, count}));
    }
    if (ends[1] >= 0) ::close(ends[1]);
    header().kind = static_cast<std::uint32_t>(Answer::done);
    header().size = size;
    header().is_attached = static_cast<std::uint32_t>(pick(3) != 0);
    header().num_descriptors = static_cast<std::uint32_t>(pick(2) == 0 ? count : pick(6));
    give();
  }

  void ask_something() {
    const auto question =
        static_cast<Answer>(static_cast<std::uint32_t>(Answer::log) +
                            pick(static_cast<std::uint32_t>(Answer::take_intermediate) -
                                 static_cast<std::uint32_t>(Answer::log) + 1));
    Writer what;
    switch (pick(3)) {
      case 0:
        what = random_bytes(200);
        break;
      case 1:
        for (std::uint64_t i = pick(6); i > 0; --i) what.put(odd_number());
        break;
      default:
        put_question(question, what);
    }
    ask(question, what);
  }
  /// As a worker asks, with numbers that are wrong.
  void put_question(Answer question, Writer& what) {
    switch (question) {
      case Answer::log:
        what.put(static_cast<std::int32_t>(odd_number()));
        what.put_text(std::string(static_cast<std::size_t>(pick(5000)), '\x1b'));
        break;
      case Answer::get_data:
      case Answer::get_tensor_layout:
        what.put_text(pick(2) == 0 ? "weight" : std::string_view("\0\xff/..", 5));
        break;
      case Answer::get_key:
        what.put(static_cast<std::uint32_t>(odd_number()));
        break;
      case Answer::open_prepared:
        what.put_text("identity");
        break;
      case Answer::take_intermediate: {
        what.put(pick(2) == 0 ? std::int64_t{5} : static_cast<std::int64_t>(odd_number()));
        what.put(static_cast<std::int32_t>(pick(40)));
        const std::uint64_t rank = pick(5);
        what.put(rank);
        for (std::uint64_t i = 0; i < rank; ++i) what.put(pick(2) == 0 ? pick(4) : odd_number());
        for (std::uint64_t i = 0; i < rank; ++i)
          what.put(static_cast<std::uint8_t>(pick(rank + 1)));
        what.put_text(std::string(static_cast<std::size_t>(pick(64)), 'x'));
        break;
      }
      case Answer::permit_code:
        what.put(odd_number());
        break;
      default:
        what.put(pick(2) == 0 ? pick(4) : odd_number());
        if (question == Answer::store_prepared) what.put(odd_number());
    }
  }

  /// An answer to `execute` with sizes and views of its own.
  void send_views() {
    Writer to;
    to.put<tenon_status>(TENON_STATUS_OK);
    to.put_text("");
    to.put<std::uint64_t>(0);
    to.put<std::uint64_t>(3);
    for (int i = 0; i < 3; ++i) {
      const auto changes = static_cast<std::uint8_t>(pick(4));
      to.put(changes);
      if ((changes & tensor_is_resized) != 0) {
        for (int k = 0; k < 2; ++k) to.put(pick(2) == 0 ? pick(8) : odd_number());
      }
      if ((changes & tensor_is_view) != 0) {
        to.put(pick(2) == 0 ? pick(4) : odd_number());
        to.put(pick(2) == 0 ? pick(32) : odd_number());
      }
    }
    to.put<std::uint64_t>(0);
    send(static_cast<std::uint32_t>(Answer::done), to);
  }

  /// Changes what is shared while the application reads it, from now on.
  void begin_to_scribble() {
    if (std::exchange(scribbles_, true)) return;
    std::thread([this, random = std::mt19937_64(random_())]() mutable {
      for (;;) {
        auto* const words =
            reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(&header()));
        const std::uint64_t number = random();
        // Not the turn and who sleeps, which are tried by `races` of their own.
        constexpr std::size_t first = offsetof(LaneHeader, kind) / sizeof(std::uint32_t);
        constexpr std::size_t last = offsetof(LaneHeader, crash) / sizeof(std::uint32_t);
        const bool is_header = number % 4 == 0;
        const std::size_t at = is_header
                                   ? first + static_cast<std::size_t>(random() % (last - first))
                                   : lane_message_offset / sizeof(std::uint32_t) + random() % 64;
        __atomic_store_n(words + at, static_cast<std::uint32_t>(number >> 32), __ATOMIC_RELAXED);
      }
    }).detach();
  }

  host::FileDescriptor file_;  ///< Of the lane.
  Attack attack_;
  std::mt19937_64 random_;
  std::uint32_t turn_;  ///< The number of the way to leave it.
  bool scribbles_ = false;
  std::uint64_t delegate_ = 0;  ///< The delegate that was loaded last.
};

int serve_badly(int socket, bool) {
  const char* const variable = std::getenv("TENON_TEST_HOSTILE");
  std::uint32_t attack = 0;
  std::uint32_t seed = 0;
  if (!variable || std::sscanf(variable, "%u %u", &attack, &seed) != 2) return EXIT_FAILURE;
  std::uint32_t num_lanes = 0;
  return tenon::test::serve_lanes(socket, [&](Mapping shared, host::FileDescriptor ends,
                                              host::FileDescriptor file) {
    // Another sequence in each lane; the process adds its number.
    const std::uint32_t lane_seed = attack == test::turns ? seed : seed + 747796405u * num_lanes++;
    auto* const lane = new HostileLane(std::move(shared), std::move(ends), std::move(file),
                                       static_cast<Attack>(attack), lane_seed);
    // In this thread, which takes no further lane.
    if (attack == test::no_lanes) lane->run();
    return lane;
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return supervise({argv[2], {argv + 3, argv + argc}}, &serve_badly);
}
