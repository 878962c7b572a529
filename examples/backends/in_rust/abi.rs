// SPDX-License-Identifier: MIT
//
// The structs of `tenon/abi` that plugins need, member for member, and what fills their texts.
// `docs/reference/layout.md` has the sizes and offsets, which `layout` compares when a plugin is
// compiled. Tests build another plugin with this file (tests/conformance/zoo/rust), and each plugin
// uses a part of it.
#![allow(dead_code)]

use core::ffi::{c_char, c_void};
use core::fmt::{Arguments, Write};

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

pub const DL_FLOAT: u8 = 2;
pub const DL_CPU: i32 = 1;
pub const SCALAR_TYPE_FLOAT: i32 = 6;
pub const VALUE_TENSOR: u32 = 1;
pub const OPTION_DOUBLE: u32 = 3;
pub const OPTION_AT_RUNTIME: u32 = 1;
pub const OPTION_AT_LOAD: u32 = 2;

// host.h

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
    pub get_extension: unsafe extern "C" fn(*const Host, *const c_char) -> *const c_void,
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
    pub get_data: unsafe extern "C" fn(*const NamedDataMap, *const u8, u64, *mut Buffer) -> Status,
}

// tensor.h

#[repr(C)]
pub struct Tensor {
    pub struct_size: u32,
    pub scalar_type: i32,
    // DLPack's block.
    pub data: *mut c_void,
    pub device_type: i32,
    pub device_id: i32,
    pub ndim: i32,
    pub dtype_code: u8,
    pub dtype_bits: u8,
    pub dtype_lanes: u16,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
    // The fields behind it.
    pub dim_order: *const u8,
    pub bounds: *const i64,
    pub nbytes: u64,
    pub capacity: u64,
    pub shape_dynamism: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Span {
    pub data: *const c_void,
    pub size: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union ValueAs {
    pub tensor: *mut Tensor,
    pub integer: i64,
    pub span: Span,
}

#[repr(C)]
pub struct Value {
    pub struct_size: u32,
    pub kind: u32,
    pub as_: ValueAs,
}

// backend.h

#[repr(C)]
#[derive(Clone, Copy)]
pub union OptionAs {
    pub boolean: u8,
    pub integer: i64,
    pub real: f64,
    pub span: Span,
}

/// `tenon_option`; `Option` is Rust's own.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Setting {
    pub struct_size: u32,
    pub type_: u32,
    pub key: *const c_char,
    pub as_: OptionAs,
}

#[repr(C)]
pub struct CompileSpec {
    pub struct_size: u32,
    pub reserved: u32,
    pub key: *const c_char,
    pub value: *const u8,
    pub value_size: u64,
}

/// The members of `tenon_init_context` up to the last member that is read. A reader needs no
/// others.
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
    pub tracer: *const c_void,
    pub runtime_specs: *const Setting,
    pub num_runtime_specs: u32,
}

/// The members of `tenon_execution_context` up to the last member that is read.
#[repr(C)]
pub struct ExecutionContext {
    pub struct_size: u32,
    pub reserved: u32,
    pub host: *const Host,
    pub method_name: *const c_char,
    pub temp_allocator: *mut Allocator,
}

#[repr(C)]
pub struct BackendApi<Backend, Delegate> {
    pub struct_size: u32,
    pub reserved: u32,
    pub open: unsafe extern "C" fn(*const Host, *mut *mut Backend) -> Status,
    pub close: unsafe extern "C" fn(*mut Backend),
    pub is_available: unsafe extern "C" fn(*mut Backend) -> Status,
    pub init: unsafe extern "C" fn(*mut Backend, *const InitContext, *mut *mut Delegate) -> Status,
    pub execute: unsafe extern "C" fn(
        *mut Backend,
        *mut Delegate,
        *const ExecutionContext,
        *const *mut Value,
        u32,
    ) -> Status,
    pub destroy: unsafe extern "C" fn(*mut Backend, *mut Delegate),
    pub get_extension: unsafe extern "C" fn(*mut Backend, *const c_char) -> *const c_void,
}

// extensions/options.h

#[repr(C)]
pub struct OptionSpec {
    pub struct_size: u32,
    pub flags: u32,
    pub description: *const c_char,
    pub unit: *const c_char,
    pub initial: *const Setting,
    pub minimum: *const Setting,
    pub maximum: *const Setting,
    pub choices: *const *const c_char,
    pub num_choices: u32,
    pub reserved: u32,
}

pub type OptionSink = unsafe extern "C" fn(*mut c_void, *const Setting);

#[repr(C)]
pub struct Options<Backend> {
    pub struct_size: u32,
    pub num_specs: u32,
    pub specs: *const OptionSpec,
    pub set_option: unsafe extern "C" fn(*mut Backend, *const Setting) -> Status,
    pub get_option:
        unsafe extern "C" fn(*mut Backend, *const c_char, OptionSink, *mut c_void) -> Status,
}

// plugin.h

#[repr(C)]
pub struct Head {
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
pub struct Record {
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
pub struct Body<Backend: 'static, Delegate: 'static> {
    pub struct_size: u32,
    pub num_backends: u32,
    pub backends: *const &'static BackendApi<Backend, Delegate>,
}

// [layout]
#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::{offset_of, size_of};
    type Unit = c_void;
    assert!(size_of::<Host>() == 56 && size_of::<Buffer>() == 40 && size_of::<Allocator>() == 16);
    assert!(size_of::<Tensor>() == 96 && offset_of!(Tensor, dim_order) == 56);
    assert!(size_of::<Value>() == 24 && size_of::<Setting>() == 32);
    assert!(size_of::<NamedDataMap>() == 16 && size_of::<CompileSpec>() == 32);
    assert!(offset_of!(InitContext, num_runtime_specs) == 72);
    assert!(offset_of!(ExecutionContext, temp_allocator) == 24);
    assert!(size_of::<BackendApi<Unit, Unit>>() == 64 && size_of::<OptionSpec>() == 64);
    assert!(size_of::<Options<Unit>>() == 32 && size_of::<Body<Unit, Unit>>() == 16);
    assert!(size_of::<Head>() == 360 && size_of::<Record>() == 600);
};
// [layout]

// Texts.

/// The text of a failure, cut off where the buffer ends.
struct Text {
    bytes: [u8; 256],
    size: usize,
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> core::fmt::Result {
        for (to, from) in self.bytes.iter_mut().skip(self.size).zip(part.bytes()) {
            *to = from;
            self.size += 1;
        }
        Ok(())
    }
}

/// Gives the host the reason of a failure, and returns `status`.
pub unsafe fn fail(host: *const Host, status: Status, arguments: Arguments) -> Status {
    let mut text = Text { bytes: [0; 256], size: 0 };
    let _ = text.write_fmt(arguments);
    ((*host).set_last_error)(host, status, text.bytes.as_ptr(), text.size as u64);
    status
}

macro_rules! fail {
    ($host:expr, $status:expr, $($format:tt)*) => {
        $crate::abi::fail($host, $status, format_args!($($format)*))
    };
}

/// A field of `SIZE` bytes: the text, and zeros.
pub const fn field<const SIZE: usize>(text: &str) -> [u8; SIZE] {
    let mut out = [0; SIZE];
    let mut i = 0;
    while i < text.len() {
        out[i] = text.as_bytes()[i];
        i += 1;
    }
    assert!(i < SIZE, "the field ends with NUL");
    out
}
