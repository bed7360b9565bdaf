package admin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// A Namespaces is a list of namespaces.
type Namespaces struct {
	Namespaces []wire.Namespace `json:"namespaces"`
	On         Place            `json:"-"`
}

// A NamespaceRequest asks for a namespace, or for another policy of one. What it leaves out stays as it is.
type NamespaceRequest struct {
	Site            Site
	Name            string
	Public, Private bool     // who may read it
	Approval        string   // auto, manual or second-person
	Any, Skills     bool     // what it takes
	Managed         bool     // of an organisation: a second person approves, unless Approval says otherwise
	AllowNames      []string // that look like names of others
	ForbidNames     []string // takes AllowNames back
	DryRun          bool
}

// change puts what is asked for into a policy.
func (r NamespaceRequest) change(p *wire.Policy) error {
	switch r.Approval {
	case "":
	case "auto":
		if r.Managed {
			return diag.New(diag.Misuse, "usage", "a namespace becomes a managed one with approval: --approval manual or second-person").Meant("manual", "second-person")
		}
		p.ManualApproval, p.SecondPerson = false, false
	case "manual":
		p.ManualApproval, p.SecondPerson = true, false
	case "second-person":
		p.ManualApproval, p.SecondPerson = true, true
	default:
		return diag.New(diag.Misuse, "usage", "--approval is auto, manual or second-person, not %q", r.Approval).Meant("auto", "manual", "second-person")
	}
	if r.Any && r.Skills || r.Public && r.Private {
		return diag.New(diag.Misuse, "usage", "these flags exclude each other: --any and --skills, --public and --private")
	}
	p.Managed = p.Managed || r.Managed
	if r.Any || r.Skills {
		p.AcceptAny = r.Any
	}
	for _, name := range r.AllowNames {
		if !slices.Contains(p.NearNames, name) {
			p.NearNames = append(p.NearNames, name)
		}
	}
	p.NearNames = slices.DeleteFunc(p.NearNames, func(name string) bool { return slices.Contains(r.ForbidNames, name) })
	return nil
}

// CreateNamespace creates a namespace.
func (a *Admin) CreateNamespace(ctx context.Context, r NamespaceRequest) (Namespaces, error) {
	n := wire.NewNamespace{Name: r.Name, Public: r.Public}
	if err := auth.CheckNamespace(n.Name); err != nil {
		return Namespaces{}, err
	}
	if err := r.change(&n.Policy); err != nil {
		return Namespaces{}, err
	}
	return on(ctx, a, r.Site, func(s *site) (Namespaces, error) {
		made, err := wire.Namespace{Name: n.Name, Public: n.Public, Policy: n.Policy}, error(nil)
		if !r.DryRun {
			made, err = s.client.CreateNamespace(ctx, n)
		}
		return Namespaces{[]wire.Namespace{made}, s.at}, err
	})
}

// SetNamespace changes who reads a namespace, and what it takes.
func (a *Admin) SetNamespace(ctx context.Context, r NamespaceRequest) (Namespaces, error) {
	return on(ctx, a, r.Site, func(s *site) (Namespaces, error) {
		n, err := s.client.Namespace(ctx, r.Name)
		if err != nil {
			return Namespaces{}, err
		}
		if err := r.change(&n.Policy); err != nil {
			return Namespaces{}, err
		}
		n.Public = (n.Public || r.Public) && !r.Private
		n, err = s.update(ctx, n, wire.NamespaceChange{Public: &n.Public, Policy: &n.Policy, DryRun: r.DryRun})
		return Namespaces{[]wire.Namespace{n}, s.at}, err
	})
}

// update makes n what it is, or in a dry run asks whether that could be done. A registry that is older does not know the question.
func (s *site) update(ctx context.Context, n wire.Namespace, c wire.NamespaceChange) (wire.Namespace, error) {
	out, err := s.client.UpdateNamespace(ctx, n.Name, c)
	if c.DryRun && errors.Is(err, diag.Code("invalid_request")) && strings.Contains(err.Error(), "dry_run") {
		return n, nil
	}
	return out, err
}

// Namespaces lists the namespaces that the caller may read.
func (a *Admin) Namespaces(ctx context.Context, at Site) (Namespaces, error) {
	return on(ctx, a, at, func(s *site) (Namespaces, error) {
		list, err := s.client.Namespaces(ctx)
		return Namespaces{append([]wire.Namespace{}, list...), s.at}, err
	})
}

// A Grants is who has which role in a namespace.
type Grants struct {
	Grants []wire.Grant `json:"grants"`
}

// Grants lists the accounts of a namespace.
func (a *Admin) Grants(ctx context.Context, at Site, namespace string) (Grants, error) {
	return on(ctx, a, at, func(s *site) (Grants, error) {
		list, err := s.client.Grants(ctx, namespace)
		return Grants{append([]wire.Grant{}, list...)}, err
	})
}

// A GrantRequest names an account of a namespace, and the role that it gets.
type GrantRequest struct {
	Site                     Site
	Namespace, Account, Role string
	DryRun                   bool
}

// Grant gives an account a role.
func (a *Admin) Grant(ctx context.Context, r GrantRequest) (Done, error) {
	if err := checkRole(r.Role); err != nil {
		return Done{}, err
	}
	return on(ctx, a, r.Site, func(s *site) (Done, error) {
		if r.DryRun {
			return s.done("grant", r.Namespace), nil
		}
		return s.done("grant", r.Namespace), s.client.Grant(ctx, r.Namespace, wire.Grant{Account: r.Account, Role: r.Role})
	})
}

// Ungrant takes the role of an account away.
func (a *Admin) Ungrant(ctx context.Context, r GrantRequest) (Done, error) {
	return on(ctx, a, r.Site, func(s *site) (Done, error) {
		if r.DryRun {
			return s.done("ungrant", r.Namespace), nil
		}
		return s.done("ungrant", r.Namespace), s.client.Ungrant(ctx, r.Namespace, r.Account)
	})
}

// Roles are the names of all roles, weakest first.
func Roles() (names []string) {
	for _, r := range auth.Roles() {
		names = append(names, string(r))
	}
	return names
}

func checkRole(name string) error {
	if !slices.Contains(Roles(), name) {
		return diag.New(diag.Misuse, "unknown_role", "there is no role %q", name).Meant(Roles()...)
	}
	return nil
}
