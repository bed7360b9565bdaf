package admin

import (
	"context"
	"slices"

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
	Public, Private bool   // who may read it
	Approval        string // auto or manual
	Any, Skills     bool   // what it takes
	DryRun          bool
}

// change puts what is asked for into a policy.
func (r NamespaceRequest) change(p *wire.Policy) error {
	switch r.Approval {
	case "":
	case "auto":
		p.ManualApproval = false
	case "manual":
		p.ManualApproval = true
	default:
		return diag.New(diag.Misuse, "usage", "--approval is auto or manual, not %q", r.Approval).Meant("auto", "manual")
	}
	if r.Any && r.Skills || r.Public && r.Private {
		return diag.New(diag.Misuse, "usage", "these flags exclude each other: --any and --skills, --public and --private")
	}
	if r.Any || r.Skills {
		p.AcceptAny = r.Any
	}
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
			made, err = s.Client.CreateNamespace(ctx, n)
		}
		return Namespaces{[]wire.Namespace{made}, s.at}, err
	})
}

// SetNamespace changes who reads a namespace, and what it takes.
func (a *Admin) SetNamespace(ctx context.Context, r NamespaceRequest) (Namespaces, error) {
	return on(ctx, a, r.Site, func(s *site) (Namespaces, error) {
		n, err := s.Namespace(ctx, r.Name)
		if err != nil {
			return Namespaces{}, err
		}
		if err := r.change(&n.Policy); err != nil {
			return Namespaces{}, err
		}
		n.Public = (n.Public || r.Public) && !r.Private
		if !r.DryRun {
			n, err = s.UpdateNamespace(ctx, n.Name, wire.NamespaceChange{Public: &n.Public, Policy: &n.Policy})
		}
		return Namespaces{[]wire.Namespace{n}, s.at}, err
	})
}

// Namespaces lists the namespaces that the caller may read.
func (a *Admin) Namespaces(ctx context.Context, at Site) (Namespaces, error) {
	return on(ctx, a, at, func(s *site) (Namespaces, error) {
		list, err := s.Client.Namespaces(ctx)
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
		list, err := s.Client.Grants(ctx, namespace)
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
		return s.done("grant", r.Namespace), s.Client.Grant(ctx, r.Namespace, wire.Grant{Account: r.Account, Role: r.Role})
	})
}

// Ungrant takes the role of an account away.
func (a *Admin) Ungrant(ctx context.Context, r GrantRequest) (Done, error) {
	return on(ctx, a, r.Site, func(s *site) (Done, error) {
		if r.DryRun {
			return s.done("ungrant", r.Namespace), nil
		}
		return s.done("ungrant", r.Namespace), s.Client.Ungrant(ctx, r.Namespace, r.Account)
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
