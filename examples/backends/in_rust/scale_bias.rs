// SPDX-License-Identifier: MIT
//
// A plugin in Rust without the standard library. Its backend "RustScaleBias" computes
//
//   y = gain * (a * x + b)
//
// `a` and `b` are in the blob, `gain` is an option. The backend object comes from `malloc`, a
// delegate from the allocator that the host gives to `init`.
#![no_std]

#[macro_use]
mod abi;

use abi::*;
use core::ffi::{c_char, c_void, CStr};
use core::mem::{offset_of, size_of};
use core::ptr::{addr_of, null};
use core::slice::from_raw_parts;
use core::sync::atomic::{AtomicU64, Ordering};

// [no_std]
#[link(name = "c")]
extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn abort() -> !;
}

/// Never called: nothing below panics with any input.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    unsafe { abort() }
}
// [no_std]

struct Backend {
    host: *const Host,
    gain: AtomicU64, // the bits of an f64: options are set while other threads load
}

struct Delegate {
    a: f32,
    b: f32,
    gain: f32,
}

// Options.

const fn real(value: f64) -> Setting {
    Setting {
        struct_size: size_of::<Setting>() as u32,
        type_: OPTION_DOUBLE,
        key: c"gain".as_ptr(),
        as_: OptionAs { real: value },
    }
}

const MOST_GAIN: f64 = 1e6;

/// Pointers are not `Sync`; what these point to is constant.
struct Constant<T>(T);
unsafe impl<T> Sync for Constant<T> {}

static INITIAL: Constant<Setting> = Constant(real(1.0));
static MINIMUM: Constant<Setting> = Constant(real(-MOST_GAIN));
static MAXIMUM: Constant<Setting> = Constant(real(MOST_GAIN));
static SPEC: Constant<OptionSpec> = Constant(OptionSpec {
    struct_size: size_of::<OptionSpec>() as u32,
    flags: OPTION_AT_RUNTIME | OPTION_AT_LOAD,
    description: c"factor of the outputs".as_ptr(),
    unit: null(),
    initial: &INITIAL.0,
    minimum: &MINIMUM.0,
    maximum: &MAXIMUM.0,
    choices: null(),
    num_choices: 0,
    reserved: 0,
});
static OPTIONS: Constant<Options<Backend>> = Constant(Options {
    struct_size: size_of::<Options<Backend>>() as u32,
    num_specs: 1,
    specs: &SPEC.0,
    set_option,
    get_option,
});

unsafe fn read_gain(host: *const Host, option: &Setting) -> Result<f64, Status> {
    let key = CStr::from_ptr(option.key);
    if key != c"gain" {
        return Err(fail!(host, NOT_FOUND, "option: expected gain, found {key:?}"));
    }
    if option.type_ != OPTION_DOUBLE {
        let found = option.type_;
        return Err(fail!(
            host,
            INVALID_TYPE,
            "option gain: expected type {OPTION_DOUBLE}, found {found}"
        ));
    }
    let gain = option.as_.real;
    if (-MOST_GAIN..=MOST_GAIN).contains(&gain) {
        return Ok(gain); // NaN is in no range
    }
    Err(fail!(
        host,
        INVALID_ARGUMENT,
        "option gain: expected {} to {MOST_GAIN}, found {gain}",
        -MOST_GAIN
    ))
}

unsafe extern "C" fn set_option(backend: *mut Backend, option: *const Setting) -> Status {
    match read_gain((*backend).host, &*option) {
        Ok(gain) => (*backend).gain.store(gain.to_bits(), Ordering::Relaxed),
        Err(status) => return status,
    }
    OK
}

unsafe extern "C" fn get_option(
    backend: *mut Backend,
    key: *const c_char,
    sink: OptionSink,
    context: *mut c_void,
) -> Status {
    let key = CStr::from_ptr(key);
    if key != c"gain" {
        return fail!((*backend).host, NOT_FOUND, "option: expected gain, found {key:?}");
    }
    sink(context, &real(f64::from_bits((*backend).gain.load(Ordering::Relaxed))));
    OK
}

// From `open` to `init` and `destroy`.

unsafe extern "C" fn open(host: *const Host, out: *mut *mut Backend) -> Status {
    let (major, minor) = ((*host).abi_major, (*host).abi_minor);
    if major != 1 {
        return fail!(
            host,
            NOT_SUPPORTED,
            "host: expected ABI 1.0 or later, found {major}.{minor}"
        );
    }
    let backend = malloc(size_of::<Backend>()) as *mut Backend;
    if backend.is_null() {
        let size = size_of::<Backend>();
        return fail!(host, MEMORY_ALLOCATION_FAILED, "expected {size} bytes, found none");
    }
    backend.write(Backend { host, gain: AtomicU64::new(INITIAL.0.as_.real.to_bits()) });
    *out = backend;
    OK
}

unsafe extern "C" fn close(backend: *mut Backend) {
    free(backend as *mut c_void);
}

unsafe extern "C" fn is_available(_: *mut Backend) -> Status {
    OK
}

/// A blob is 16 bytes, little-endian: "RSCB", the version, a, b.
unsafe fn read_blob(host: *const Host, buffer: &Buffer) -> Result<(f32, f32), Status> {
    let size = buffer.nbytes;
    let bytes = if size == 0 { &[] } else { from_raw_parts(buffer.data, size as usize) };
    let word = |at: usize| bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    let (Some(b"RSCB"), Some(version)) = (word(0).as_ref(), word(4).map(u32::from_le_bytes)) else {
        return Err(fail!(
            host,
            DELEGATE_INVALID_COMPATIBILITY,
            "blob: expected RSCB and a version, found {size} other bytes"
        ));
    };
    if version != 1 {
        return Err(fail!(
            host,
            DELEGATE_INVALID_COMPATIBILITY,
            "blob: expected version 1, found {version}"
        ));
    }
    let numbers = (word(8).map(f32::from_le_bytes), word(12).map(f32::from_le_bytes));
    match numbers {
        (Some(a), Some(b)) if size == 16 && a.is_finite() && b.is_finite() => Ok((a, b)),
        _ => Err(fail!(
            host,
            INVALID_PROGRAM,
            "blob: expected 16 bytes with finite a and b, found {size} bytes with {numbers:?}"
        )),
    }
}

unsafe extern "C" fn init(
    backend: *mut Backend,
    context: *const InitContext,
    out: *mut *mut Delegate,
) -> Status {
    let host = (*backend).host;
    let mut gain = f64::from_bits((*backend).gain.load(Ordering::Relaxed));
    let mut at = (*context).runtime_specs as *const u8;
    for _ in 0..(*context).num_runtime_specs {
        match read_gain(host, &*(at as *const Setting)) {
            Ok(value) => gain = value,
            Err(status) => return status,
        }
        // The host's elements may be longer than `Setting`.
        at = at.add((*(*context).runtime_specs).struct_size as usize);
    }
    let (a, b) = match read_blob(host, &*(*context).processed) {
        Ok(numbers) => numbers,
        Err(status) => return status,
    };
    let (size, alignment) = (size_of::<Delegate>() as u64, align_of::<Delegate>() as u64);
    let allocator = (*context).runtime_allocator;
    let delegate = ((*allocator).allocate)(allocator, size, alignment) as *mut Delegate;
    if delegate.is_null() {
        return fail!(host, MEMORY_ALLOCATION_FAILED, "expected {size} bytes, found none");
    }
    delegate.write(Delegate { a, b, gain: gain as f32 });
    *out = delegate;
    OK
}

/// The host frees the memory of its allocator.
unsafe extern "C" fn destroy(_: *mut Backend, _: *mut Delegate) {}

// Runs.

/// Argument `index`, when it is a float32 tensor on the CPU.
unsafe fn tensor(
    host: *const Host,
    args: *const *mut Value,
    index: usize,
) -> Result<*mut Tensor, Status> {
    let value = &**args.add(index);
    if value.kind != VALUE_TENSOR {
        let found = value.kind;
        return Err(fail!(
            host,
            INVALID_TYPE,
            "argument {index}: expected kind {VALUE_TENSOR}, found {found}"
        ));
    }
    let tensor = &*value.as_.tensor;
    let found = (tensor.dtype_code, tensor.dtype_bits, tensor.dtype_lanes, tensor.device_type);
    if found != (DL_FLOAT, 32, 1, DL_CPU) {
        return Err(fail!(
            host,
            INVALID_TYPE,
            "argument {index}: expected code, bits, lanes and device type {:?}, found {found:?}",
            (DL_FLOAT, 32, 1, DL_CPU)
        ));
    }
    Ok(value.as_.tensor)
}

/// The number of elements and the first one, when they are in row-major order without gaps.
unsafe fn elements(
    host: *const Host,
    tensor: &Tensor,
    index: usize,
) -> Result<(usize, *mut f32), Status> {
    let mut count = Some(1i64);
    let mut is_row_major = true;
    for i in (0..tensor.ndim as usize).rev() {
        let size = *tensor.shape.add(i);
        is_row_major &= size <= 1 || Some(*tensor.strides.add(i)) == count;
        // A size of 0 counts as 1 in strides, and makes the tensor empty.
        count =
            if size < 0 { None } else { count.and_then(|count| count.checked_mul(size.max(1))) };
    }
    let is_empty = (0..tensor.ndim as usize).any(|i| *tensor.shape.add(i) == 0);
    match count {
        Some(_) if is_empty => Ok((0, core::ptr::NonNull::dangling().as_ptr())),
        Some(count) if is_row_major && !tensor.data.is_null() => {
            let first = (tensor.data as *mut u8).add(tensor.byte_offset as usize);
            Ok((count as usize, first as *mut f32))
        }
        _ => {
            let data = tensor.data;
            Err(fail!(
                host,
                INVALID_ARGUMENT,
                "argument {index}: expected elements in row-major order, found {count:?} \
                 (row-major: {is_row_major}) at {data:?}"
            ))
        }
    }
}

unsafe extern "C" fn execute(
    backend: *mut Backend,
    delegate: *mut Delegate,
    _: *const ExecutionContext,
    args: *const *mut Value,
    num_args: u32,
) -> Status {
    let host = (*backend).host;
    if num_args != 2 {
        return fail!(host, INVALID_ARGUMENT, "arguments: expected 2, found {num_args}");
    }
    match run(host, &*delegate, args) {
        Ok(()) => OK,
        Err(status) => status,
    }
}

unsafe fn run(
    host: *const Host,
    delegate: &Delegate,
    args: *const *mut Value,
) -> Result<(), Status> {
    let input = tensor(host, args, 0)?;
    let output = tensor(host, args, 1)?;
    let (count, x) = elements(host, &*input, 0)?;
    let rank = (*input).ndim;
    let status = ((*host).resize_tensor)(host, output, (*input).shape, rank as u32);
    if status != OK {
        let found = (*output).ndim;
        return Err(fail!(
            host,
            status,
            "argument 1: expected the sizes of argument 0 ({count} elements, rank {rank}), \
             found a tensor of rank {found} that cannot have them"
        ));
    }
    let (_, y) = elements(host, &*output, 1)?;
    for i in 0..count {
        *y.add(i) = delegate.gain * (delegate.a * *x.add(i) + delegate.b);
    }
    Ok(())
}

unsafe extern "C" fn get_extension(_: *mut Backend, id: *const c_char) -> *const c_void {
    if CStr::from_ptr(id) == c"tenon.options/1" {
        return addr_of!(OPTIONS.0) as *const c_void;
    }
    null()
}

// The object that hosts find.

#[repr(C)]
pub struct Plugin {
    head: Head,
    record: Record,
    body: Body<Backend, Delegate>,
}

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

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static tenon_plugin_v1: Plugin = Plugin {
    head: Head {
        magic: *b"\x89TENON1\n",
        head_size: size_of::<Head>() as u32,
        object_size: size_of::<Plugin>() as u32,
        abi_major: 1,
        abi_minor: 0,
        min_host_abi_minor: 0,
        pointer_size: size_of::<*const c_void>() as u8,
        little_endian: cfg!(target_endian = "little") as u8,
        num_backends: 1,
        records_offset: offset_of!(Plugin, record) as u32,
        record_size: size_of::<Record>() as u32,
        body_offset: offset_of!(Plugin, body) as u32,
        name: field("RustScaleBias"),
        version: field("1.0.0"),
        vendor: field("Tenon's examples"),
        sdk_version: field("0.1.0"),
    },
    record: Record {
        struct_size: size_of::<Record>() as u32,
        priority: 0,
        min_payload_version: 1,
        max_payload_version: 1,
        id: field("RustScaleBias"),
        tags: field("cpu"),
        cpu_features: field(""),
        description: field("Scale and bias of float32 tensors, in Rust"),
        flags: 0,
        reserved: 0,
    },
    body: Body {
        struct_size: size_of::<Body<Backend, Delegate>>() as u32,
        num_backends: 1,
        backends: BACKENDS.as_ptr(),
    },
};
