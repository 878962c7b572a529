// SPDX-License-Identifier: MIT

//! How the plugin beside this file checks and reads its arguments.

use super::*;

/// A float32 tensor on the CPU, or the reason why argument `index` is none.
pub unsafe fn check(host: &Host, index: usize, value: *const Value) -> Result<*mut Tensor, Status> {
    let value = unsafe { &*value };
    if value.kind != VALUE_TENSOR {
        let text =
            format_args!("argument {}: expected kind 1, found kind {}", index, value.kind);
        return fail(host, INVALID_ARGUMENT, text);
    }
    let tensor = unsafe { &*value.tensor };
    if tensor.scalar_type != SCALAR_TYPE_FLOAT || tensor.dtype != [2, 32, 1, 0] {
        let text = format_args!(
            "argument {}: expected float32 (scalar type 6), found scalar type {}, dtype {:?}",
            index, tensor.scalar_type, tensor.dtype
        );
        return fail(host, INVALID_TYPE, text);
    }
    if tensor.device_type != 1 {
        let text = format_args!(
            "argument {}: expected device type 1, found {}",
            index, tensor.device_type
        );
        return fail(host, INVALID_ARGUMENT, text);
    }
    if tensor.ndim < 0 || tensor.ndim as usize > MAX_RANK {
        let text =
            format_args!("argument {}: expected rank 0 to 8, found {}", index, tensor.ndim);
        return fail(host, NOT_SUPPORTED, text);
    }
    let mut nbytes = Some(4u64);
    for d in 0..tensor.ndim as usize {
        let (size, bound) = unsafe { (*tensor.shape.add(d), *tensor.bounds.add(d)) };
        nbytes = nbytes.filter(|_| 0 <= size && size <= bound);
        nbytes = nbytes.and_then(|product| product.checked_mul(size as u64));
    }
    if nbytes != Some(tensor.nbytes) {
        let text = format_args!(
            "argument {}: expected sizes within bounds that make up {} bytes, found others",
            index, tensor.nbytes
        );
        return fail(host, INVALID_ARGUMENT, text);
    }
    Ok(value.tensor)
}

/// The sizes of a tensor that was checked.
unsafe fn sizes<'a>(tensor: *const Tensor) -> &'a [i64] {
    let tensor = unsafe { &*tensor };
    if tensor.ndim == 0 {
        return &[];
    }
    unsafe { slice::from_raw_parts(tensor.shape, tensor.ndim as usize) }
}

unsafe fn check_data(host: &Host, index: usize, tensor: *const Tensor) -> Result<(), Status> {
    let tensor = unsafe { &*tensor };
    if tensor.nbytes == 0 {
        return Ok(());
    }
    if tensor.data.is_null() || tensor.capacity < tensor.nbytes {
        let text = format_args!(
            "argument {}: expected {} bytes of data, found {} at {:p}",
            index, tensor.nbytes, tensor.capacity, tensor.data
        );
        return fail(host, INVALID_ARGUMENT, text);
    }
    let address = tensor.data.wrapping_add(tensor.byte_offset as usize);
    if address as usize % align_of::<f32>() != 0 {
        let text =
            format_args!("argument {}: expected a multiple of 4, found {:p}", index, address);
        return fail(host, INVALID_ARGUMENT, text);
    }
    Ok(())
}

/// Checks that the tensors fit together, and gives the output its sizes.
pub unsafe fn prepare(
    host: &Host,
    a: *mut Tensor,
    second: *mut Tensor,
    out: *mut Tensor,
    num_inputs: usize,
) -> Result<(), Status> {
    let wanted = unsafe { sizes(a) };
    if num_inputs == 2 && unsafe { sizes(second) } != wanted {
        let found = unsafe { sizes(second) };
        let text = format_args!("argument 1: expected sizes {:?}, found {:?}", wanted, found);
        return fail(host, INVALID_ARGUMENT, text);
    }
    let found = unsafe { sizes(out) };
    if found.len() != wanted.len() {
        let (wanted, found) = (wanted.len(), found.len());
        let text =
            format_args!("argument {}: expected rank {}, found {}", num_inputs, wanted, found);
        return fail(host, INVALID_ARGUMENT, text);
    }
    if found != wanted {
        let rank = wanted.len() as u32;
        let status = unsafe { (host.resize_tensor)(host, out, wanted.as_ptr(), rank) };
        if status != OK {
            let text = format_args!(
                "argument {}: expected sizes {:?}, found {:?} that cannot be changed",
                num_inputs, wanted, found
            );
            return fail(host, status, text);
        }
    }
    unsafe { check_data(host, 0, a) }?;
    unsafe { check_data(host, 1, second) }?;
    unsafe { check_data(host, num_inputs, out) }
}

pub unsafe fn numel(tensor: *const Tensor) -> usize {
    unsafe { (*tensor).nbytes as usize / 4 }
}

/// Where element number `index` lies, counted as if the tensor were contiguous.
pub unsafe fn element(tensor: *const Tensor, index: usize) -> *mut f32 {
    let sizes = unsafe { sizes(tensor) };
    let tensor = unsafe { &*tensor };
    let mut rest = index as i64;
    let mut offset = 0i64;
    for (d, size) in sizes.iter().enumerate().rev() {
        let stride = unsafe { *tensor.strides.add(d) };
        offset = offset.wrapping_add((rest % size.max(&1)).wrapping_mul(stride));
        rest /= size.max(&1);
    }
    let first = tensor.data.wrapping_add(tensor.byte_offset as usize).cast::<f32>();
    first.wrapping_offset(offset as isize)
}
