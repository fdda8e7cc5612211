// Package alloctest tests devices and those who use them. [TestDevice] is the conformance suite that every
// alloc.Device must pass; [Faulty] is a device that fails on cue, for walking the error paths of a pool;
// [Order] checks that its pool hands memory over in order; [Late] runs all work as late as order allows.
package alloctest
