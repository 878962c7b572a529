// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tenon/abi/version.h"

namespace tenon { inline namespace TENON_RELEASE { namespace aoti {

/// Runs the destructors of the thread-local objects of models.
///
/// The `__cxa_thread_atexit` of the C++ runtime keeps a library loaded until every thread that used
/// such an object has ended: a server that runs models on long-lived threads would never unload
/// one. Models get `at_exit` instead. A destructor runs when its thread ends or its model is
/// unloaded, whichever is first.
///
/// Threads: any.
class ThreadExit {
 public:
  using Destructor = void (*)(void*);

  static ThreadExit& instance() {
    static ThreadExit only;
    return only;
  }

  /// The `__cxa_thread_atexit` of models (Itanium C++ ABI, 3.3.5.2). `module` is an address inside
  /// the library.
  static int at_exit(void (*destructor)(void*), void* object, void* module) noexcept {
    try {
      instance().add({destructor, object, module});
      return 0;
    } catch (...) {
      return -1;
    }
  }

  /// Runs the remaining destructors of the library loaded at `module`. No thread may be running its
  /// code.
  void unload(std::span<const std::byte> module) noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto& thread : threads_) {
      run_if(thread->entries, [&](const Entry& entry) {
        return reinterpret_cast<std::uintptr_t>(entry.module) -
                   reinterpret_cast<std::uintptr_t>(module.data()) <
               module.size();
      });
    }
  }

  ThreadExit(const ThreadExit&) = delete;
  ThreadExit& operator=(const ThreadExit&) = delete;

 private:
  struct Entry {
    Destructor destructor;
    void* object;
    void* module;
  };
  struct Thread {
    std::vector<Entry> entries;
  };

  ThreadExit() { ::pthread_key_create(&key_, &end_thread); }
  ~ThreadExit() { ::pthread_key_delete(key_); }

  void add(const Entry& entry) {
    auto* thread = static_cast<Thread*>(::pthread_getspecific(key_));
    const std::lock_guard lock(mutex_);
    if (!thread) {
      threads_.push_back(std::make_unique<Thread>());
      thread = threads_.back().get();
      ::pthread_setspecific(key_, thread);
    }
    thread->entries.push_back(entry);
  }

  /// In reverse order of construction, as the language requires.
  template <class Condition>
  static void run_if(std::vector<Entry>& entries, Condition condition) noexcept {
    for (std::size_t i = entries.size(); i-- > 0;) {
      if (!condition(entries[i])) continue;
      const Entry entry = entries[i];
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
      entry.destructor(entry.object);
    }
  }

  /// Holds the lock, so that no library is unloaded while its destructors run here.
  static void end_thread(void* value) noexcept {
    ThreadExit& self = instance();
    const std::lock_guard lock(self.mutex_);
    auto& entries = static_cast<Thread*>(value)->entries;
    while (!entries.empty()) run_if(entries, [](const Entry&) { return true; });
    std::erase_if(self.threads_, [&](const auto& thread) { return thread.get() == value; });
  }

  pthread_key_t key_{};
  std::recursive_mutex mutex_;  // A destructor may make another thread-local object.
  std::vector<std::unique_ptr<Thread>> threads_;
};

}}}  // namespace tenon::TENON_RELEASE::aoti
