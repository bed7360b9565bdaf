package registry_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
)

// A hundred accounts create one namespace at the same time: one becomes its admin, and the others are told; no
// trace of them is left. Names that look like it, or are kept, are never created meanwhile.
func TestOneOwnerOfANamespace(t *testing.T) {
	f := open(t, meta.Policy{})
	const creators = 100
	var wait sync.WaitGroup
	start := make(chan struct{})
	results := make([]string, creators)
	for i := range creators {
		wait.Go(func() {
			who := caller(fmt.Sprintf("u%d", i), "*", auth.Admin)
			<-start
			if err := f.CreateNamespace(t.Context(), who, meta.Namespace{Name: "race"}); err != nil {
				results[i] = code(err)
			}
		})
	}
	look := map[string]string{"Race": "invalid_namespace", "RACE": "invalid_namespace", "race-": "invalid_namespace", "-race": "invalid_namespace",
		"ra--ce": "invalid_namespace", "r\u0430ce": "invalid_namespace", "ra\u200dce": "invalid_namespace", "race.": "invalid_namespace", "race/x": "invalid_namespace",
		"race\x00": "invalid_namespace", " race": "invalid_namespace", "nul": "invalid_namespace", "v2": "name_reserved", "token": "name_reserved", "skl": "name_reserved"}
	var mu sync.Mutex
	for name, want := range look {
		wait.Go(func() {
			<-start
			if got := code(f.CreateNamespace(t.Context(), root, meta.Namespace{Name: name})); got != want {
				mu.Lock()
				defer mu.Unlock()
				t.Errorf("%q: %s, want %s", name, got, want)
			}
		})
	}
	close(start)
	wait.Wait()
	winner := ""
	for i, r := range results {
		switch {
		case r == "" && winner == "":
			winner = fmt.Sprintf("u%d", i)
		case r == "":
			t.Errorf("both %s and u%d created it", winner, i)
		case r != "namespace_exists":
			t.Errorf("u%d: %s", i, r)
		}
	}
	err := f.Meta.View(t.Context(), func(tx *meta.Tx) error {
		grants, err := tx.NamespaceGrants(t.Context(), "race")
		if err != nil {
			return err
		}
		if len(grants) != 1 || grants[0].Account != winner || grants[0].Role != string(auth.Admin) {
			t.Errorf("grants %+v, want one of %s", grants, winner)
		}
		for i := range creators {
			all, err := tx.Grants(t.Context(), fmt.Sprintf("u%d", i))
			if err != nil {
				return err
			}
			if account := fmt.Sprintf("u%d", i); account != winner && len(all) > 0 {
				t.Errorf("%s has %+v", account, all)
			}
		}
		events, err := tx.Events(t.Context(), meta.AuditQuery{Limit: 1000})
		made := 0
		for _, e := range events {
			if e.Action == "namespace-create" && e.Target == "race" {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%d events say that it was created", made)
		}
		list, err2 := tx.Namespaces(t.Context(), "", 100)
		if len(list) != 3 {
			t.Errorf("the namespaces are %+v, want acme, other and race", list)
		}
		if err == nil {
			err = err2
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
