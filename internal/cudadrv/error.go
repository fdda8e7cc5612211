package cudadrv

import (
	"errors"
	"fmt"
)

// What an [*Error] may be, for errors.Is.
var (
	ErrOutOfMemory  = errors.New("out of device memory")
	ErrShuttingDown = errors.New("driver is shutting down")
	ErrCapturing    = errors.New("stream is under capture: do it before that, or behind the Launch")
	ErrMissing      = errors.New("the driver lacks the call")
	ErrSticky       = errors.New("the device failed for good") // every later call on the context fails alike
	ErrUnavailable  = errors.New("cuda is not available")      // no library, no device, or a driver too old
)

// A Code is the driver's result.
type Code int32

// Codes that this module tells apart. Negative ones are this package's own.
const (
	CodeInvalidValue   Code = 1
	CodeOutOfMemory    Code = 2
	CodeNotInitialized Code = 3
	CodeDeinitialized  Code = 4
	CodeNoDevice       Code = 100
	CodeInvalidDevice  Code = 101
	CodeInvalidImage   Code = 200
	CodeInvalidContext Code = 201
	CodePeerEnabled    Code = 704
	CodeContextGone    Code = 709
	CodeInvalidPTX     Code = 218
	CodeInvalidHandle  Code = 400
	CodeNotFound       Code = 500
	CodeNotReady       Code = 600
	CodeIllegalAddress Code = 700
	CodeAssert         Code = 710
	CodeRegistered     Code = 712 // the host memory is page-locked already
	CodeTooManyBlocks  Code = 720 // of a cooperative launch
	CodeGraphUpdate    Code = 910 // the update of a graph's executable was not made

	codeCapturing Code = -1
	codeMissing   Code = -2
	codeCaptured  Code = -3
)

// sticky reports whether the code means that the context is broken: the driver answers every call with it
// from then on, until the process ends.
func (c Code) sticky() bool {
	switch c {
	case 214, // ECC_UNCORRECTABLE
		220,                     // NVLINK_UNCORRECTABLE
		226,                     // CONTAINED
		CodeIllegalAddress, 702, // LAUNCH_TIMEOUT
		CodeAssert,                   // of a kernel
		714, 715, 716, 717, 718, 719, // hardware stack, instruction, alignment, address space, pc, launch
		721, // TENSOR_MEMORY_LEAK
		999: // UNKNOWN
		return true
	}
	return false
}

// An Error is a driver call that failed, or one of the compiler, of which there is no code.
type Error struct {
	Call string // the driver's name of the function, without the suffix of its ABI
	Code Code
	Name string // the driver's name of the code, such as CUDA_ERROR_OUT_OF_MEMORY
	Text string // the driver's description of the code
	Log  string // what the driver's compiler said; for loads of modules
}

func (e *Error) Error() string {
	var s string
	switch {
	case e.Code == codeCapturing:
		s = fmt.Sprintf("cuda: %s: %v", e.Call, ErrCapturing)
	case e.Code == codeMissing:
		s = fmt.Sprintf("cuda: %s: %v", e.Call, ErrMissing)
	case e.Code == 0: // the compiler's, whose codes are others
		s = fmt.Sprintf("cuda: %s: %s", e.Call, e.Name)
	case e.Name == "":
		s = fmt.Sprintf("cuda: %s: error %d", e.Call, e.Code)
	default:
		s = fmt.Sprintf("cuda: %s: %s (%d)", e.Call, e.Name, e.Code)
	}
	if e.Log != "" {
		s += ": " + e.Log
	}
	return s
}

// Is reports whether the error is one of this package's sentinels.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrOutOfMemory:
		return e.Code == CodeOutOfMemory
	case ErrShuttingDown:
		return e.Code == CodeDeinitialized || e.Code == CodeContextGone
	case ErrCapturing:
		return e.Code == codeCapturing || e.Code >= 900 && e.Code <= 908
	case ErrMissing:
		return e.Code == codeMissing
	case ErrSticky:
		return e.Code.sticky()
	}
	return false
}

// Version writes a driver version as people do: 12040 is "12.4".
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
