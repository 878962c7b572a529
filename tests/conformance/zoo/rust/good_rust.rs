// SPDX-License-Identifier: MIT

//! The backend of ../good.h in Rust, without its extensions. It shares the declarations of the boundary
//! with the example, and reads what that does not: compile specs, named data, strides.
#![no_std]

#[macro_use]
#[path = "../../../../examples/backends/in_rust/abi.rs"]
mod abi;
mod tensors;

use abi::*;
use core::ffi::{c_char, c_void, CStr};
use core::mem::{offset_of, size_of};
use core::{ptr, slice};
use tensors::*;

/// One opened backend: what it keeps is the host.
type Backend = Host;

/// One loaded blob, in memory of the runtime allocator.
struct Delegate {
    operation: u32,
    scale: f32,
    added: f32,
    runs: i64,
}

fn status_of(result: Result<(), Status>) -> Status {
    result.err().unwrap_or(OK)
}

unsafe extern "C" fn open(host: *const Host, out: *mut *mut Backend) -> Status {
    let (major, minor) = ((*host).abi_major, (*host).abi_minor);
    if major != 1 {
        let name = CStr::from_ptr((*host).name);
        return fail!(
            host,
            NOT_SUPPORTED,
            "ZooBackend speaks ABI 1.0, the host {name:?} speaks {major}.{minor}"
        );
    }
    *out = host.cast_mut();
    OK
}

unsafe extern "C" fn close(_: *mut Backend) {}

unsafe extern "C" fn is_available(_: *mut Backend) -> Status {
    OK
}

unsafe extern "C" fn get_extension(_: *mut Backend, _: *const c_char) -> *const c_void {
    ptr::null()
}

/// `size` bytes of the host's at `data`, which may be NULL when there are none.
unsafe fn bytes_at<'a>(data: *const u8, size: u64) -> &'a [u8] {
    if data.is_null() {
        &[]
    } else {
        slice::from_raw_parts(data, size as usize)
    }
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}

unsafe fn read_blob(host: &Host, blob: &[u8]) -> Result<Delegate, Status> {
    let size = blob.len();
    if size < 16 {
        return Err(fail!(host, INVALID_PROGRAM, "blob: expected 16 bytes or more, found {size}"));
    }
    let [magic, version, operation, key_size] = [0, 4, 8, 12].map(|at| number_at(blob, at));
    if !blob.starts_with(b"ZOO1") || version != 1 {
        return Err(fail!(
            host,
            DELEGATE_INVALID_COMPATIBILITY,
            "blob: expected magic 314f4f5a and version 1, found {magic:08x} and version {version}"
        ));
    }
    if operation > 1 {
        return Err(fail!(
            host,
            INVALID_PROGRAM,
            "blob: expected operation 0 or 1, found {operation}"
        ));
    }
    if size as u64 - 16 != key_size as u64 {
        let found = size - 16;
        return Err(fail!(
            host,
            INVALID_PROGRAM,
            "blob: expected a key of {key_size} bytes, found {found}"
        ));
    }
    Ok(Delegate { operation, scale: 1.0, added: 0.0, runs: 0 })
}

unsafe fn read_scale(host: &Host, context: &InitContext, scale: &mut f32) -> Result<(), Status> {
    let mut at = context.compile_specs;
    for _ in 0..context.num_compile_specs {
        let spec = &*at;
        // The host's elements may be longer than `CompileSpec`.
        at = at.wrapping_byte_add((*context.compile_specs).struct_size as usize);
        if CStr::from_ptr(spec.key) != c"scale" {
            continue;
        }
        let value = bytes_at(spec.value, spec.value_size);
        let found = value.len();
        if found != 4 {
            return Err(fail!(
                host,
                INVALID_ARGUMENT,
                "compile spec scale: expected 4 bytes, found {found}"
            ));
        }
        *scale = f32::from_bits(number_at(value, 0));
    }
    Ok(())
}

unsafe fn read_added(host: &Host, context: &InitContext, key: &[u8]) -> Result<f32, Status> {
    if key.is_empty() {
        return Ok(0.0);
    }
    let shown = core::str::from_utf8(key).unwrap_or("(not UTF-8)");
    let map = context.named_data_map;
    if map.is_null() {
        return Err(fail!(
            host,
            NOT_FOUND,
            "named data {shown}: expected 4 bytes, found a program without"
        ));
    }
    let mut data = Buffer {
        struct_size: size_of::<Buffer>() as u32,
        reserved: 0,
        data: ptr::null(),
        nbytes: 0,
        owner: ptr::null_mut(),
        release: None,
    };
    let status = ((*map).get_data)(map, key.as_ptr(), key.len() as u64, &mut data);
    if status != OK {
        return Err(fail!(
            host,
            status,
            "named data {shown}: expected 4 bytes, found status {status:#x}"
        ));
    }
    let bytes = bytes_at(data.data, data.nbytes);
    let (found, added) = (bytes.len(), f32::from_bits(number_at(bytes, 0)));
    if let Some(release) = data.release {
        release(&mut data);
    }
    if found < 4 {
        return Err(fail!(
            host,
            INVALID_EXTERNAL_DATA,
            "named data {shown}: expected 4 bytes, found {found}"
        ));
    }
    Ok(added)
}

/// Memory for `count` objects, which `purpose` names.
unsafe fn allocate<T>(
    host: &Host,
    allocator: *mut Allocator,
    count: usize,
    purpose: &str,
) -> Result<*mut T, Status> {
    let nbytes = count * size_of::<T>();
    let place = ((*allocator).allocate)(allocator, nbytes as u64, align_of::<T>() as u64);
    if place.is_null() {
        return Err(fail!(
            host,
            MEMORY_ALLOCATION_FAILED,
            "{purpose}: expected {nbytes} bytes, found none"
        ));
    }
    Ok(place.cast())
}

unsafe fn load(host: &Host, context: &InitContext, out: *mut *mut Delegate) -> Result<(), Status> {
    let processed = &*context.processed;
    let blob = bytes_at(processed.data, processed.nbytes);
    let mut delegate = read_blob(host, blob)?;
    read_scale(host, context, &mut delegate.scale)?;
    delegate.added = read_added(host, context, blob.get(16..).unwrap_or(&[]))?;
    *out = allocate(host, context.runtime_allocator, 1, "init")?;
    (*out).write(delegate);
    if let Some(release) = processed.release {
        release(context.processed);
    }
    Ok(())
}

unsafe extern "C" fn init(
    backend: *mut Backend,
    context: *const InitContext,
    out: *mut *mut Delegate,
) -> Status {
    status_of(load(&*backend, &*context, out))
}

/// The delegate's memory is the runtime allocator's.
unsafe extern "C" fn destroy(_: *mut Backend, _: *mut Delegate) {}

unsafe fn run(
    host: &Host,
    delegate: &mut Delegate,
    context: &ExecutionContext,
    args: &[*mut Value],
) -> Result<(), Status> {
    let (expected, found) = (if delegate.operation == 0 { 3 } else { 2 }, args.len());
    if found != expected {
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "execute: expected {expected} arguments, found {found}"
        ));
    }
    let mut tensors = [ptr::null_mut(); 3];
    for (index, (place, value)) in tensors.iter_mut().zip(args).enumerate() {
        *place = check(host, index, *value)?;
    }
    let [a, second, third] = tensors;
    let out = if expected == 3 { third } else { second };
    prepare(host, a, second, out, expected - 1)?;
    let count = numel(a);
    let mut sums: *mut f32 = ptr::null_mut();
    if count > 0 {
        sums = allocate(host, context.temp_allocator, count, "execute")?;
    }
    delegate.runs = delegate.runs.wrapping_add(1);
    for i in 0..count {
        let other = if expected == 3 { *element(second, i) } else { delegate.runs as f32 };
        *sums.add(i) = *element(a, i) * delegate.scale + other + delegate.added;
    }
    for i in 0..count {
        *element(out, i) = *sums.add(i);
    }
    Ok(())
}

unsafe extern "C" fn execute(
    backend: *mut Backend,
    delegate: *mut Delegate,
    context: *const ExecutionContext,
    args: *const *mut Value,
    num_args: u32,
) -> Status {
    let args = if args.is_null() { &[] } else { slice::from_raw_parts(args, num_args as usize) };
    status_of(run(&*backend, &mut *delegate, &*context, args))
}

#[repr(C)]
pub struct Plugin {
    head: Head,
    record: Record,
    body: Body<Backend, Delegate>,
}
// Constant, also what it points to.
unsafe impl Sync for Plugin {}

static API: BackendApi<Backend, Delegate> = BackendApi {
    struct_size: size_of::<BackendApi<Backend, Delegate>>() as u32,
    reserved: 0,
    open,
    close,
    is_available,
    init,
    execute,
    destroy,
    get_extension,
};
static BACKENDS: [&BackendApi<Backend, Delegate>; 1] = [&API];

#[allow(non_upper_case_globals)]
#[no_mangle]
pub static tenon_plugin_v1: Plugin = Plugin {
    head: Head {
        magic: *b"\x89TENON1\n",
        head_size: size_of::<Head>() as u32,
        object_size: size_of::<Plugin>() as u32,
        abi_major: 1,
        abi_minor: 0,
        min_host_abi_minor: 0,
        pointer_size: size_of::<*const u8>() as u8,
        little_endian: cfg!(target_endian = "little") as u8,
        num_backends: 1,
        records_offset: offset_of!(Plugin, record) as u32,
        record_size: size_of::<Record>() as u32,
        body_offset: offset_of!(Plugin, body) as u32,
        name: field("good_rust"),
        version: field("1.0.0"),
        vendor: field("Tenon"),
        sdk_version: field(""),
    },
    record: Record {
        struct_size: size_of::<Record>() as u32,
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
    body: Body {
        struct_size: size_of::<Body<Backend, Delegate>>() as u32,
        num_backends: 1,
        backends: BACKENDS.as_ptr(),
    },
};

#[link(name = "c")]
extern "C" {
    fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}
