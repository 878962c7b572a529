// SPDX-License-Identifier: MIT
#include "sandbox/filter.hpp"

#include <linux/seccomp.h>

#include <set>
#include <string>
#include <string_view>

#include "sandbox/system_call_names.hpp"
#include "sandbox/system_calls.hpp"
#include "sandbox/violations.hpp"
#include "support/catch.hpp"

namespace tenon::isolated { namespace {

// Calls of x86-64 alone, of arm64 alone, and of kernels that the headers of the build may not know.
constexpr std::string_view of_one_architecture =
    " access alarm arch_prctl chmod chown creat create_module epoll_create epoll_wait eventfd fork "
    "futimesat getdents getpgrp getrlimit inotify_init ioperm iopl lchown link lookup_dcookie "
    "lstat "
    "mkdir mknod modify_ldt newfstatat nfsservctl open pause pipe poll readlink rename renameat "
    "rmdir "
    "select signalfd stat symlink time unlink uselib ustat utime utimes vfork dup2 "
    "fchmodat2 futex_waitv quotactl_fd set_mempolicy_home_node memfd_secret process_mrelease ";

TEST_CASE("each call of the table has one answer, and its name is spelled as the kernel's",
          "[filter]") {
  std::set<std::string> seen;
  for (const SystemCallGroup& group : system_call_groups) {
    std::string_view names = group.names;
    while (!names.empty()) {
      const std::string name(names.substr(0, names.find(' ')));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      INFO(name);
      CHECK(seen.insert(name).second);
      CHECK((system_call_number(name) ||
             of_one_architecture.find(' ' + name + ' ') != std::string_view::npos));
    }
  }
  for (const SystemCallCondition& condition : system_call_conditions) {
    INFO(condition.call);
    CHECK(seen.contains(std::string(condition.call)));
  }
}

TEST_CASE("what strict allows, driver allows, and so does open", "[filter]") {
  const auto allows = [](Answer answer) {
    return answer == Answer::allow || answer == Answer::open || answer == Answer::mask;
  };
  for (const SystemCallGroup& group : system_call_groups) {
    INFO(group.names);
    CHECK((!allows(group.strict) || allows(group.driver)));
    CHECK((!allows(group.driver) || allows(group.open)));
  }
}

TEST_CASE("a filter is a program that the kernel accepts in size, and ends with a verdict",
          "[filter]") {
  for (const Profile profile : {Profile::open, Profile::driver, Profile::strict}) {
    const auto code = make_filter({.profile = profile, .process = 1});
    CHECK(code.size() < BPF_MAXINSNS);
    CHECK(code.back().code == (BPF_RET | BPF_K));
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (BPF_CLASS(code[i].code) != BPF_JMP) continue;
      CHECK(i + 1 + code[i].jt < code.size());
      CHECK(i + 1 + code[i].jf < code.size());
    }
  }
}

TEST_CASE("what a worker wrote is read whatever it is", "[filter]") {
  static Violations shared;
  std::fill_n(reinterpret_cast<unsigned char*>(&shared), sizeof shared,
              static_cast<unsigned char>(0xa5));
  CHECK(read_violations(shared).empty());
  for (Violations::Entry& entry : shared.entries) entry.state = 2;
  shared.entries[0].path.fill('\x1b');
  const auto found = read_violations(shared);
  REQUIRE(found.size() == Violations::max_entries);
  CHECK(found[0].path.size() == 256);
  CHECK_THAT(describe(found[0]), ContainsSubstring("of another architecture of \\x1b\\x1b"));
}

}}  // namespace tenon::isolated
