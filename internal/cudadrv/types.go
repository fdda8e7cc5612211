package cudadrv

// Library is the name under which the driver is installed.
const Library = "libcuda.so.1"

// MinVersion is the oldest driver API that works, as the driver writes versions: 1000*major + 10*minor.
// Stream ids came with it.
const MinVersion = 12000

// A Dim is the extent of a grid or a block in blocks or threads.
type Dim struct{ X, Y, Z uint32 }

// Rows says where a copy's rows are on one side: at P, Pitch bytes from one to the next, in page-locked host
// memory or on the device.
type Rows struct {
	P     uintptr
	Pitch int64
	Host  bool
}

// An Attribute selects what [Driver.DeviceGetAttribute] returns.
type Attribute int32

// Attributes of a device, numbered as the driver numbers them.
const (
	MaxThreadsPerBlock    Attribute = 1
	MaxBlockDimX          Attribute = 2
	MaxBlockDimY          Attribute = 3
	MaxBlockDimZ          Attribute = 4
	MaxGridDimX           Attribute = 5
	MaxGridDimY           Attribute = 6
	MaxGridDimZ           Attribute = 7
	MaxSharedPerBlock     Attribute = 8 // bytes
	WarpSize              Attribute = 10
	MultiprocessorCount   Attribute = 16
	UnifiedAddressing     Attribute = 41
	CapabilityMajor       Attribute = 75
	CapabilityMinor       Attribute = 76
	MaxSharedPerBlockOpt  Attribute = 97 // bytes, after opting in
	CooperativeLaunch     Attribute = 95
	ClusterLaunch         Attribute = 120
	ManagedMemory         Attribute = 83
	ConcurrentManaged     Attribute = 89
	VirtualMemorySupport  Attribute = 102
	FileHandleSupport     Attribute = 103 // of memory that is exported as a file
	MemoryPoolsSupported  Attribute = 115
	PageableMemoryAccess  Attribute = 88
	AsyncEngineCount      Attribute = 40
	CanMapHostMemory      Attribute = 19
	L2CacheSize           Attribute = 38 // bytes
	MaxThreadsPerMultipro Attribute = 39
)

// A FuncAttribute selects what [Context.FuncGetAttribute] returns.
type FuncAttribute int32

// Attributes of a kernel, numbered as the driver numbers them.
const (
	FuncMaxThreadsPerBlock FuncAttribute = 0
	FuncSharedBytes        FuncAttribute = 1
	FuncConstBytes         FuncAttribute = 2
	FuncLocalBytes         FuncAttribute = 3
	FuncRegisters          FuncAttribute = 4
	FuncPTXVersion         FuncAttribute = 5 // 10*major + minor of what it was compiled for
	FuncBinaryVersion      FuncAttribute = 6
	FuncDynamicShared      FuncAttribute = 8 // bytes that a launch may ask for at most; may be set
)

// Streams that need not be made.
const (
	LegacyStream    uintptr = 1 // the default stream by its explicit handle; 0 means it too
	PerThreadStream uintptr = 2 // another stream for each thread of the system: no use to goroutines
)

// The modes of a stream's capture.
const (
	CaptureGlobal      = 0
	CaptureThreadLocal = 1
	CaptureRelaxed     = 2
)

// MaxParams is the greatest number of arguments of a launch.
const MaxParams = 256

// call names a wrapper for error texts. The names are constants so that carrying one costs nothing.
type call = string

// A Source is CUDA C to be compiled.
type Source struct {
	Text, Name           string
	Headers, HeaderNames []string // texts, and the names by which they are included
	Options              []string
	Names                []string // expressions whose names in the cubin are wanted
}
