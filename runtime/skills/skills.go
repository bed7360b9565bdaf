// Package skills holds the skills that come with skl.
package skills

import "io/fs"

func FS() fs.FS { return nil }

type State string

func Target(fs.FS, string) (string, error)          { panic("TODO") }
func Activate([]byte) ([]byte, State, error)        { panic("TODO") }
func Deactivate([]byte) ([]byte, bool, error)       { panic("TODO") }
