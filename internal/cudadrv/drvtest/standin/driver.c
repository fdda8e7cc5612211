// The stand-in driver's calls, its books and its streams. standin.h says what it is for.
//
// One lock guards all of it. A stream's thread takes one piece of work from its queue under the lock, does it without
// the lock, and wakes everybody. A recording of an event is a mark of its own, so that recording the event again does not
// change what earlier waits stand for.
//
// This is one translation unit, in parts: each builds on those before it.

#define _GNU_SOURCE
#include "state.inc"
#include "control.inc"
#include "ranges.inc"
#include "queue.inc"
#include "graph.inc"
#include "device.inc"
#include "stream.inc"
#include "memory.inc"
#include "mapping.inc"
#include "module.inc"
