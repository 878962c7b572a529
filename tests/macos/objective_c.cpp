// SPDX-License-Identifier: MIT
#include "objective_c.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

#if !defined(__x86_64__)
#error "objc_msgSend is written for x86-64"
#endif

struct objc_selector {
  std::string name;
  bool operator<(const objc_selector& other) const { return name < other.name; }
};

namespace objective_c {

namespace {

objc_object* same(objc_object* self, SEL) { return self; }
void nothing(objc_object*, SEL) {}
unsigned long one(objc_object*, SEL) { return 1; }
bool responds(objc_object* self, SEL, SEL asked) {
  return self->isa->methods.contains(asked->name);
}
// Of a class, whose first word is its own class.
objc_object* allocate(objc_object* self, SEL) {
  return new objc_object{reinterpret_cast<objc_class*>(self)};
}

}  // namespace

// metal-cpp looks up classes before main begins.
objc_class& class_named(const std::string& name) {
  static std::map<std::string, objc_class>& all = *new std::map<std::string, objc_class>;
  const auto [place, is_new] = all.try_emplace(name);
  objc_class& out = place->second;
  if (!is_new) return out;
  static objc_class& meta = *new objc_class;
  meta.name = "a class";
  meta.methods["alloc"] = reinterpret_cast<void*>(&allocate);
  out.isa = &meta;
  out.name = name;
  for (const char* each : {"init", "retain", "autorelease"}) {
    out.methods[each] = reinterpret_cast<void*>(&same);
  }
  out.methods["release"] = reinterpret_cast<void*>(&nothing);
  out.methods["retainCount"] = reinterpret_cast<void*>(&one);
  out.methods["respondsToSelector:"] = reinterpret_cast<void*>(&responds);
  return out;
}

objc_object* make(const std::string& class_name) {
  return new objc_object{&class_named(class_name)};
}

}  // namespace objective_c

extern "C" {

SEL sel_registerName(const char* name) {
  static std::set<objc_selector>& all = *new std::set<objc_selector>;
  return const_cast<SEL>(&*all.insert({name}).first);
}
id objc_lookUpClass(const char* name) {
  return reinterpret_cast<id>(&objective_c::class_named(name));
}
id objc_getProtocol(const char*) { return nullptr; }
Class object_getClass(id object) { return object->isa; }
void* class_getMethodImplementation(Class type, SEL selector) {
  const auto found = type->methods.find(selector->name);
  return found == type->methods.end() ? nullptr : found->second;
}

void nil_method() {}

void* tenon_find_method(id self, SEL selector) {
  if (!self) return reinterpret_cast<void*>(&nil_method);
  if (void* const found = class_getMethodImplementation(self->isa, selector)) return found;
  std::fprintf(stderr, "-[%s %s]: unrecognized selector\n", self->isa->name.c_str(),
               selector->name.c_str());
  std::_Exit(1);
}

}  // extern "C"

// Finds the method and jumps to it with the arguments that came in registers.
__asm__(R"(
.text
.globl objc_msgSend, objc_msgSend_fpret
objc_msgSend:
objc_msgSend_fpret:
  push %rdi
  push %rsi
  push %rdx
  push %rcx
  push %r8
  push %r9
  sub $8, %rsp
  call tenon_find_method
  add $8, %rsp
  pop %r9
  pop %r8
  pop %rcx
  pop %rdx
  pop %rsi
  pop %rdi
  xor %r10d, %r10d
  mov %rax, %r11
  xor %eax, %eax
  jmp *%r11
.globl objc_msgSend_stret
objc_msgSend_stret:
  ud2
)");
