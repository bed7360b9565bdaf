package bundle_test

import (
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/bundle"
)

func TestMemory(t *testing.T) {
	m := bundle.Memory{"SKILL.md": {Data: []byte("text")}, "scripts/a.sh": {Data: []byte("#!/bin/sh\n"), Executable: true}, "references/ops/b.md": {}}
	if err := fstest.TestFS(m, "SKILL.md", "scripts/a.sh", "references/ops/b.md"); err != nil {
		t.Error(err)
	}
	if info, err := m.Stat("scripts/a.sh"); err != nil || info.Mode() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if err := fstest.TestFS(bundle.Memory{}); err != nil {
		t.Error(err)
	}
}
