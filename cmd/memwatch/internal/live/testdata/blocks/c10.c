// libc10.so: nobody profiles.
#include <stdint.h>
void report(void *block, int64_t bytes, uint64_t live, uint64_t reserved, uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
static volatile void *profiler;
void report(void *block, int64_t bytes, uint64_t live, uint64_t reserved, uint16_t device)
{
	if (profiler)
		__builtin_trap();
}
