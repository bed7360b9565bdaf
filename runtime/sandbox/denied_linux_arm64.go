package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_AARCH64
	hasX32    = false
)

func deniedHere() []uint32 { return nil }

func modesHere() []modeArg { return nil }
