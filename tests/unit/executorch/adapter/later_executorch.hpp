// SPDX-License-Identifier: MIT
#pragma once

/// Calls as libraries make them that were built with other headers than the tests. Each is given
/// an object of a test's class as a pointer to void.
namespace tenon::test::later {

/// Asks an allocator for its type, where `copy_device_to_device` is in front of `device_type`.
/// Returns the number.
int device_type_of(void* allocator);

/// As `device_type_of`, where two functions are in front of it, and where one of today's is
/// missing.
int device_type_behind_two(void* allocator);
int device_type_one_earlier(void* allocator);

/// Calls the function that follows all of today's `BackendInterface`. Returns the error's number.
unsigned initialize_backend_data(void* backend);

}  // namespace tenon::test::later
