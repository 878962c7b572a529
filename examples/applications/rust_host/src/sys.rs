// SPDX-License-Identifier: MIT
//! Those declarations of `tenon/host/c/tenon_host.h` that this crate uses, by hand: bindgen makes all
//! of them.
#![allow(missing_docs)]

use std::mem::size_of;
use std::os::raw::{c_char, c_void};

pub type Status = u32;
pub const OK: Status = 0;

macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )*};
}
opaque!(
    Error,
    Registry,
    Program,
    Executor,
    Method,
    Session,
    RegistryOptions,
    ProgramOptions,
    SessionOptions
);

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    pub device_type: i32,
    pub device_id: i32,
}
pub const CPU: Device = Device { device_type: 1, device_id: 0 };

/// DLPack's `DLTensor`.
#[repr(C)]
pub struct DlTensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// Members that a later minor appends are behind these.
#[repr(C)]
pub struct Tensor {
    pub struct_size: u32,
    pub scalar_type: i32,
    pub dl: DlTensor,
    pub dim_order: *const u8,
    pub bounds: *const i64,
    pub nbytes: u64,
    pub capacity: u64,
    pub shape_dynamism: u32,
    pub flags: u32,
}

pub const VALUE_TENSOR: u32 = 1;

#[repr(C)]
pub union ValueUnion {
    pub tensor: *mut Tensor,
    pub integer: i64,
    pub real: f64,
    pub span: [u64; 2],
}

#[repr(C)]
pub struct Value {
    pub struct_size: u32,
    pub kind: u32,
    pub value: ValueUnion,
}

#[repr(C)]
pub struct DiscoveryOptions {
    pub struct_size: u32,
    pub flags: u32,
    pub paths: *const *const c_char,
    pub num_paths: u32,
    pub reserved: u32,
}

pub const METHOD_CANCELLABLE: u32 = 1;

#[repr(C)]
pub struct MethodOptions {
    pub struct_size: u32,
    pub flags: u32,
    pub registry: *const Registry,
    pub executor: *const Executor,
    pub backend_options: *const c_void,
    pub data_files: *const *const c_char,
    pub limits: *const *const c_char,
    pub budget: *const c_void,
    pub num_backend_options: u32,
    pub num_data_files: u32,
    pub num_limits: u32,
    pub num_budget: u32,
    pub variant: *const c_char,
    pub embedded_code: *const c_char,
    pub scheduling: *const c_void,
}

// The numbers of docs/reference/layout.md.
const _: () = assert!(size_of::<DlTensor>() == 48);
const _: () = assert!(size_of::<Tensor>() == 96);
const _: () = assert!(size_of::<Value>() == 24);
const _: () = assert!(size_of::<DiscoveryOptions>() == 24);
const _: () = assert!(size_of::<MethodOptions>() == 96);

extern "C" {
    pub fn tenon_c_version() -> u32;
    pub fn tenon_status_name(status: Status) -> *const c_char;
    pub fn tenon_error_status(error: *const Error) -> Status;
    pub fn tenon_error_text(error: *const Error) -> *const c_char;
    pub fn tenon_error_destroy(error: *mut Error);

    pub fn tenon_registry_create(
        options: *const RegistryOptions,
        out: *mut *mut Registry,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_registry_destroy(registry: *mut Registry);
    pub fn tenon_registry_discover(
        registry: *mut Registry,
        options: *const DiscoveryOptions,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_registry_register_plugin(
        registry: *mut Registry,
        path: *const c_char,
        id: *const c_char,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_registry_check_backend(
        registry: *const Registry,
        id: *const c_char,
        error: *mut *mut Error,
    ) -> Status;

    pub fn tenon_program_open(
        path: *const c_char,
        options: *const ProgramOptions,
        out: *mut *mut Program,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_program_copy(
        bytes: *const c_void,
        nbytes: u64,
        name: *const c_char,
        options: *const ProgramOptions,
        out: *mut *mut Program,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_program_destroy(program: *mut Program);
    pub fn tenon_program_num_methods(program: *const Program) -> u64;
    pub fn tenon_program_method_name(program: *const Program, index: u64) -> *const c_char;

    pub fn tenon_method_load(
        program: *const Program,
        name: *const c_char,
        options: *const MethodOptions,
        out: *mut *mut Method,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_method_destroy(method: *mut Method);
    pub fn tenon_method_num_inputs(method: *const Method) -> u64;
    pub fn tenon_method_num_outputs(method: *const Method) -> u64;
    pub fn tenon_method_writes_input(method: *const Method, index: u64) -> u32;
    pub fn tenon_method_set_input(
        method: *mut Method,
        index: u64,
        tensor: *const DlTensor,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_method_execute(method: *mut Method, error: *mut *mut Error) -> Status;
    pub fn tenon_method_cancel(method: *mut Method, error: *mut *mut Error) -> Status;
    pub fn tenon_method_get_output(method: *const Method, index: u64) -> *const Value;
    pub fn tenon_method_create_session(
        method: *mut Method,
        options: *const SessionOptions,
        out: *mut *mut Session,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_method_use_session(
        method: *mut Method,
        session: *mut Session,
        error: *mut *mut Error,
    ) -> Status;
    pub fn tenon_session_destroy(session: *mut Session);
}
