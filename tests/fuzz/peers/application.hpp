// SPDX-License-Identifier: MIT
//
// The parts of an application that an isolated plugin sees, for the target `worker_messages`: a
// host, programs, arguments. Each is a block of its own while it may be used and freed afterwards,
// so that AddressSanitizer sees a use of it after that; callbacks read each byte that they are
// given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/peers/bytes.hpp"
#include "fuzz/peers/choices.hpp"
#include "fuzz/peers/system.hpp"
#include "fuzz/peers/worker_peer.hpp"
#include "tenon/abi/tenon.h"
#include "tenon/host/loader/plugin/tensor_storage.hpp"

namespace tenon::fuzz {

/// The application's host, with the extensions of a host that cross to a worker.
class FuzzHost : public tenon_host {
 public:
  explicit FuzzHost(bool has_extensions);

  /// The context of the `init` that is going on; null outside of one.
  const tenon_init_context* init = nullptr;
  std::uint32_t cancel_flag = 0;
  bool has_flag = false;
  bool has_pool = false;

 private:
  static FuzzHost& of(const tenon_host* host) noexcept {
    return *const_cast<FuzzHost*>(static_cast<const FuzzHost*>(host));
  }
  struct Prepared;
  static const void* find(const tenon_host* host, const char* id);
};

/// A program: its blob, its data by name, a tracer. Freed with its last delegate.
class Program {
 public:
  Program(FuzzHost& host, Choices& choices, std::function<void()> in_between);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();

  tenon_init_context context{};

 private:
  struct Map;
  struct Tracer;
  std::unique_ptr<Map> map_;
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<tenon_buffer> blob_;
  std::unique_ptr<char[]> bytes_;
  tenon_option option_{};
  tenon_compile_spec spec_{};
  tenon_scheduling hints_{};
};

/// A tracer that may be used while it is there.
std::unique_ptr<tenon_tracer> make_tracer();

/// The arguments of the calls of one delegate or kernel.
class CallArguments {
 public:
  CallArguments(Choices& choices, std::vector<void*> blocks);
  CallArguments(const CallArguments&) = delete;
  CallArguments& operator=(const CallArguments&) = delete;
  ~CallArguments();

  [[nodiscard]] tenon_value* const* data() const noexcept { return pointers_.data(); }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(pointers_.size());
  }
  /// What a worker's answer is about.
  [[nodiscard]] WorkerPeer::Arguments expected() const;
  /// As an application between two runs: bytes elsewhere, other sizes.
  void change(Choices& choices);
  /// Aborts when a run changed what it may not change. A kernel's run, `takes_views`, may make
  /// views.
  void check(bool takes_views) const;

 private:
  struct Tensor;
  struct Value;
  Value& add(std::uint32_t kind);
  void fill(Value& value, Choices& choices, int depth);

  std::vector<std::unique_ptr<Value>> values_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<tenon_value*> pointers_;
  std::vector<void*> blocks_;
};

}  // namespace tenon::fuzz
