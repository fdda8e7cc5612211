package bpf

// The generated files are committed, so that building needs no compiler of C. They
// were made with Debian's clang 19.1.7 (packages clang-19, llvm-19 for llvm-strip-19, and
// libbpf-dev 1.1 for its headers); another clang gives other bytes. The objects for arm64
// are compiled and were never run.

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-19 -go-package bpf -tags linux -target amd64,arm64 -type event -type stack_event -type copy -type ledger -type target -type python -type python_event -type code_event watch watch.bpf.c -- -O2 -g -Wall -Werror -I/usr/include
