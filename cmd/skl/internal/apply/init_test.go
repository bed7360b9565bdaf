package apply_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
)

// TestInit starts a project and changes how it was started, without a command line.
func TestInit(t *testing.T) {
	ctx, b := context.Background(), scopetest.New(t)
	b.Write(".gitignore", "*.log\n")
	open := func() *apply.Applier { return apply.New(b.Scope(), scopetest.Nobody{}) }

	out, err := open().Init(ctx, apply.InitRequest{Hosts: []string{"claude-code"}, DryRun: true})
	if err != nil || len(out.Wrote) != 2 || !out.Vendor || b.Read("skl.toml") != "" {
		t.Errorf("a dry run: %+v, %v", out, err)
	}
	if out, err = open().Init(ctx, apply.InitRequest{Hosts: []string{"claude-code"}}); err != nil || len(out.Wrote) != 2 || !slices.Equal(out.Hosts, []string{"claude-code"}) {
		t.Errorf("init: %+v, %v", out, err)
	}
	if !strings.Contains(b.Read(".gitattributes"), ".agents/skills/** -text -ident -filter !working-tree-encoding\n") || b.Read(".gitignore") != "*.log\n" || b.Read("skl.toml") == "" {
		t.Errorf("%q, %q, %q", b.Read(".gitattributes"), b.Read(".gitignore"), b.Read("skl.toml"))
	}
	if trusted, err := b.Scope().Trusted(); err != nil || !trusted {
		t.Errorf("trusted: %v, %v", trusted, err)
	}
	vendor := false
	if out, err = open().Init(ctx, apply.InitRequest{Vendor: &vendor}); err != nil || out.Vendor || len(out.Wrote) != 3 {
		t.Errorf("without vendoring: %+v, %v", out, err)
	}
	if b.Read(".gitattributes") != "" || !strings.HasPrefix(b.Read(".gitignore"), "*.log\n# skl: begin\n/.agents/skills/\n") {
		t.Errorf("%q, %q", b.Read(".gitattributes"), b.Read(".gitignore"))
	}
	if out, err = open().Init(ctx, apply.InitRequest{}); err != nil || out.Vendor || len(out.Wrote) != 0 {
		t.Errorf("once more: %+v, %v", out, err)
	}
}
