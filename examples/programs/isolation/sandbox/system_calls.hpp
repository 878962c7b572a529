// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sandbox/profile.hpp"

namespace tenon::isolated {

/// The reply to a system call of a worker.
enum class Answer : std::uint8_t {
  /// The kernel does it.
  allow,
  /// Made by the handler of SIGSYS, which records the path when the kernel refuses it.
  open,
  /// rt_sigprocmask: done by the handler, which keeps SIGSYS out of the mask.
  mask,
  /// EPERM, and recorded: for what libraries ask for and do without.
  refuse,
  /// ENOSYS, not recorded: the C library has another way, whose arguments a filter can see.
  absent,
  /// Recorded, and the process ends.
  end,
};

/// Calls that are answered alike. What is in no group ends the process in `strict` and `driver`,
/// and is allowed in `open`.
struct SystemCallGroup {
  /// Separated by spaces. Names that an architecture does not have count for nothing there.
  std::string_view names;
  Answer open;
  Answer driver;
  Answer strict;

  [[nodiscard]] constexpr Answer of(Profile profile) const noexcept {
    if (profile == Profile::open) return open;
    return profile == Profile::driver ? driver : strict;
  }
};

/// The filter of a worker. `measured/calls.md` has what the example plugins call; the rest of what
/// is allowed are calls of the same kind that only other versions of the C library make.
inline constexpr SystemCallGroup system_call_groups[] = {
    // Memory of the process. Memory that can be written and executed is allowed: oneDNN, and so
    // CpuAotiBackend and OpenVINO, make their kernels in it.
    {"brk mmap munmap mprotect mremap madvise mincore msync mlock mlock2 munlock mlockall "
     "munlockall membarrier mbind get_mempolicy set_mempolicy set_mempolicy_home_node pkey_alloc "
     "pkey_free pkey_mprotect memfd_create",
     Answer::allow, Answer::allow, Answer::allow},
    // Threads. The arguments of clone3 are in memory, which a filter cannot see.
    {"exit exit_group futex futex_waitv set_robust_list get_robust_list set_tid_address rseq "
     "arch_prctl sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_getattr "
     "sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_setaffinity getcpu "
     "restart_syscall wait4 waitid",
     Answer::allow, Answer::allow, Answer::allow},
    {"clone", Answer::allow, Answer::allow, Answer::allow},
    {"clone3", Answer::absent, Answer::absent, Answer::absent},
    // Signals.
    {"rt_sigaction rt_sigreturn sigaltstack rt_sigpending rt_sigsuspend rt_sigtimedwait pause "
     "signalfd signalfd4 kill tgkill rt_tgsigqueueinfo",
     Answer::allow, Answer::allow, Answer::allow},
    {"rt_sigprocmask", Answer::allow, Answer::mask, Answer::mask},
    {"tkill rt_sigqueueinfo", Answer::allow, Answer::refuse, Answer::refuse},
    // Time.
    {"clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time times timer_create "
     "timer_settime timer_gettime timer_delete timer_getoverrun timerfd_create timerfd_settime "
     "timerfd_gettime getitimer setitimer alarm",
     Answer::allow, Answer::allow, Answer::allow},
    // Questions about the process and the system.
    {"getpid getppid gettid getpgrp getpgid getsid getuid geteuid getgid getegid getgroups "
     "getresuid getresgid capget getrusage getrlimit prlimit64 getpriority ioprio_get getrandom "
     "uname sysinfo getcwd umask prctl",
     Answer::allow, Answer::allow, Answer::allow},
    // Descriptors that are open.
    {"read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 close close_range "
     "dup dup2 dup3 fcntl lseek fstat fstatfs ftruncate fallocate fsync fdatasync sync_file_range "
     "fadvise64 flock poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait "
     "epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2 sendfile splice tee copy_file_range "
     "readahead getdents getdents64 ioctl",
     Answer::allow, Answer::allow, Answer::allow},
    // Sockets that were given; no datagram socket may be.
    {"recvfrom recvmsg sendto sendmsg shutdown getsockopt getsockname getpeername", Answer::allow,
     Answer::allow, Answer::allow},
    // Files by name: Landlock decides which. Whether a file exists is no secret.
    {"open openat", Answer::allow, Answer::open, Answer::open},
    {"openat2", Answer::allow, Answer::absent, Answer::absent},
    {"stat lstat newfstatat statx access faccessat faccessat2 readlink readlinkat statfs",
     Answer::allow, Answer::allow, Answer::allow},
    // Directories that a driver may write to: Landlock decides which.
    {"creat mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink "
     "symlinkat chdir fchdir",
     Answer::allow, Answer::allow, Answer::refuse},
    // What Landlock does not decide.
    {"chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat "
     "utimensat "
     "truncate mknod mknodat setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr "
     "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr sync syncfs inotify_init "
     "inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark",
     Answer::allow, Answer::refuse, Answer::refuse},
    // CUDA's driver does not start without a socket on which other processes of it would ask for
    // memory (CUDA_ERROR_OPERATING_SYSTEM of cuInit, version 580). Nothing can be sent from it
    // without connect; Landlock lets no name of a file be bound.
    {"socket bind listen accept accept4 setsockopt", Answer::allow, Answer::allow, Answer::refuse},
    // The network, and other processes by names that they share.
    {"socketpair connect sendmmsg recvmmsg shmget shmat shmdt shmctl semget semop semtimedop "
     "semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify "
     "mq_getsetattr",
     Answer::allow, Answer::refuse, Answer::refuse},
    // Priorities and limits, other groups of processes.
    {"sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set setrlimit setsid "
     "setpgid personality",
     Answer::allow, Answer::refuse, Answer::refuse},
    // Large parts of the kernel that libraries try and do without.
    {"io_uring_setup io_uring_enter io_uring_register userfaultfd perf_event_open seccomp "
     "landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret move_pages "
     "migrate_pages",
     Answer::refuse, Answer::refuse, Answer::refuse},
    // Other programs: `SandboxOptions::programs` lets a driver start some.
    {"fork vfork execve execveat", Answer::allow, Answer::end, Answer::end},
    // Other processes, more privileges, the kernel.
    {"ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_open "
     "pidfd_getfd pidfd_send_signal name_to_handle_at open_by_handle_at keyctl add_key request_key "
     "bpf lookup_dcookie mount umount2 move_mount open_tree fsopen fsconfig fsmount fspick "
     "mount_setattr pivot_root chroot unshare setns acct quotactl quotactl_fd swapon swapoff "
     "reboot "
     "kexec_load kexec_file_load init_module finit_module delete_module create_module "
     "settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname syslog vhangup "
     "iopl ioperm modify_ldt uselib ustat nfsservctl",
     Answer::end, Answer::end, Answer::end},
};

/// The answer of the table to `call`, without the conditions below.
[[nodiscard]] constexpr Answer answer_of(std::string_view call, Profile profile) noexcept {
  for (const SystemCallGroup& group : system_call_groups) {
    std::string_view names = group.names;
    while (!names.empty()) {
      const std::size_t end = names.find(' ');
      if (names.substr(0, end) == call) return group.of(profile);
      names = end == std::string_view::npos ? std::string_view() : names.substr(end + 1);
    }
  }
  return profile == Profile::open ? Answer::allow : Answer::end;
}

/// Whether a condition holds in `open`.
enum class InOpen : std::uint8_t {
  no,
  yes,
  unscoped,  ///< Where Landlock does not keep signals back.
};

/// A call that a group allows, and that is answered otherwise when an argument is another one.
struct SystemCallCondition {
  std::string_view call;
  /// Of the profiles, which.
  InOpen open;
  bool driver;
  bool strict;
  Answer otherwise;
  /// Number of the argument, from 0, and its bits that count.
  std::uint8_t argument;
  std::uint64_t mask;
  /// Whether the argument must be one of `values`, or none of them.
  bool is_one_of;
  std::uint8_t count;
  std::uint32_t values[12];

  [[nodiscard]] constexpr bool applies_to(Profile profile, bool signals_are_scoped) const noexcept {
    if (profile == Profile::open) {
      return open == InOpen::yes || (open == InOpen::unscoped && !signals_are_scoped);
    }
    return profile == Profile::driver ? driver : strict;
  }
};

/// In place of the number of the process in `SystemCallCondition::values`.
inline constexpr std::uint32_t own_process = 0xffffffff;

inline constexpr std::uint64_t low_half = 0xffffffff;
inline constexpr std::uint64_t all_bits = ~std::uint64_t{0};
// CLONE_THREAD, and all of CLONE_NEW that clone takes (linux/sched.h).
inline constexpr std::uint32_t clone_thread = 0x00010000;
inline constexpr std::uint32_t clone_namespaces = 0x7e020000;

/// All conditions of a call must hold.
inline constexpr SystemCallCondition system_call_conditions[] = {
    {"clone", InOpen::no, true, true, Answer::end, 0, clone_thread, true, 1, {clone_thread}},
    {"clone", InOpen::yes, true, true, Answer::end, 0, clone_namespaces, true, 1, {0}},
    // The handler of SIGSYS stays.
    {"rt_sigaction", InOpen::yes, true, true, Answer::refuse, 0, low_half, false, 1, {31}},
    {"kill", InOpen::no, true, true, Answer::end, 0, low_half, true, 1, {own_process}},
    {"tgkill", InOpen::no, true, true, Answer::end, 0, low_half, true, 1, {own_process}},
    {"rt_tgsigqueueinfo", InOpen::no, true, true, Answer::end, 0, low_half, true, 1, {own_process}},
    // Limits (an RLIMIT_CPU of 0 ends a process), processors and priorities of other processes. The
    // filter does not know the numbers of the worker's threads: a thread changes its own alone.
    {"sched_setaffinity",
     InOpen::yes,
     true,
     true,
     Answer::refuse,
     0,
     low_half,
     true,
     2,
     {0, own_process}},
    {"prlimit64", InOpen::yes, true, true, Answer::refuse, 0, low_half, true, 2, {0, own_process}},
    {"sched_setscheduler",
     InOpen::yes,
     false,
     false,
     Answer::refuse,
     0,
     low_half,
     true,
     2,
     {0, own_process}},
    {"sched_setparam",
     InOpen::yes,
     false,
     false,
     Answer::refuse,
     0,
     low_half,
     true,
     2,
     {0, own_process}},
    {"sched_setattr",
     InOpen::yes,
     false,
     false,
     Answer::refuse,
     0,
     low_half,
     true,
     2,
     {0, own_process}},
    // PRIO_PROCESS and IOPRIO_WHO_PROCESS: neither a group nor all of a user.
    {"setpriority", InOpen::yes, false, false, Answer::refuse, 0, low_half, true, 1, {0}},
    {"setpriority",
     InOpen::yes,
     false,
     false,
     Answer::refuse,
     1,
     low_half,
     true,
     2,
     {0, own_process}},
    {"ioprio_set", InOpen::yes, false, false, Answer::refuse, 0, low_half, true, 1, {1}},
    {"ioprio_set",
     InOpen::yes,
     false,
     false,
     Answer::refuse,
     1,
     low_half,
     true,
     2,
     {0, own_process}},
    // PR_SCHED_CORE, which takes the number of a process.
    {"prctl", InOpen::yes, false, false, Answer::refuse, 0, low_half, false, 1, {62}},
    {"kill", InOpen::unscoped, false, false, Answer::refuse, 0, low_half, true, 1, {own_process}},
    {"tkill", InOpen::unscoped, false, false, Answer::refuse, 0, low_half, true, 1, {own_process}},
    {"tgkill", InOpen::unscoped, false, false, Answer::refuse, 0, low_half, true, 1, {own_process}},
    {"rt_sigqueueinfo",
     InOpen::unscoped,
     false,
     false,
     Answer::refuse,
     0,
     low_half,
     true,
     1,
     {own_process}},
    {"rt_tgsigqueueinfo",
     InOpen::unscoped,
     false,
     false,
     Answer::refuse,
     0,
     low_half,
     true,
     1,
     {own_process}},
    // F_SETOWN, F_SETOWN_EX.
    {"fcntl", InOpen::unscoped, false, false, Answer::refuse, 1, low_half, false, 2, {8, 15}},
    // Asked, not set.
    {"prlimit64", InOpen::no, true, true, Answer::refuse, 2, all_bits, true, 1, {0}},
    {"sendto", InOpen::no, true, true, Answer::end, 4, all_bits, true, 1, {0}},
    // AF_UNIX and SOCK_SEQPACKET.
    {"socket", InOpen::no, true, false, Answer::refuse, 0, all_bits, true, 1, {1}},
    {"socket", InOpen::no, true, false, Answer::refuse, 1, 0xf, true, 1, {5}},
    // Of SOL_SOCKET, SO_REUSEADDR, SO_PASSCRED, SO_RCVTIMEO and SO_SNDTIMEO.
    {"setsockopt", InOpen::no, true, false, Answer::refuse, 1, low_half, true, 1, {1}},
    {"setsockopt", InOpen::no, true, false, Answer::refuse, 2, low_half, true, 4, {2, 16, 20, 21}},
    // PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ,
    // PR_GET_TIMERSLACK, PR_GET_NO_NEW_PRIVS, PR_SET_VMA (names of memory).
    {"prctl",
     InOpen::no,
     true,
     true,
     Answer::refuse,
     0,
     low_half,
     true,
     9,
     {2, 3, 15, 16, 21, 23, 30, 39, 0x53564d41}},
    // Signals to other processes by a descriptor: F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE,
    // F_NOTIFY. F_SETPIPE_SZ: the pages of all pipes of a user are counted together.
    {"fcntl",
     InOpen::no,
     true,
     true,
     Answer::refuse,
     1,
     low_half,
     false,
     6,
     {8, 10, 15, 1024, 1026, 1031}},
    // TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX.
    {"ioctl",
     InOpen::no,
     false,
     true,
     Answer::refuse,
     1,
     low_half,
     true,
     6,
     {0x5401, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451}},
    // What a terminal would take for typed: TIOCSTI, TIOCLINUX, TIOCSETD, and signals to other
    // processes: FIOSETOWN, SIOCSPGRP.
    {"ioctl",
     InOpen::yes,
     true,
     false,
     Answer::refuse,
     1,
     low_half,
     false,
     5,
     {0x5412, 0x541c, 0x5423, 0x8901, 0x8902}},
};

}  // namespace tenon::isolated
