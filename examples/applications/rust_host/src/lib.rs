// SPDX-License-Identifier: MIT
//! Runs ExecuTorch programs through Tenon plugins.
//!
//! A safe wrapper of `libtenon.so`, without dependencies. The contract of
//! `tenon/host/c/tenon_host.h` is in the types: a [`Registry`] and a [`Program`] are shared between
//! threads, a [`Method`] moves between them but is for one at a time, a [`Canceller`] ends its run
//! from any thread. Nothing has to be destroyed in an order.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

mod sys;
mod tensor;

pub use tensor::{Element, Input, View};

use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The number of a TENON_STATUS_...; ExecuTorch has the same numbers.
    pub status: u32,
    /// One or several lines.
    pub text: String,
}

/// `Ok`, or an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

const INVALID_ARGUMENT: u32 = 0x12;
/// The status of a run that was cancelled.
pub const CANCELLED: u32 = 0x7d;

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the name is static.
        let name = unsafe { CStr::from_ptr(sys::tenon_status_name(self.status)) };
        write!(out, "{}: {}", name.to_string_lossy(), self.text)
    }
}

impl std::error::Error for Error {}

fn invalid(text: impl Into<String>) -> Error {
    Error { status: INVALID_ARGUMENT, text: text.into() }
}

/// Calls a function of the library with the place for its error.
fn check(call: impl FnOnce(*mut *mut sys::Error) -> sys::Status) -> Result<()> {
    let mut error = null_mut();
    if call(&mut error) == sys::OK {
        return Ok(());
    }
    // SAFETY: a failure stores an error, which is destroyed once, and whose text is valid until then.
    unsafe {
        let text = CStr::from_ptr(sys::tenon_error_text(error)).to_string_lossy().into_owned();
        let status = sys::tenon_error_status(error);
        sys::tenon_error_destroy(error);
        Err(Error { status, text })
    }
}

fn c_string(text: impl Into<Vec<u8>>) -> Result<CString> {
    CString::new(text).map_err(|_| invalid("a text has a NUL in it"))
}

fn c_path(path: &Path) -> Result<CString> {
    c_string(path.as_os_str().as_bytes())
}

/// Version of the C interface: major and minor.
pub fn c_version() -> (u32, u32) {
    // SAFETY: has no conditions.
    let version = unsafe { sys::tenon_c_version() };
    (version >> 16, version & 0xffff)
}

/// Finds and loads plugins.
pub struct Registry(*mut sys::Registry);

// SAFETY: "any thread, also at the same time as any other call" (tenon_host.h).
unsafe impl Send for Registry {}
unsafe impl Sync for Registry {}

impl Registry {
    /// A registry that knows no plugin.
    pub fn new() -> Result<Self> {
        let mut out = null_mut();
        // SAFETY: null means the defaults.
        check(|error| unsafe { sys::tenon_registry_create(null(), &mut out, error) })?;
        Ok(Registry(out))
    }

    /// Registers the plugin in a file, which is read and not loaded.
    pub fn register_plugin(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: the text is not used after the call.
        check(|error| unsafe {
            sys::tenon_registry_register_plugin(self.0, path.as_ptr(), null(), error)
        })
    }

    /// Adds a search in directories, then in the places that the environment names and where plugins
    /// are installed.
    pub fn discover(&self, paths: &[&Path]) -> Result<()> {
        let paths = paths.iter().map(|path| c_path(path)).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<_> = paths.iter().map(|path| path.as_ptr()).collect();
        let options = sys::DiscoveryOptions {
            struct_size: std::mem::size_of::<sys::DiscoveryOptions>() as u32,
            flags: 0,
            paths: pointers.as_ptr(),
            num_paths: pointers.len() as u32,
            reserved: 0,
        };
        // SAFETY: the options are not used after the call.
        check(|error| unsafe { sys::tenon_registry_discover(self.0, &options, error) })
    }

    /// Whether the backend can be used here; the error says why not.
    pub fn check_backend(&self, id: &str) -> Result<()> {
        let id = c_string(id)?;
        // SAFETY: as above.
        check(|error| unsafe { sys::tenon_registry_check_backend(self.0, id.as_ptr(), error) })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: destroyed once; methods keep what they need.
        unsafe { sys::tenon_registry_destroy(self.0) }
    }
}

/// A `.pte` file, verified.
pub struct Program(*mut sys::Program);

// SAFETY: immutable.
unsafe impl Send for Program {}
unsafe impl Sync for Program {}

impl Program {
    /// Maps a file, which must not change while the program, or a method of it, lives.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = c_path(path.as_ref())?;
        let mut out = null_mut();
        // SAFETY: the text is not used after the call.
        check(|error| unsafe { sys::tenon_program_open(path.as_ptr(), null(), &mut out, error) })?;
        Ok(Program(out))
    }

    /// Copies the bytes of a file.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let name = c_string(name)?;
        let mut out = null_mut();
        // SAFETY: the bytes are copied.
        check(|error| unsafe {
            let size = bytes.len() as u64;
            let start = bytes.as_ptr().cast();
            sys::tenon_program_copy(start, size, name.as_ptr(), null(), &mut out, error)
        })?;
        Ok(Program(out))
    }

    /// Names of the methods.
    pub fn methods(&self) -> Vec<String> {
        // SAFETY: the names are valid while the program is.
        unsafe {
            let count = sys::tenon_program_num_methods(self.0);
            let name = |i| CStr::from_ptr(sys::tenon_program_method_name(self.0, i));
            (0..count).map(|i| name(i).to_string_lossy().into_owned()).collect()
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: destroyed once; methods keep what they need.
        unsafe { sys::tenon_program_destroy(self.0) }
    }
}

/// Options of [`Method::load`].
#[derive(Default, Clone, Copy)]
pub struct MethodOptions<'a> {
    /// Finds the backends.
    pub registry: Option<&'a Registry>,
    /// Whether [`Canceller::cancel`] can end a run.
    pub cancellable: bool,
}

struct MethodHandle(*mut sys::Method);

// SAFETY: what may be called from any thread is `cancel`, for which alone it is shared.
unsafe impl Send for MethodHandle {}
unsafe impl Sync for MethodHandle {}

impl Drop for MethodHandle {
    fn drop(&mut self) {
        // SAFETY: destroyed once, when no run is going on: a run borrows the method.
        unsafe { sys::tenon_method_destroy(self.0) }
    }
}

/// A method of a program, loaded. It is for one thread at a time, and not `Sync`.
pub struct Method {
    handle: Arc<MethodHandle>,
    one_thread: PhantomData<std::cell::Cell<()>>,
}

/// A state of its own for the delegates of a method. The method may be destroyed before it.
pub struct Session(*mut sys::Session);

// SAFETY: may be destroyed by any thread; to use it takes its method, exclusively.
unsafe impl Send for Session {}
unsafe impl Sync for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: destroyed once; the method keeps the one that it uses.
        unsafe { sys::tenon_session_destroy(self.0) }
    }
}

/// Ends runs of a method, from any thread.
#[derive(Clone)]
pub struct Canceller(Arc<MethodHandle>);

impl Canceller {
    /// Ends the run that is going on, which then fails with [`CANCELLED`]; without one it does nothing.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: from any thread, at any time until the method is destroyed.
        check(|error| unsafe { sys::tenon_method_cancel(self.0 .0, error) })
    }
}

impl Method {
    /// Loads a method.
    pub fn load(program: &Program, name: &str, options: MethodOptions<'_>) -> Result<Self> {
        let name = c_string(name)?;
        let raw = sys::MethodOptions {
            struct_size: std::mem::size_of::<sys::MethodOptions>() as u32,
            flags: if options.cancellable { sys::METHOD_CANCELLABLE } else { 0 },
            registry: options.registry.map_or(null(), |registry| registry.0 as *const _),
            // SAFETY: zero is the default of all members.
            ..unsafe { std::mem::zeroed() }
        };
        let mut out = null_mut();
        // SAFETY: the options are not used after the call; the method keeps the registry.
        check(|error| unsafe {
            sys::tenon_method_load(program.0, name.as_ptr(), &raw, &mut out, error)
        })?;
        Ok(Method { handle: Arc::new(MethodHandle(out)), one_thread: PhantomData })
    }

    /// Number of inputs.
    pub fn num_inputs(&self) -> usize {
        // SAFETY: does not change.
        unsafe { sys::tenon_method_num_inputs(self.handle.0) as usize }
    }

    /// Runs the method with all its inputs, which are not copied. An output may be an input that the
    /// program passes on, so the outputs borrow both.
    pub fn run<'a>(&'a mut self, inputs: &'a [Input<'a>]) -> Result<Outputs<'a>> {
        let method = self.handle.0;
        if inputs.len() != self.num_inputs() {
            let (expected, found) = (self.num_inputs(), inputs.len());
            return Err(invalid(format!("expected {expected} inputs, found {found}")));
        }
        for (index, input) in inputs.iter().enumerate() {
            if !input.is_complete() {
                return Err(invalid(format!("input {index}: the slice and the shape differ")));
            }
            // SAFETY: has no conditions.
            let is_written = unsafe { sys::tenon_method_writes_input(method, index as u64) } != 0;
            if is_written && !input.is_writable {
                return Err(invalid(format!("input {index}: the program writes to it: new_mut")));
            }
            // SAFETY: the memory is borrowed for as long as the outputs are, and each run sets all.
            check(|error| unsafe {
                sys::tenon_method_set_input(method, index as u64, &input.raw(), error)
            })?;
        }
        // SAFETY: this thread has the method alone.
        check(|error| unsafe { sys::tenon_method_execute(method, error) })?;
        Ok(Outputs { method: self })
    }

    /// Makes a state of its own for every delegate.
    pub fn create_session(&mut self) -> Result<Session> {
        let mut out = null_mut();
        // SAFETY: this thread has the method alone; null means the defaults.
        check(|error| unsafe {
            sys::tenon_method_create_session(self.handle.0, null(), &mut out, error)
        })?;
        Ok(Session(out))
    }

    /// Later runs use the state of `session`, which this method made; `None`: the method's own.
    pub fn use_session(&mut self, session: Option<&Session>) -> Result<()> {
        let session = session.map_or(null_mut(), |session| session.0);
        // SAFETY: this thread has the method alone, which keeps the session.
        check(|error| unsafe { sys::tenon_method_use_session(self.handle.0, session, error) })
    }

    /// For other threads. The method was loaded with [`MethodOptions::cancellable`].
    pub fn canceller(&self) -> Canceller {
        Canceller(self.handle.clone())
    }
}

/// Outputs of a run, until the next one.
pub struct Outputs<'a> {
    method: &'a Method,
}

impl Outputs<'_> {
    /// Number of outputs.
    pub fn len(&self) -> usize {
        // SAFETY: does not change.
        unsafe { sys::tenon_method_num_outputs(self.method.handle.0) as usize }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Output `index`, not copied: a dense tensor of `T` in the memory of the CPU.
    pub fn get<T: Element>(&self, index: usize) -> Result<View<'_, T>> {
        // SAFETY: the value belongs to the method, which does not run while it is borrowed.
        let view = unsafe {
            let value = sys::tenon_method_get_output(self.method.handle.0, index as u64).as_ref();
            let value = value.ok_or_else(|| invalid(format!("there is no output {index}")))?;
            match value.kind {
                sys::VALUE_TENSOR => View::of(&*value.value.tensor),
                _ => None,
            }
        };
        let type_name = std::any::type_name::<T>();
        view.ok_or_else(|| invalid(format!("output {index} is no dense tensor of {type_name}")))
    }
}
