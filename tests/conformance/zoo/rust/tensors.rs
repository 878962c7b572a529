// SPDX-License-Identifier: MIT

//! How the plugin beside this file checks and reads its arguments.

use super::*;

const MAX_RANK: i32 = 8;

/// A float32 tensor on the CPU, or the reason why argument `index` is no such tensor.
pub unsafe fn check(host: &Host, index: usize, value: *const Value) -> Result<*mut Tensor, Status> {
    let kind = (*value).kind;
    if kind != VALUE_TENSOR {
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument {index}: expected kind {VALUE_TENSOR}, found kind {kind}"
        ));
    }
    let tensor = &*(*value).as_.tensor;
    let found = (tensor.scalar_type, tensor.dtype_code, tensor.dtype_bits, tensor.dtype_lanes);
    let float = (SCALAR_TYPE_FLOAT, DL_FLOAT, 32, 1);
    if found != float {
        return Err(fail!(
            host,
            INVALID_TYPE,
            "argument {index}: expected scalar type, code, bits and lanes {float:?}, found {found:?}"
        ));
    }
    let (device, rank) = (tensor.device_type, tensor.ndim);
    if device != DL_CPU {
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument {index}: expected device type {DL_CPU}, found {device}"
        ));
    }
    if !(0..=MAX_RANK).contains(&rank) {
        return Err(fail!(
            host,
            NOT_SUPPORTED,
            "argument {index}: expected rank 0 to {MAX_RANK}, found {rank}"
        ));
    }
    let mut nbytes = Some(4u64);
    for d in 0..rank as usize {
        let (size, bound) = (*tensor.shape.add(d), *tensor.bounds.add(d));
        nbytes = nbytes.filter(|_| 0 <= size && size <= bound);
        nbytes = nbytes.and_then(|product| product.checked_mul(size as u64));
    }
    if nbytes != Some(tensor.nbytes) {
        let expected = tensor.nbytes;
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument {index}: expected sizes within bounds that make up {expected} bytes, found others"
        ));
    }
    Ok((*value).as_.tensor)
}

/// The sizes of a tensor that was checked.
unsafe fn sizes<'a>(tensor: *const Tensor) -> &'a [i64] {
    let rank = (*tensor).ndim as usize;
    if rank == 0 {
        &[]
    } else {
        slice::from_raw_parts((*tensor).shape, rank)
    }
}

unsafe fn check_data(host: &Host, index: usize, tensor: *const Tensor) -> Result<(), Status> {
    let (data, nbytes, capacity) = ((*tensor).data, (*tensor).nbytes, (*tensor).capacity);
    if nbytes == 0 {
        return Ok(());
    }
    if data.is_null() || capacity < nbytes {
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument {index}: expected {nbytes} bytes of data, found {capacity} at {data:p}"
        ));
    }
    let address = data.wrapping_byte_add((*tensor).byte_offset as usize);
    if address as usize % align_of::<f32>() != 0 {
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument {index}: expected a multiple of 4, found {address:p}"
        ));
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
    let (wanted, found) = (sizes(a), sizes(second));
    if num_inputs == 2 && found != wanted {
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument 1: expected sizes {wanted:?}, found {found:?}"
        ));
    }
    let found = sizes(out);
    if found.len() != wanted.len() {
        let (wanted, found) = (wanted.len(), found.len());
        return Err(fail!(
            host,
            INVALID_ARGUMENT,
            "argument {num_inputs}: expected rank {wanted}, found {found}"
        ));
    }
    if found != wanted {
        let status = (host.resize_tensor)(host, out, wanted.as_ptr(), wanted.len() as u32);
        if status != OK {
            return Err(fail!(
                host,
                status,
                "argument {num_inputs}: expected sizes {wanted:?}, found {found:?} that cannot be changed"
            ));
        }
    }
    check_data(host, 0, a)?;
    check_data(host, 1, second)?;
    check_data(host, num_inputs, out)
}

pub unsafe fn numel(tensor: *const Tensor) -> usize {
    (*tensor).nbytes as usize / size_of::<f32>()
}

/// Where element number `index` lies, counted as if the tensor were contiguous.
pub unsafe fn element(tensor: *const Tensor, index: usize) -> *mut f32 {
    let mut rest = index as i64;
    let mut offset = 0i64;
    for (d, size) in sizes(tensor).iter().enumerate().rev() {
        let stride = *(*tensor).strides.add(d);
        offset = offset.wrapping_add((rest % size.max(&1)).wrapping_mul(stride));
        rest /= size.max(&1);
    }
    let first = (*tensor).data.wrapping_byte_add((*tensor).byte_offset as usize).cast::<f32>();
    first.wrapping_offset(offset as isize)
}
