// SPDX-License-Identifier: MIT

//! The backend of ../good.h in Rust, without its extensions: what a plugin needs is a constant
//! object of C's layout and functions of C's calling convention. No library of Rust's is linked.
#![no_std]

use core::ffi::{c_char, c_void, CStr};
use core::fmt::{Arguments, Write};
use core::mem::{align_of, offset_of, size_of};
use core::{ptr, slice};

mod abi;
use abi::*;

const MAX_RANK: usize = 8;

/// One loaded blob, in memory of the runtime allocator.
struct Delegate {
    operation: u32,
    scale: f32,
    added: f32,
    runs: i64,
}

/// A text of limited length; what is beyond is cut off.
struct Text {
    bytes: [u8; 256],
    size: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if let Some(place) = self.bytes.get_mut(self.size) {
                *place = byte;
                self.size += 1;
            }
        }
        Ok(())
    }
}

/// Gives `text` to the host as the reason of the failure `status`.
fn fail<T>(host: &Host, status: Status, text: Arguments) -> Result<T, Status> {
    let mut out = Text { bytes: [0; 256], size: 0 };
    let _ = out.write_fmt(text);
    unsafe { (host.set_last_error)(host, status, out.bytes.as_ptr(), out.size as u64) };
    Err(status)
}

fn status_of(result: Result<(), Status>) -> Status {
    result.err().unwrap_or(OK)
}

unsafe extern "C" fn open(host: *const Host, out: *mut *const Backend) -> Status {
    let host = unsafe { &*host };
    if host.abi_major != 1 {
        let name = unsafe { CStr::from_ptr(host.name) }.to_str().unwrap_or("");
        return status_of(fail(
            host,
            NOT_SUPPORTED,
            format_args!(
                "ZooBackend speaks ABI 1.0, the host {} speaks {}.{}",
                name, host.abi_major, host.abi_minor
            ),
        ));
    }
    unsafe { *out = host };
    OK
}

unsafe extern "C" fn close(_: *const Backend) {}

unsafe extern "C" fn is_available(_: *const Backend) -> Status {
    OK
}

unsafe extern "C" fn get_extension(_: *const Backend, _: *const c_char) -> *const c_void {
    ptr::null()
}

/// `size` bytes of the host's at `data`, which may be NULL when there are none.
unsafe fn bytes_at<'a>(data: *const u8, size: u64) -> &'a [u8] {
    if data.is_null() { &[] } else { unsafe { slice::from_raw_parts(data, size as usize) } }
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}

unsafe fn read_blob(host: &Host, blob: &[u8]) -> Result<Delegate, Status> {
    if blob.len() < 16 {
        let text = format_args!("blob: expected 16 bytes or more, found {}", blob.len());
        return fail(host, INVALID_PROGRAM, text);
    }
    if !blob.starts_with(b"ZOO1") {
        let text =
            format_args!("blob: expected magic 315a4f4f, found {:08x}", number_at(blob, 0));
        return fail(host, DELEGATE_INVALID_COMPATIBILITY, text);
    }
    let (version, operation, key_size) =
        (number_at(blob, 4), number_at(blob, 8), number_at(blob, 12));
    if version != 1 {
        let text = format_args!("blob: expected version 1, found version {}", version);
        return fail(host, DELEGATE_INVALID_COMPATIBILITY, text);
    }
    if operation > 1 {
        let text = format_args!("blob: expected operation 0 or 1, found {}", operation);
        return fail(host, INVALID_PROGRAM, text);
    }
    if (blob.len() - 16) as u64 != key_size as u64 {
        let found = blob.len() - 16;
        let text = format_args!("blob: expected a key of {} bytes, found {}", key_size, found);
        return fail(host, INVALID_PROGRAM, text);
    }
    Ok(Delegate { operation, scale: 1.0, added: 0.0, runs: 0 })
}

unsafe fn read_scale(host: &Host, context: &InitContext, scale: &mut f32) -> Result<(), Status> {
    let mut at = context.compile_specs;
    for _ in 0..context.num_compile_specs {
        let spec = unsafe { &*at };
        let step = unsafe { (*context.compile_specs).struct_size } as usize;
        at = at.wrapping_byte_add(step);
        if unsafe { CStr::from_ptr(spec.key) } != c"scale" {
            continue;
        }
        let value = unsafe { bytes_at(spec.value, spec.value_size) };
        if value.len() != 4 {
            let text =
                format_args!("compile spec scale: expected 4 bytes, found {}", value.len());
            return fail(host, INVALID_ARGUMENT, text);
        }
        *scale = f32::from_bits(number_at(value, 0));
    }
    Ok(())
}

unsafe fn read_added(
    host: &Host,
    context: &InitContext,
    key: &[u8],
    added: &mut f32,
) -> Result<(), Status> {
    if key.is_empty() {
        return Ok(());
    }
    let shown = core::str::from_utf8(key).unwrap_or("(not UTF-8)");
    if context.named_data_map.is_null() {
        let text = format_args!("named data {}: expected 4 bytes, found a program without", shown);
        return fail(host, NOT_FOUND, text);
    }
    let map = unsafe { &*context.named_data_map };
    let mut data = Buffer {
        struct_size: size_of::<Buffer>() as u32,
        reserved: 0,
        data: ptr::null(),
        nbytes: 0,
        owner: ptr::null_mut(),
        release: None,
    };
    let status = unsafe { (map.get_data)(map, key.as_ptr(), key.len() as u64, &mut data) };
    if status != OK {
        let text = format_args!("named data {}: expected 4 bytes, found status {:#x}", shown, status);
        return fail(host, status, text);
    }
    let bytes = unsafe { bytes_at(data.data, data.nbytes) };
    let found = bytes.len();
    *added = f32::from_bits(number_at(bytes, 0));
    if let Some(release) = data.release {
        unsafe { release(&mut data) };
    }
    if found < 4 {
        let text = format_args!("named data {}: expected 4 bytes, found {}", shown, found);
        return fail(host, INVALID_EXTERNAL_DATA, text);
    }
    Ok(())
}

unsafe fn load(host: &Host, context: &InitContext) -> Result<*mut c_void, Status> {
    let processed = unsafe { &*context.processed };
    let blob = unsafe { bytes_at(processed.data, processed.nbytes) };
    let mut delegate = unsafe { read_blob(host, blob) }?;
    unsafe { read_scale(host, context, &mut delegate.scale) }?;
    let key = blob.get(16..).unwrap_or(&[]);
    unsafe { read_added(host, context, key, &mut delegate.added) }?;
    let place = unsafe { allocate(context.runtime_allocator, size_of::<Delegate>(), 8) };
    if place.is_null() {
        let text = format_args!(
            "init: expected {} bytes of the runtime allocator, found none",
            size_of::<Delegate>()
        );
        return fail(host, MEMORY_ALLOCATION_FAILED, text);
    }
    unsafe { ptr::write(place.cast::<Delegate>(), delegate) };
    if let Some(release) = processed.release {
        unsafe { release(context.processed) };
    }
    Ok(place)
}

unsafe fn allocate(allocator: *mut Allocator, nbytes: usize, alignment: usize) -> *mut c_void {
    unsafe { ((*allocator).allocate)(allocator, nbytes as u64, alignment as u64) }
}

unsafe extern "C" fn init(
    backend: *const Backend,
    context: *const InitContext,
    out: *mut *mut c_void,
) -> Status {
    match unsafe { load(&*backend, &*context) } {
        Ok(delegate) => {
            unsafe { *out = delegate };
            OK
        }
        Err(status) => status,
    }
}

/// The delegate's memory is the runtime allocator's.
unsafe extern "C" fn destroy(_: *const Backend, _: *mut c_void) {}

mod tensors;
use tensors::*;

unsafe fn run(
    host: &Host,
    delegate: &mut Delegate,
    context: &ExecutionContext,
    args: &[*const Value],
) -> Result<(), Status> {
    let expected = if delegate.operation == 0 { 3 } else { 2 };
    if args.len() != expected {
        let text = format_args!("execute: expected {} arguments, found {}", expected, args.len());
        return fail(host, INVALID_ARGUMENT, text);
    }
    let mut tensors = [ptr::null_mut(); 3];
    for (index, place) in tensors.iter_mut().enumerate().take(expected) {
        *place = unsafe { check(host, index, *args.get_unchecked(index)) }?;
    }
    let [a, second, third] = tensors;
    let out = if expected == 3 { third } else { second };
    unsafe { prepare(host, a, second, out, expected - 1) }?;
    let numel = unsafe { numel(a) };
    let mut sums: *mut f32 = ptr::null_mut();
    if numel > 0 {
        sums = unsafe { allocate(context.temp_allocator, numel * 4, align_of::<f32>()) }.cast();
        if sums.is_null() {
            let text = format_args!(
                "execute: expected {} bytes of the temp allocator, found none",
                numel * 4
            );
            return fail(host, MEMORY_ALLOCATION_FAILED, text);
        }
    }
    delegate.runs = delegate.runs.wrapping_add(1);
    unsafe {
        for i in 0..numel {
            let other = if expected == 3 { *element(second, i) } else { delegate.runs as f32 };
            *sums.add(i) = *element(a, i) * delegate.scale + other + delegate.added;
        }
        for i in 0..numel {
            *element(out, i) = *sums.add(i);
        }
    }
    Ok(())
}

unsafe extern "C" fn execute(
    backend: *const Backend,
    delegate: *mut c_void,
    context: *const ExecutionContext,
    args: *const *const Value,
    num_args: u32,
) -> Status {
    let args = if args.is_null() {
        &[]
    } else {
        unsafe { slice::from_raw_parts(args, num_args as usize) }
    };
    status_of(unsafe { run(&*backend, &mut *delegate.cast::<Delegate>(), &*context, args) })
}

/// `text` and zeros.
const fn field<const SIZE: usize>(text: &str) -> [u8; SIZE] {
    let mut out = [0; SIZE];
    let mut i = 0;
    while i < text.len() {
        out[i] = text.as_bytes()[i];
        i += 1;
    }
    out
}

#[repr(C)]
pub struct Plugin {
    head: PluginHead,
    record: BackendRecord,
    body: PluginBody,
    tables: [*const BackendApi; 1],
}
// Constant, also what it points to.
unsafe impl Sync for Plugin {}

static API: BackendApi = BackendApi {
    struct_size: size_of::<BackendApi>() as u32,
    reserved: 0,
    open,
    close,
    is_available,
    init,
    execute,
    destroy,
    get_extension,
};

#[allow(non_upper_case_globals)]
#[no_mangle]
pub static tenon_plugin_v1: Plugin = Plugin {
    head: PluginHead {
        magic: *b"\x89TENON1\n",
        head_size: size_of::<PluginHead>() as u32,
        object_size: size_of::<Plugin>() as u32,
        abi_major: 1,
        abi_minor: 0,
        min_host_abi_minor: 0,
        pointer_size: size_of::<*const u8>() as u8,
        little_endian: cfg!(target_endian = "little") as u8,
        num_backends: 1,
        records_offset: offset_of!(Plugin, record) as u32,
        record_size: size_of::<BackendRecord>() as u32,
        body_offset: offset_of!(Plugin, body) as u32,
        name: field("good_rust"),
        version: field("1.0.0"),
        vendor: field("Tenon"),
        sdk_version: field(""),
    },
    record: BackendRecord {
        struct_size: size_of::<BackendRecord>() as u32,
        priority: 0,
        min_payload_version: 1,
        max_payload_version: 1,
        id: field("ZooBackend"),
        tags: field("cpu"),
        cpu_features: field(""),
        description: field("Adds tensors of float32, in Rust"),
        flags: 0,
        reserved: 0,
    },
    body: PluginBody {
        struct_size: size_of::<PluginBody>() as u32,
        num_backends: 1,
        backends: (&raw const tenon_plugin_v1.tables).cast(),
    },
    tables: [&API],
};

#[link(name = "c")]
extern "C" {
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}
