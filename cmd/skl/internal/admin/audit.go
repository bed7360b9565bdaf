package admin

import (
	"context"
	"slices"
	"time"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// An Event is one line of the audit trail.
type Event = wire.Event

// An Audit is a part of the audit trail of a registry.
type Audit struct {
	Events []wire.Event `json:"events"`
}

// An AuditRequest selects events; what is left out selects all.
type AuditRequest struct {
	Site                       Site
	Namespace, Account, Action string
	Since                      time.Time
	Limit                      int // 0 is no limit
}

// auditPage is how many events are asked for at once.
const auditPage = 100

// Audit lists events, newest first.
func (a *Admin) Audit(ctx context.Context, r AuditRequest) (Audit, error) {
	return on(ctx, a, r.Site, func(s *site) (Audit, error) {
		out := Audit{Events: []wire.Event{}}
		err := r.each(ctx, s, func(e wire.Event) error {
			out.Events = append(out.Events, e)
			return nil
		})
		return out, err
	})
}

// ExportAudit gives the selected events to write, oldest first, from the first one that the registry has. It returns how many they were.
func (a *Admin) ExportAudit(ctx context.Context, r AuditRequest, write func(wire.Event) error) (int, error) {
	return on(ctx, a, r.Site, func(s *site) (int, error) {
		var all []wire.Event // they come newest first
		err := r.each(ctx, s, func(e wire.Event) error {
			all = append(all, e)
			return nil
		})
		if err != nil {
			return 0, err
		}
		slices.Reverse(all)
		for _, e := range all {
			if err := write(e); err != nil {
				return 0, err
			}
		}
		return len(all), nil
	})
}

// each calls do for the selected events, newest first.
func (r AuditRequest) each(ctx context.Context, s *site, do func(wire.Event) error) error {
	q := client.AuditQuery{Namespace: r.Namespace, Account: r.Account, Action: r.Action, Limit: auditPage}
	for n := 0; ; {
		page, err := s.client.Audit(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.At.Before(r.Since) || r.Limit > 0 && n == r.Limit {
				return nil
			}
			if q.Before > 0 && e.ID >= q.Before {
				return diag.New(diag.Failed, "not_a_registry", "%s: a list that does not end", s.at.Name)
			}
			if err := do(e); err != nil {
				return err
			}
			n++
		}
		if len(page) < auditPage {
			return nil
		}
		q.Before = page[len(page)-1].ID
	}
}

// ParseSince reads an age, "24h" or "7d", or a day, "2026-11-21". "" is the beginning.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	if age, ok := duration(text); ok && age > 0 {
		return now.Add(-age), nil
	}
	return time.Time{}, diag.New(diag.Misuse, "usage", "--since: %q is neither a duration nor a day: use 24h, 7d or 2026-11-21", text)
}
