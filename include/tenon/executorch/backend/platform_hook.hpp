// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>
#include <executorch/runtime/platform/platform.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "tenon/abi/plugin.h"
#include "tenon/executorch/backend/bridged_call.hpp"

namespace tenon { inline namespace TENON_RELEASE { namespace bridge::detail {

/// One plugin's part in the hook below. Plugins that were compiled apart share these two structs,
/// so that their layout belongs to `hub_question`.
struct PlatformListener {
  /// The bridged call of this plugin that the calling thread is in, or null.
  void* (*current_call)();
  void (*take_line)(void* call, et_pal_log_level_t level, const char* file, std::size_t line,
                    const char* message, std::size_t length);
  void (*raise)(void* call);  ///< Throws out of the call, or returns where nothing may be thrown.
  pal_emit_log_message_method emit;
  pal_abort_method abort;
  PlatformListener* next;
};

/// State shared by all plugins of the process, made by the first one and freed by the last.
struct PlatformHub {
  pthread_mutex_t mutex;
  std::uint64_t references;
  PlatformListener* listeners;
  pal_emit_log_message_method
      installed;  ///< The function of a Tenon plugin that was installed last.
  pal_emit_log_message_method previous_emit;
  pal_abort_method previous_abort;
};

/// Replaces two functions of ExecuTorch's platform layer, which write the log and end the process,
/// as long as a backend of this plugin is open. On a thread inside a BridgedCall they act for that
/// call; all other calls are passed on to the replaced functions.
///
/// The platform layer is one object for the whole process, plugins are loaded and unloaded in any
/// order, and none may leave the address of its function behind. So a later plugin finds the
/// installed hook, asks it for the hub, and joins it; on unload it passes the hook on to another
/// plugin, or restores the original functions.
///
/// Limits. The functions are put into the table that `get_pal_impl` shows, because `register_pal`
/// itself writes to the log. Code that replaces them later and calls ours keeps this library in
/// memory. A thread outside of a bridged call that logs while the plugin is being unloaded may
/// still be in its code.
class PlatformHook {
 public:
  /// One more user. Any thread.
  static void acquire() {
    Image& self = image();
    const std::lock_guard lock(self.mutex);
    if (self.uses == 0) {
      while (!join_or_install(self)) std::this_thread::yield();
    }
    ++self.uses;
  }

  /// One user less. Any thread; no call may be in progress that only this user protects.
  static void release() noexcept {
    Image& self = image();
    const std::lock_guard lock(self.mutex);
    if (--self.uses == 0) leave(self);
  }

 private:
  static constexpr const char* hub_question = "tenon.executorch.platform_hub/1";

  /// The question to `emit`, passed in place of a function's name. Its first bytes are an empty
  /// text, for a function that does not know the question.
  struct Question {
    PlatformHub* hub = nullptr;
  };

  /// The state of this library. Its static objects are not shared with other libraries.
  struct Image {
    std::mutex mutex;
    std::uint64_t uses = 0;
    std::atomic<PlatformHub*> hub = nullptr;
    std::atomic<std::uint64_t> inside = 0;  ///< Threads in `emit` and `abort`.
    PlatformListener listener{&current_call, &take_line, &raise, &emit, &abort, nullptr};
  };

  static Image& image() noexcept {
    static constinit Image state;
    return state;
  }

  class Inside {
   public:
    explicit Inside(Image& self) noexcept : self_(self) { ++self_.inside; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { --self_.inside; }

   private:
    Image& self_;
  };

  class HubLock {
   public:
    explicit HubLock(PlatformHub& hub) noexcept : hub_(hub) { ::pthread_mutex_lock(&hub_.mutex); }
    HubLock(const HubLock&) = delete;
    HubLock& operator=(const HubLock&) = delete;
    ~HubLock() { ::pthread_mutex_unlock(&hub_.mutex); }

   private:
    PlatformHub& hub_;
  };

  // ---- The installed functions.

  static void emit(et_timestamp_t timestamp, et_pal_log_level_t level, const char* file,
                   const char* function, std::size_t line, const char* message,
                   std::size_t length) {
    Image& self = image();
    const Inside inside(self);
    if (file && std::strcmp(file, hub_question) == 0) return answer(self, function);
    PlatformHub* const hub = self.hub;
    if (!hub) return;
    void* call = nullptr;
    if (const PlatformListener* listener = find_call(*hub, call)) {
      return listener->take_line(call, level, file, line, message, length);
    }
    hub->previous_emit(timestamp, level, file, function, line, message, length);
  }

  static void abort() {
    Image& self = image();
    PlatformHub* hub = nullptr;
    {
      const Inside inside(self);
      hub = self.hub;
      void* call = nullptr;
      const PlatformListener* listener = hub ? find_call(*hub, call) : nullptr;
      if (listener) listener->raise(call);
    }
    if (hub) hub->previous_abort();
  }

  /// The plugin with a call on this thread. It is not closed during the call, so it is used without
  /// the lock: the code that it calls may log again.
  static const PlatformListener* find_call(PlatformHub& hub, void*& call) noexcept {
    const HubLock lock(hub);
    for (const PlatformListener* each = hub.listeners; each; each = each->next) {
      call = each->current_call();
      if (call) return each;
    }
    return nullptr;
  }

  static void answer(Image& self, const char* function) noexcept {
    Question question;
    PlatformHub* const hub = self.hub;
    if (!hub || !function) return;
    {
      const HubLock lock(*hub);
      ++hub->references;
    }
    question.hub = hub;
    std::memcpy(const_cast<char*>(function), &question, sizeof question);
  }

  static void* current_call() { return BridgedCall::current(); }
  static void take_line(void* call, et_pal_log_level_t level, const char* file, std::size_t line,
                        const char* message, std::size_t length) {
    static_cast<BridgedCall*>(call)->take_line(level, file, line, message, length);
  }
  static void raise(void* call) {
    if (static_cast<const BridgedCall*>(call)->can_raise()) throw Aborted();
  }

  // ---- Coming.

  /// The platform layer's own table. Not a constant object: register_pal writes to it.
  static et::PalImpl& table() noexcept { return const_cast<et::PalImpl&>(*et::get_pal_impl()); }

  template <class Function>
  static bool replace(Function& slot, Function expected, Function wanted) noexcept {
    return __atomic_compare_exchange_n(&slot, &expected, wanted, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
  }

  static bool join_or_install(Image& self) {
    // Set when other code had replaced our function: see `leave`.
    if (PlatformHub* const hub = self.hub) {
      add(self, *hub);
      return true;
    }
    const auto found = __atomic_load_n(&table().emit_log_message, __ATOMIC_ACQUIRE);
    if (PlatformHub* const hub = ask(found)) return join(self, *hub);
    void* const memory = std::malloc(sizeof(PlatformHub));
    if (!memory) throw std::bad_alloc();
    self.listener.next = nullptr;
    auto* const hub = new (memory) PlatformHub{PTHREAD_MUTEX_INITIALIZER,
                                               1,
                                               &self.listener,
                                               &emit,
                                               found,
                                               __atomic_load_n(&table().abort, __ATOMIC_ACQUIRE)};
    self.hub = hub;
    if (!replace(table().emit_log_message, found, &emit)) {
      self.hub = nullptr;
      free_hub(hub);
      return false;
    }
    replace(table().abort, hub->previous_abort, &abort);
    return true;
  }

  static void add(Image& self, PlatformHub& hub) noexcept {
    const HubLock lock(hub);
    self.listener.next = std::exchange(hub.listeners, &self.listener);
  }

  /// Adds this library to a hub that was just found, unless its last listener has left meanwhile.
  static bool join(Image& self, PlatformHub& hub) noexcept {
    bool is_alone = false;
    {
      const HubLock lock(hub);
      if (hub.listeners) {
        self.listener.next = std::exchange(hub.listeners, &self.listener);
        self.hub = &hub;
        return true;
      }
      is_alone = --hub.references == 0;
    }
    if (is_alone) free_hub(&hub);
    return false;
  }

  /// The hub of the plugin that `function` belongs to, with a reference to it, or null when it is
  /// no plugin's.
  static PlatformHub* ask(pal_emit_log_message_method function) {
    ::Dl_info of_function{};
    if (::dladdr(reinterpret_cast<void*>(function), &of_function) == 0) return nullptr;
    // Held, so that it cannot be unloaded meanwhile.
    const std::unique_ptr<void, int (*)(void*)> library(
        ::dlopen(of_function.dli_fname, RTLD_LAZY | RTLD_NOLOAD),
        [](void* handle) { return handle ? ::dlclose(handle) : 0; });
    if (!library) return nullptr;
    void* const object = ::dlsym(library.get(), TENON_PLUGIN_SYMBOL);
    ::Dl_info of_object{};
    if (!object || ::dladdr(object, &of_object) == 0 ||
        of_object.dli_fbase != of_function.dli_fbase) {
      return nullptr;
    }
    Question question;
    function(0, kDebug, hub_question, reinterpret_cast<const char*>(&question), 0, "", 0);
    return question.hub;
  }

  // ---- Going.

  static void leave(Image& self) noexcept {
    PlatformHub* const hub = self.hub;
    bool is_last = false;
    {
      const HubLock lock(*hub);
      PlatformListener** at = &hub->listeners;
      while (*at != &self.listener) at = &(*at)->next;
      *at = self.listener.next;
      const PlatformListener* const heir = hub->listeners;
      if (hub->installed == &emit) {
        const auto next = heir ? heir->emit : hub->previous_emit;
        if (!replace(table().emit_log_message, &emit, next)) return stay(self);
        replace(table().abort, &abort, heir ? heir->abort : hub->previous_abort);
        hub->installed = next;
      }
      is_last = --hub->references == 0;
    }
    while (self.inside != 0) std::this_thread::yield();
    self.hub = nullptr;
    if (is_last) free_hub(hub);
  }

  /// Another library has replaced our function and may call ours from its own. Code that may be
  /// called must not be unloaded; it finds the hub as before.
  static void stay(Image& self) noexcept {
    ::Dl_info info{};
    if (::dladdr(&self, &info) == 0) return;
    static_cast<void>(::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  }

  /// The last plugin frees it, so it is memory of the C library, which all plugins share.
  static void free_hub(PlatformHub* hub) noexcept {
    ::pthread_mutex_destroy(&hub->mutex);
    std::free(hub);
  }
};

/// One user of the hook, for as long as it lives.
class PlatformUse {
 public:
  PlatformUse() { PlatformHook::acquire(); }
  PlatformUse(const PlatformUse&) = delete;
  PlatformUse& operator=(const PlatformUse&) = delete;
  ~PlatformUse() { PlatformHook::release(); }
};

}}}  // namespace tenon::TENON_RELEASE::bridge::detail
