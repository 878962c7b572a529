// SPDX-License-Identifier: MIT
#include "driver/kept_process.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace opencl_backend {
namespace {

std::map<std::string, std::string> variables() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const std::size_t end = text.find('=');
    if (end != std::string_view::npos) out.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return out;
}

}  // namespace

KeptProcess::KeptProcess() : environment_(variables()) {
  for (int number = 1; number < NSIG; ++number) {
    Signal signal{number, {}};
    if (::sigaction(number, nullptr, &signal.action) == 0) signals_.push_back(signal);
  }
}

KeptProcess::~KeptProcess() {
  for (const Signal& signal : signals_) {
    struct sigaction now{};
    if (::sigaction(signal.number, nullptr, &now) == 0 &&
        now.sa_sigaction != signal.action.sa_sigaction) {
      static_cast<void>(::sigaction(signal.number, &signal.action, nullptr));
    }
  }
  for (const auto& [name, value] : variables()) {
    if (!environment_.contains(name)) static_cast<void>(::unsetenv(name.c_str()));
  }
  for (const auto& [name, value] : environment_) {
    const char* const now = std::getenv(name.c_str());
    if (!now || value != now) static_cast<void>(::setenv(name.c_str(), value.c_str(), 1));
  }
}

}  // namespace opencl_backend
