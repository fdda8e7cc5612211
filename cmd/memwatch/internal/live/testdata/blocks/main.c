// Looks like PyTorch: an allocator asks the driver for segments, hands out blocks of these, and tells of each. One
// function keeps what it gets, the other gives it back, and is the one that makes the allocator grow. For each line of
// input there are ten steps more.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void *c10_get(int64_t bytes);
void c10_give(void *block, int64_t bytes);
void c10_host(void);

enum { KEPT = 4 << 20, LENT = 16 << 20 };

__attribute__((noinline)) static void keep(void) { c10_get(KEPT); __asm__ volatile(""); }
__attribute__((noinline)) static void lend(void) { c10_give(c10_get(LENT), LENT); __asm__ volatile(""); }

int main(void)
{
	char line[16];
	for (int steps = 0;; steps += 10) {
		printf("%d\n", steps);
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin))
			return 0;
		for (int i = 0; i < 10; i++) {
			keep();
			lend();
			c10_host();
		}
	}
}
