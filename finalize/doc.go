// Package finalize is the safety net under explicit frees: it hears from the
// collector which owners died without giving back what they owned, and it tells the collector
// when foreign memory, which the collector does not see, is short.
package finalize
