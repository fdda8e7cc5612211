package half_test

import (
	"fmt"

	"github.com/lastuse/lastuse/alloc/half"
)

func ExampleFloat16() {
	h := half.ToFloat16(0.1)
	fmt.Println(h, h.Float32(), half.ToFloat16(1e5))
	// Output: 0.1 0.099975586 +Inf
}

func ExampleBFloat16() {
	h := half.ToBFloat16(0.1)
	fmt.Println(h, h.Float32(), half.ToBFloat16(1e5).Float32())
	// Output: 0.1 0.100097656 99840
}

// Weights go to the device in half the bytes, and come back as what Go computes with.
func ExampleNumber() {
	weights := half.Encode[half.BFloat16](nil, []float32{1, -2.5, 3.14159})
	fmt.Println(weights, half.Decode(nil, weights))
	// Output: [1 -2.5 3.14] [1 -2.5 3.140625]
}
