// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>
#include <map>
#include <string>
#include <vector>

namespace opencl_backend {

/// State that all of a process shares, as it was when this object was made: its destructor puts
/// back the treatment of signals and the environment. Drivers change both when they are first used:
/// the compiler in PoCL handles every signal that ends a process, in place of the application, and
/// PoCL sets a variable for a library of its own.
///
/// Threads: an application that changes the same things meanwhile loses its change, as it would to
/// the driver.
class KeptProcess {
 public:
  KeptProcess();
  KeptProcess(const KeptProcess&) = delete;
  KeptProcess& operator=(const KeptProcess&) = delete;
  ~KeptProcess();

 private:
  struct Signal {
    int number;
    struct sigaction action;
  };
  std::vector<Signal> signals_;
  std::map<std::string, std::string> environment_;
};

}  // namespace opencl_backend
