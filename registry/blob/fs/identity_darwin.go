package fs

import (
	"os"
	"syscall"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

func forget(*os.File) {}
