// SPDX-License-Identifier: MIT
//
// The definitions of <tenon/host.hpp>, for a program that does not link the library tenon-host.
// Exactly one source of the program includes it, in addition to what it includes anyway. That
// source needs the headers of flatbuffers; no other one does.
//
// A program that is built often may have its three parts in three sources instead, which compile
// at the same time.
//
// The other umbrella headers have theirs in the same way, and need this one: that of
// <tenon/host/arrays.hpp> is <tenon/host/arrays/implementation.hpp>. They may all be in one source.
#pragma once

#include "tenon/host/method/implementation.hpp"
#include "tenon/host/program/implementation.hpp"
#include "tenon/host/registry/implementation.hpp"
