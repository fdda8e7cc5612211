package apply

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that a file is not the one that was analyzed.
var ErrChanged = errors.New("the file changed while lastuse ran: run it again")

// A staged file has its new contents beside it, complete and on disk, under
// another name.
type staged struct {
	out    *Output
	target string // the file itself, symbolic links resolved
	temp   string
	lock   *os.File
}

// WriteAll replaces files by new contents. Either all of them are replaced or
// none, unless the machine stops between two renames: then each file is still
// either old or new. A file that changed since it was read, cannot be written or
// is not a regular file makes it an error. When ctx ends before the first rename
// nothing is replaced.
//
// A file keeps its permissions; a symbolic link stays one. Two runs at once
// exclude each other file by file: the second finds that the file changed.
func WriteAll(ctx context.Context, outs []*Output) (err error) {
	var all []*staged
	defer func() {
		for _, s := range all {
			if s.temp != "" {
				err = errors.Join(err, os.Remove(s.temp))
			}
			s.lock.Close() // read only: nothing is lost
		}
	}()
	for _, out := range outs {
		s, err := stage(out)
		if s != nil {
			all = append(all, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", out.File, err)
		}
	}
	for _, s := range all {
		if err := s.unchanged(); err != nil {
			return fmt.Errorf("%s: %w", s.out.File, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, s := range all {
		if err := os.Rename(s.temp, s.target); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", s.out.File, err), restore(all[:i]))
		}
		s.temp = ""
	}
	return nil
}

// stage writes new contents beside the file. The result is not nil if there is
// something to close or remove, with an error as well.
func stage(out *Output) (*staged, error) {
	target, err := filepath.EvalSymlinks(out.File)
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(target, os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Unwrap(err) // without the path, which the caller adds
	}
	s := &staged{out: out, target: target, lock: lock}
	if err := lockFile(lock); err != nil {
		return s, fmt.Errorf("lock: %w", err)
	}
	info, err := lock.Stat()
	if err != nil {
		return s, err
	}
	switch {
	case !info.Mode().IsRegular():
		return s, errors.New("not a regular file")
	case info.Mode().Perm()&0o200 == 0:
		// The folder would let us replace it, but the owner said no.
		return s, fs.ErrPermission
	}
	if err := s.unchanged(); err != nil {
		return s, err
	}
	temp, err := os.CreateTemp(filepath.Dir(target), ".lastuse-*")
	if err != nil {
		return s, err
	}
	s.temp = temp.Name()
	_, err = temp.Write(out.New)
	if err == nil {
		err = temp.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = keepOwner(temp, info)
	}
	if err == nil {
		err = temp.Sync()
	}
	return s, errors.Join(err, temp.Close())
}

// unchanged compares the file with what was analyzed. It reads the name anew: a
// run that held the lock before us has put another file there.
func (s *staged) unchanged() error {
	now, err := os.ReadFile(s.target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, s.out.Old) {
		return ErrChanged
	}
	return nil
}

// restore undoes renames after one of them failed.
func restore(done []*staged) error {
	var errs []error
	for _, s := range done {
		back, err := stage(&Output{File: s.target, Old: s.out.New, New: s.out.Old})
		if err == nil {
			err = os.Rename(back.temp, back.target)
		}
		if back != nil {
			if err != nil && back.temp != "" {
				err = errors.Join(err, os.Remove(back.temp))
			}
			back.lock.Close()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s was changed and could not be changed back: %w", s.out.File, err))
		}
	}
	return errors.Join(errs...)
}

// WriteWhole makes a file with this content, or leaves what is there. What is no
// regular file, such as a pipe, and what lies in a folder that may not be written is
// written as it comes.
func WriteWhole(name string, content []byte) (err error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, content, 0o666)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	// Another run may write the same file: each has a temporary file of its own.
	temp, err := os.OpenFile(name+".lastuse-"+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrPermission) {
		return os.WriteFile(name, content, 0o666) // the file may be ours, and the folder not
	}
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
