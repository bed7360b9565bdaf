package scope_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/spec/diag"
)

// TestMarkets adds, lists and removes a marketplace without a command line.
func TestMarkets(t *testing.T) {
	ctx, b := context.Background(), scopetest.New(t)
	b.Write("catalogue/.claude-plugin/marketplace.json", `{"name":"team","owner":{"name":"Team"},"plugins":[{"name":"tools","source":"./tools","description":"Tools.","version":"1.0.0"}]}`)
	b.Skill("catalogue/tools/skills", "pdf", "# PDF\n")

	listed := func(at scope.Place) bool {
		places, err := b.Scope().Places()
		return err == nil && slices.Contains(places, at)
	}
	at, plugins, err := b.Scope().AddMarket(ctx, scope.MarketRequest{Ref: "./catalogue", DryRun: true})
	if err != nil || at.Name != "team" || len(plugins) != 1 || plugins[0].Problem != "" {
		t.Fatalf("a dry run: %+v, %+v, %v", at, plugins, err)
	}
	if listed(at) {
		t.Error("a dry run wrote the configuration")
	}
	if at, _, err = b.Scope().AddMarket(ctx, scope.MarketRequest{Ref: "./catalogue"}); err != nil || !listed(at) {
		t.Errorf("add: %+v, %v", at, err)
	}
	if plugins, err = b.Scope().Plugins(ctx, "team"); err != nil || len(plugins) != 1 || plugins[0].Name != "tools" {
		t.Errorf("plugins: %+v, %v", plugins, err)
	}
	if err := b.Scope().RemoveMarket("team", false); err != nil || listed(at) {
		t.Errorf("remove: %v", err)
	}
	if err := b.Scope().RemoveMarket("team", false); !errors.Is(err, diag.Code("unknown_market")) {
		t.Errorf("twice: %v", err)
	}
}
