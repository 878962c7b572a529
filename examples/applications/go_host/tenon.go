// SPDX-License-Identifier: MIT

// Package tenon runs ExecuTorch programs through Tenon plugins: a small wrapper of libtenon.so.
//
// A Registry and a Program are for all goroutines at once, a Method is for one at a time. Nothing has
// to be closed: finalizers do it, in any order.
package tenon

/*
#cgo pkg-config: tenon-c
#include <stdlib.h>
#include <tenon/host/c/tenon_host.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Error says why a call failed. Status is the number of a TENON_STATUS_..., as in ExecuTorch.
type Error struct {
	Status uint32
	Text   string
}

func (e *Error) Error() string {
	name := C.GoString(C.tenon_status_name(C.tenon_status(e.Status)))
	return fmt.Sprintf("%s: %s", name, e.Text)
}

// check makes a Go error of the outcome of a function, whose error object it destroys.
func check(status C.tenon_status, failure *C.tenon_error) error {
	if status == C.TENON_STATUS_OK {
		return nil
	}
	defer C.tenon_error_destroy(failure)
	return &Error{uint32(status), C.GoString(C.tenon_error_text(failure))}
}

// Registry finds and loads plugins.
type Registry struct{ handle *C.tenon_registry }

// NewRegistry makes one that knows no plugin.
func NewRegistry() (*Registry, error) {
	var failure *C.tenon_error
	registry := new(Registry)
	if err := check(C.tenon_registry_create(nil, &registry.handle, &failure), failure); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(registry, func(r *Registry) { C.tenon_registry_destroy(r.handle) })
	return registry, nil
}

// RegisterPlugin registers the plugin in a file, which is read and not loaded.
func (r *Registry) RegisterPlugin(path string) error {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	defer runtime.KeepAlive(r)
	var failure *C.tenon_error
	status := C.tenon_registry_register_plugin(r.handle, text, nil, &failure)
	return check(status, failure)
}

// Program is a .pte file, verified.
type Program struct{ handle *C.tenon_program }

// OpenProgram maps a file.
func OpenProgram(path string) (*Program, error) {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	var failure *C.tenon_error
	program := new(Program)
	status := C.tenon_program_open(text, nil, &program.handle, &failure)
	if err := check(status, failure); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(program, func(p *Program) { C.tenon_program_destroy(p.handle) })
	return program, nil
}

// Method is a method of a program, loaded.
type Method struct {
	handle *C.tenon_method
	inputs map[int]unsafe.Pointer // Copies, in memory of C: the library keeps their addresses.
}

// LoadMethod loads a method; registry finds its backends.
func LoadMethod(program *Program, name string, registry *Registry) (*Method, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	// In memory of C, as it holds a pointer.
	options := (*C.tenon_method_options)(C.calloc(1, C.sizeof_tenon_method_options))
	defer C.free(unsafe.Pointer(options))
	options.struct_size = C.sizeof_tenon_method_options
	options.registry = registry.handle
	var failure *C.tenon_error
	method := &Method{inputs: map[int]unsafe.Pointer{}}
	status := C.tenon_method_load(program.handle, text, options, &method.handle, &failure)
	runtime.KeepAlive(program)
	runtime.KeepAlive(registry)
	if err := check(status, failure); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(method, func(m *Method) {
		C.tenon_method_destroy(m.handle)
		for _, memory := range m.inputs {
			C.free(memory)
		}
	})
	return method, nil
}

// SetInput copies values to the memory of input index, and sets it.
func (m *Method) SetInput(index int, values []float32, sizes []int64) error {
	defer runtime.KeepAlive(m)
	count := int64(1)
	for _, size := range sizes {
		count *= size
	}
	if count != int64(len(values)) || count <= 0 || len(sizes) == 0 {
		return &Error{C.TENON_STATUS_INVALID_ARGUMENT,
			fmt.Sprintf("input %d: %d values and the sizes %v", index, len(values), sizes)}
	}
	memory := C.malloc(C.size_t(4 * len(values)))
	copy(unsafe.Slice((*float32)(memory), len(values)), values)
	shape := C.malloc(C.size_t(8 * len(sizes)))
	defer C.free(shape)
	copy(unsafe.Slice((*int64)(shape), len(sizes)), sizes)
	tensor := (*C.tenon_dl_tensor)(C.calloc(1, C.sizeof_tenon_dl_tensor))
	defer C.free(unsafe.Pointer(tensor))
	tensor.data = memory
	tensor.device.device_type = C.TENON_DL_CPU
	tensor.ndim = C.int32_t(len(sizes))
	tensor.dtype = C.tenon_dl_dtype{code: C.TENON_DL_FLOAT, bits: 32, lanes: 1}
	tensor.shape = (*C.int64_t)(shape)
	var failure *C.tenon_error
	status := C.tenon_method_set_input(m.handle, C.uint64_t(index), tensor, &failure)
	if err := check(status, failure); err != nil {
		C.free(memory)
		return err
	}
	C.free(m.inputs[index])
	m.inputs[index] = memory
	return nil
}

// Execute runs the method once.
func (m *Method) Execute() error {
	defer runtime.KeepAlive(m)
	var failure *C.tenon_error
	status := C.tenon_method_execute(m.handle, &failure)
	return check(status, failure)
}

// Output copies the values of output index, a tensor of float32.
func (m *Method) Output(index int) ([]float32, error) {
	defer runtime.KeepAlive(m)
	value := C.tenon_method_get_output(m.handle, C.uint64_t(index))
	if value == nil || value.kind != C.TENON_VALUE_TENSOR {
		return nil, &Error{C.TENON_STATUS_INVALID_ARGUMENT, fmt.Sprintf("output %d is no tensor", index)}
	}
	tensor := *(**C.tenon_tensor)(unsafe.Pointer(&value.as)) // cgo shows a union as bytes.
	if tensor.dl.dtype != (C.tenon_dl_dtype{code: C.TENON_DL_FLOAT, bits: 32, lanes: 1}) {
		return nil, &Error{C.TENON_STATUS_INVALID_TYPE, fmt.Sprintf("output %d is not float32", index)}
	}
	values := make([]float32, tensor.nbytes/4)
	if len(values) == 0 {
		return values, nil
	}
	var failure *C.tenon_error
	status := C.tenon_method_read_output(m.handle, C.uint64_t(index), unsafe.Pointer(&values[0]),
		C.uint64_t(tensor.nbytes), &failure)
	return values, check(status, failure)
}
