// SPDX-License-Identifier: MIT
//! Memory of the application and of methods as slices.
use crate::sys;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// Types of elements that are a type of Rust.
pub trait Element: Copy + sealed::Sealed + 'static {
    /// DLPack's code, bits and lanes.
    const DTYPE: sys::DType;
}

macro_rules! elements {
    ($($type:ty: $code:expr),*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {
            const DTYPE: sys::DType =
                sys::DType { code: $code, bits: (8 * std::mem::size_of::<$type>()) as u8, lanes: 1 };
        }
    )*};
}
elements!(i8: 0, i16: 0, i32: 0, i64: 0, u8: 1, u16: 1, u32: 1, u64: 1, f32: 2, f64: 2);

/// A tensor that is lent to a run: dense, the last dimension innermost.
pub struct Input<'a> {
    data: *mut std::os::raw::c_void,
    dtype: sys::DType,
    shape: &'a [i64],
    len: usize,
    pub(crate) is_writable: bool,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl<'a> Input<'a> {
    /// Memory that the program only reads.
    pub fn new<T: Element>(data: &'a [T], shape: &'a [i64]) -> Self {
        Self::of(data.as_ptr() as *mut _, T::DTYPE, data.len(), shape, false)
    }

    /// Memory that the program may write to, as a program that changes its state in place does.
    pub fn new_mut<T: Element>(data: &'a mut [T], shape: &'a [i64]) -> Self {
        Self::of(data.as_mut_ptr().cast(), T::DTYPE, data.len(), shape, true)
    }

    fn of(
        data: *mut std::os::raw::c_void,
        dtype: sys::DType,
        len: usize,
        shape: &'a [i64],
        is_writable: bool,
    ) -> Self {
        Input { data, dtype, shape, len, is_writable, borrowed: PhantomData }
    }

    /// Whether the slice has as many elements as the shape; the library believes the shape.
    pub(crate) fn is_complete(&self) -> bool {
        let mut count: usize = 1;
        for &size in self.shape {
            match usize::try_from(size).ok().and_then(|size| count.checked_mul(size)) {
                Some(product) => count = product,
                None => return false,
            }
        }
        count == self.len
    }

    /// Refers to the shape, which the library only reads.
    pub(crate) fn raw(&self) -> sys::DlTensor {
        sys::DlTensor {
            data: self.data,
            device: sys::CPU,
            ndim: self.shape.len() as i32,
            dtype: self.dtype,
            shape: self.shape.as_ptr() as *mut i64,
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        }
    }
}

/// An output of a run, in the memory of the method.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T> {
    /// Its sizes.
    pub shape: &'a [i64],
    /// Its elements, the last dimension innermost.
    pub data: &'a [T],
}

impl<'a, T: Element> View<'a, T> {
    /// Nothing when the tensor has elements of another type, is on a device, has no data, or has its
    /// dimensions in another order.
    ///
    /// # Safety
    /// `tensor` is one of the library, whose memory is valid and not written to for `'a`.
    pub(crate) unsafe fn of(tensor: &'a sys::Tensor) -> Option<Self> {
        let dl = &tensor.dl;
        let rank = usize::try_from(dl.ndim).ok()?;
        // An empty slice has no null pointer.
        let list = |first: *const i64| match rank {
            0 => &[] as &[i64],
            // SAFETY: the library has `ndim` of both.
            _ => unsafe { std::slice::from_raw_parts(first, rank) },
        };
        let (shape, strides) = (list(dl.shape), list(dl.strides));
        let mut expected = 1;
        for (&size, &stride) in shape.iter().zip(strides).rev() {
            if size != 1 && stride != expected {
                return None;
            }
            expected *= size;
        }
        if dl.dtype != T::DTYPE || dl.device.device_type != sys::CPU.device_type {
            return None;
        }
        let len = tensor.nbytes as usize / std::mem::size_of::<T>();
        if len == 0 {
            return Some(View { shape, data: &[] });
        }
        if dl.data.is_null() {
            return None;
        }
        // SAFETY: the library aligns tensors to their elements and has `nbytes` bytes there.
        let data = unsafe {
            std::slice::from_raw_parts(
                dl.data.cast::<u8>().add(dl.byte_offset as usize).cast(),
                len,
            )
        };
        Some(View { shape, data })
    }
}
