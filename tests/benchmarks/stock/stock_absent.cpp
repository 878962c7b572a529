// SPDX-License-Identifier: MIT
#include "stock.hpp"

namespace tenon::bench::stock {
namespace {

[[noreturn]] void absent() {
  throw Failure("this benchmark was built without the ExecuTorch wheel");
}

}  // namespace

bool present() { return false; }
OneThread::OneThread() : before_(false) { absent(); }
OneThread::~OneThread() { static_cast<void>(before_); }
Work execute(const std::string&) { absent(); }
Work load(const std::string&, Loader) { absent(); }
Work open(const std::string&, Verification) { absent(); }
Work look_up(Name) { absent(); }
std::size_t registry_size() { absent(); }

}  // namespace tenon::bench::stock
