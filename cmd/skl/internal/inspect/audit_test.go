package inspect_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
)

// TestAudit audits the scope, a name and a folder without a command line; what is compiled is found though no bundle has it.
func TestAudit(t *testing.T) {
	ctx, b := context.Background(), installed(t)
	all, err := open(b).Audit(ctx, inspect.AuditRequest{})
	if err != nil || !all.OK || len(all.Skills) != 1 || all.Skills[0].Name != "pdf" || !all.Skills[0].Installed || all.FailOn != content.High {
		t.Fatalf("audit: %+v, %v", all, err)
	}
	cache := filepath.Join(b.Project, "src/pdf/__pycache__")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "a.pyc"), []byte("code"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(b.Project, "src/pdf/out.md")); err != nil {
		t.Skip(err)
	}
	folder, err := open(b).Audit(ctx, inspect.AuditRequest{Args: []string{"./src/pdf"}})
	if err != nil || folder.OK || folder.Skills[0].Failed != 1 || folder.Skills[0].Findings[0].Rule != "AUD-COMPILED" {
		t.Errorf("audit of a folder: %+v, %v", folder, err)
	}
	if !slices.ContainsFunc(folder.Skills[0].Coverage.Unread, func(u content.Unread) bool { return u.File == "out.md" }) {
		t.Errorf("the link is not said to be unread: %+v", folder.Skills[0].Coverage)
	}
	if _, err := open(b).Audit(ctx, inspect.AuditRequest{Args: []string{"nothing"}}); diag.ClassOf(err) != diag.Misuse {
		t.Errorf("audit of nothing: %v", err)
	}
}
