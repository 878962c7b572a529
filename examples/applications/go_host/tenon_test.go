// SPDX-License-Identifier: MIT
package tenon

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TENON_TEST_PLUGIN is demo_backend.so, TENON_TEST_MODEL the program of tests/fixtures/demo_sin_inline.
func open(t *testing.T) (*Registry, *Program) {
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.RegisterPlugin(os.Getenv("TENON_TEST_PLUGIN")); err != nil {
		t.Fatal(err)
	}
	program, err := OpenProgram(os.Getenv("TENON_TEST_MODEL"))
	if err != nil {
		t.Fatal(err)
	}
	return registry, program
}

func checkSines(method *Method, x float32) error {
	values := []float32{x, x + 1, x + 2, x + 3}
	if err := method.SetInput(0, values, []int64{1, 4}); err != nil {
		return err
	}
	if err := method.Execute(); err != nil {
		return err
	}
	sines, err := method.Output(0)
	if err != nil {
		return err
	}
	for i, value := range values {
		if math.Abs(math.Sin(float64(value))-float64(sines[i])) > 1e-6 {
			return errors.New("a wrong sine")
		}
	}
	return nil
}

func TestGoroutinesShareAProgram(t *testing.T) {
	registry, program := open(t)
	var wait sync.WaitGroup
	for number := 0; number < 4; number++ {
		wait.Add(1)
		go func(number int) {
			defer wait.Done()
			for run := 0; run < 10; run++ {
				method, err := LoadMethod(program, "forward", registry)
				if err == nil {
					err = checkSines(method, float32(number*10+run)/10)
				}
				if err != nil {
					t.Error(err)
				}
				runtime.GC() // Finalizers, in an order of their own.
			}
		}(number)
	}
	wait.Wait()
}

func TestAFailureHasTheTextOfTheHost(t *testing.T) {
	registry, program := open(t)
	var failure *Error
	if _, err := OpenProgram("/nowhere/model.pte"); !errors.As(err, &failure) {
		t.Fatal(err)
	}
	if !strings.HasPrefix(failure.Error(), "AccessFailed: /nowhere/model.pte") {
		t.Error(failure)
	}
	method, err := LoadMethod(program, "forward", registry)
	if err != nil {
		t.Fatal(err)
	}
	if err := method.Execute(); err == nil {
		t.Error("an input was not set")
	}
	if err := method.SetInput(0, []float32{1}, []int64{1, 4}); err == nil {
		t.Error("one value for four")
	}
	if _, err := method.Output(1); err == nil {
		t.Error("there is one output")
	}
}
