package tui

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Run shows what source returns, every delay, until a key ends it or ctx is done.
// Source is called in a goroutine of its own, and so is save, which keeps what is shown.
func Run(ctx context.Context, in io.Reader, out io.Writer, delay time.Duration, source func() Frame, save Save) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := New()
	m.save = save
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out))
	go func() {
		tick := time.NewTicker(delay)
		defer tick.Stop()
		for {
			p.Send(source())
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := p.Run()
	if errors.Is(err, tea.ErrInterrupted) || errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}
