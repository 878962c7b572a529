// SPDX-License-Identifier: MIT

//! The part of tenon/abi that the plugin beside this file uses, member for member. Members that it
//! does not touch are there for their size.

use core::ffi::{c_char, c_void};

pub type Status = u32;
pub const OK: Status = 0x00;
pub const NOT_SUPPORTED: Status = 0x10;
pub const INVALID_ARGUMENT: Status = 0x12;
pub const INVALID_TYPE: Status = 0x13;
pub const NOT_FOUND: Status = 0x20;
pub const MEMORY_ALLOCATION_FAILED: Status = 0x21;
pub const INVALID_PROGRAM: Status = 0x23;
pub const INVALID_EXTERNAL_DATA: Status = 0x24;
pub const DELEGATE_INVALID_COMPATIBILITY: Status = 0x30;

pub const VALUE_TENSOR: u32 = 1;
pub const SCALAR_TYPE_FLOAT: i32 = 6;

#[repr(C)]
pub struct Host {
    pub struct_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub name: *const c_char,
    pub plugin_path: *const c_char,
    pub set_last_error: unsafe extern "C" fn(*const Host, Status, *const u8, u64),
    pub log: unsafe extern "C" fn(*const Host, i32, *const u8, u64),
    pub resize_tensor: unsafe extern "C" fn(*const Host, *mut Tensor, *const i64, u32) -> Status,
}

#[repr(C)]
pub struct Allocator {
    pub struct_size: u32,
    pub reserved: u32,
    pub allocate: unsafe extern "C" fn(*mut Allocator, u64, u64) -> *mut c_void,
}

#[repr(C)]
pub struct Buffer {
    pub struct_size: u32,
    pub reserved: u32,
    pub data: *const u8,
    pub nbytes: u64,
    pub owner: *mut c_void,
    pub release: Option<unsafe extern "C" fn(*mut Buffer)>,
}

#[repr(C)]
pub struct NamedDataMap {
    pub struct_size: u32,
    pub num_keys: u32,
    pub get_data:
        unsafe extern "C" fn(*const NamedDataMap, *const u8, u64, *mut Buffer) -> Status,
}

#[repr(C)]
pub struct CompileSpec {
    pub struct_size: u32,
    pub reserved: u32,
    pub key: *const c_char,
    pub value: *const u8,
    pub value_size: u64,
}

#[repr(C)]
pub struct InitContext {
    pub struct_size: u32,
    pub num_compile_specs: u32,
    pub host: *const Host,
    pub method_name: *const c_char,
    pub processed: *mut Buffer,
    pub compile_specs: *const CompileSpec,
    pub runtime_allocator: *mut Allocator,
    pub named_data_map: *const NamedDataMap,
}

#[repr(C)]
pub struct ExecutionContext {
    pub struct_size: u32,
    pub reserved: u32,
    pub host: *const Host,
    pub method_name: *const c_char,
    pub temp_allocator: *mut Allocator,
}

#[repr(C)]
pub struct Tensor {
    pub struct_size: u32,
    pub scalar_type: i32,
    pub data: *mut u8,
    pub device_type: i32,
    pub device_id: i32,
    pub ndim: i32,
    pub dtype: [u8; 4],
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
    pub dim_order: *const u8,
    pub bounds: *const i64,
    pub nbytes: u64,
    pub capacity: u64,
    pub shape_dynamism: u32,
    pub flags: u32,
}

#[repr(C)]
pub struct Value {
    pub struct_size: u32,
    pub kind: u32,
    pub tensor: *mut Tensor,
    pub second_word: u64,
}

/// One opened backend: what it keeps is the host.
pub type Backend = Host;

#[repr(C)]
pub struct BackendApi {
    pub struct_size: u32,
    pub reserved: u32,
    pub open: unsafe extern "C" fn(*const Host, *mut *const Backend) -> Status,
    pub close: unsafe extern "C" fn(*const Backend),
    pub is_available: unsafe extern "C" fn(*const Backend) -> Status,
    pub init:
        unsafe extern "C" fn(*const Backend, *const InitContext, *mut *mut c_void) -> Status,
    pub execute: unsafe extern "C" fn(
        *const Backend,
        *mut c_void,
        *const ExecutionContext,
        *const *const Value,
        u32,
    ) -> Status,
    pub destroy: unsafe extern "C" fn(*const Backend, *mut c_void),
    pub get_extension: unsafe extern "C" fn(*const Backend, *const c_char) -> *const c_void,
}

#[repr(C)]
pub struct PluginHead {
    pub magic: [u8; 8],
    pub head_size: u32,
    pub object_size: u32,
    pub abi_major: u16,
    pub abi_minor: u16,
    pub min_host_abi_minor: u16,
    pub pointer_size: u8,
    pub little_endian: u8,
    pub num_backends: u32,
    pub records_offset: u32,
    pub record_size: u32,
    pub body_offset: u32,
    pub name: [u8; 64],
    pub version: [u8; 64],
    pub vendor: [u8; 128],
    pub sdk_version: [u8; 64],
}

#[repr(C)]
pub struct BackendRecord {
    pub struct_size: u32,
    pub priority: i32,
    pub min_payload_version: u32,
    pub max_payload_version: u32,
    pub id: [u8; 64],
    pub tags: [u8; 128],
    pub cpu_features: [u8; 256],
    pub description: [u8; 128],
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct PluginBody {
    pub struct_size: u32,
    pub num_backends: u32,
    pub backends: *const *const BackendApi,
}
