// Package bench holds the benchmarks that need more than one package, and the workloads by
// which allocators are compared. Benchmarks of one package are beside its code.
package bench
