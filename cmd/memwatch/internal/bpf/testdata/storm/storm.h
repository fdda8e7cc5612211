#ifndef STORM_H
#define STORM_H

#include <stdint.h>

typedef struct {
	long long bytes[11], objects[11]; // by class, as memwatch numbers them
} storm_books;

void storm_seed(uint64_t seed);
uint64_t storm_random(void);
void storm_read(storm_books *out);
void storm_expect(uint64_t generation); // that the caller's frees mean
uint64_t storm_generation(int space, uint64_t address);
void storm_calm(int on); // this thread's calls do not fail at random

#endif
