package otel

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/lastuse/lastuse/tracker"
)

// A meter that fails on cue.
type broken struct {
	noop.Meter
	name string
}

var errBroken = errors.New("no instruments left")

func (b broken) Int64ObservableCounter(name string, o ...metric.Int64ObservableCounterOption) (metric.Int64ObservableCounter, error) {
	if name == b.name {
		return nil, errBroken
	}
	return b.Meter.Int64ObservableCounter(name, o...)
}

func (b broken) RegisterCallback(f metric.Callback, all ...metric.Observable) (metric.Registration, error) {
	if b.name == "" {
		return nil, errBroken
	}
	return b.Meter.RegisterCallback(f, all...)
}

func TestMeterFails(t *testing.T) {
	books := tracker.New(tracker.Options{NoTable: true})
	for name, want := range map[string]string{
		"foreignheap.late":       "otel: register foreignheap.late: no instruments left",
		"foreignheap.sites_lost": "otel: register foreignheap.sites_lost: no instruments left",
		"":                       "otel: register: no instruments left",
	} {
		_, err := Register(broken{name: name}, books)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, errBroken)
	}
}
