package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

func namespaceCommand() command {
	with := func(flags ...cli.Flag) []cli.Flag { return append(append(flags, dryRunFlag()), siteFlags()...) }
	policy := func() []cli.Flag {
		return []cli.Flag{
			&cli.BoolFlag{Name: "public", Usage: "anybody reads it"},
			&cli.StringFlag{Name: "approval", Usage: "releases are seen at once (`auto|manual|second-person`), or wait for a decision; second-person: not by who published"},
			&cli.BoolFlag{Name: "managed", Usage: "of an organisation: a second person approves, unless --approval says otherwise"},
			&cli.BoolFlag{Name: "any", Usage: "take any OCI artifact, not skills only"},
			&cli.StringSliceFlag{Name: "allow-name", Usage: "let `NAME` be published although it looks like a name of others (repeatable; takes an admin of the registry)"},
		}
	}
	return command{name: "namespace", usage: "manage namespaces: owners, publishers, signers", output: admin.Namespaces{},
		sub: []command{
			{name: "create", args: "NAMESPACE", usage: "create a namespace", run: createNamespace, flags: with(policy()...)},
			{name: "set", args: "NAMESPACE", usage: "change its policy; an admin of the registry alone can loosen it", example: "skl registry namespace set acme --approval manual", run: setNamespace, flags: with(append(policy(),
				&cli.BoolFlag{Name: "private", Usage: "readable only by accounts with a role"}, &cli.BoolFlag{Name: "skills", Usage: "take skills only"},
				&cli.StringSliceFlag{Name: "forbid-name", Usage: "take --allow-name `NAME` back (repeatable)"})...)},
			{name: "list", usage: "namespaces that you may read", example: "skl registry namespace list", run: listNamespaces, flags: siteFlags()},
			{name: "grants", args: "NAMESPACE", usage: "list accounts and their roles", example: "skl registry namespace grants acme", output: admin.Grants{}, run: listGrants, flags: siteFlags()},
			{name: "grant", args: "NAMESPACE ACCOUNT ROLE", usage: "give an account a role: " + strings.Join(admin.Roles(), ", "), example: "skl registry namespace grant acme ci publisher", output: admin.Done{}, run: grantRole, flags: with()},
			{name: "ungrant", args: "NAMESPACE ACCOUNT", usage: "take its role away", example: "skl registry namespace ungrant acme ci", output: admin.Done{}, run: ungrantRole, flags: with()},
			{name: "signer", args: "NAMESPACE", usage: "list, add or remove who may sign releases", example: "skl registry namespace signer acme --key release.key.pub --require", run: editSigners, flags: with(
				&cli.StringFlag{Name: "key", Usage: "the public key in `FILE`, PEM"},
				&cli.StringFlag{Name: "issuer", Usage: "`URL` of the issuer of an identity"},
				&cli.StringFlag{Name: "identity", Usage: "`PATTERN` that the whole identity has to match"},
				&cli.BoolFlag{Name: "remove", Usage: "remove it"},
				&cli.BoolFlag{Name: "require", Usage: "refuse releases without a good signature"},
				&cli.BoolFlag{Name: "no-require", Usage: "take unsigned releases again"},
			)},
		}}
}

// namespaceOf is what the flags say of a namespace.
func namespaceOf(c *cli.Context, name string) admin.NamespaceRequest {
	return admin.NamespaceRequest{Site: siteOf(c), Name: name, Public: c.Bool("public"), Private: c.Bool("private"), Approval: c.String("approval"), Managed: c.Bool("managed"),
		AllowNames: c.StringSlice("allow-name"), ForbidNames: c.StringSlice("forbid-name"), Any: c.Bool("any"), Skills: c.Bool("skills"), DryRun: c.Bool("dry-run")}
}

func createNamespace(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace create NAMESPACE")
	if err != nil {
		return err
	}
	out, err := w.admin().CreateNamespace(ctx, namespaceOf(c, args[0]))
	return w.printNamespace(c, out, err, "created namespace %s, %s")
}

func setNamespace(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace set NAMESPACE --approval manual")
	if err != nil {
		return err
	}
	out, err := w.admin().SetNamespace(ctx, namespaceOf(c, args[0]))
	return w.printNamespace(c, out, err, "namespace %s is %s")
}

func (w *world) printNamespace(c *cli.Context, out admin.Namespaces, err error, format string) error {
	return w.show(out, err, func(say *report.Text) {
		n := out.Namespaces[0]
		say.Print(format, n.Name, describe(n))
		dryNote(say, c)
		if !c.Bool("dry-run") && !out.On.Local {
			say.Hint("skl registry token create --name NAME --namespace %s --role publisher", n.Name)
		}
	})
}

// describe says in words what a namespace accepts.
func describe(n wire.Namespace) string {
	parts := []string{"private"}
	if n.Public {
		parts[0] = "public"
	}
	if n.Policy.Managed {
		parts = append(parts, "managed")
	}
	if n.Policy.AcceptAny {
		parts = append(parts, "takes any artifact")
	}
	switch {
	case n.Policy.SecondPerson:
		parts = append(parts, "releases wait for approval by a second person")
	case n.Policy.ManualApproval:
		parts = append(parts, "releases wait for approval")
	default:
		parts = append(parts, "releases are seen at once")
	}
	if len(n.Policy.NearNames) > 0 {
		parts = append(parts, "may have the names "+diag.Printable(strings.Join(n.Policy.NearNames, ", ")))
	}
	if n.Policy.RequireSignature {
		parts = append(parts, "signatures are required")
	}
	return strings.Join(parts, ", ")
}

func listNamespaces(ctx context.Context, w *world, c *cli.Context) error {
	out, err := w.admin().Namespaces(ctx, siteOf(c))
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, n := range out.Namespaces {
			rows = append(rows, []string{n.Name, report.OrDash(n.Role), describe(n)})
		}
		table(say, []string{"NAMESPACE", "ROLE", "IS"}, rows, "there are no namespaces that you may read")
		if len(rows) == 0 {
			say.Hint("skl registry namespace create NAME")
		}
	})
}

func listGrants(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace grants NAMESPACE")
	if err != nil {
		return err
	}
	out, err := w.admin().Grants(ctx, siteOf(c), args[0])
	return w.show(out, err, func(say *report.Text) {
		var rows [][]string
		for _, g := range out.Grants {
			rows = append(rows, []string{g.Account, g.Role, day(g.Created, "-")})
		}
		table(say, []string{"ACCOUNT", "ROLE", "SINCE"}, rows, "")
	})
}

func grantRole(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 3, "registry namespace grant NAMESPACE ACCOUNT ROLE")
	if err != nil {
		return err
	}
	out, err := w.admin().Grant(ctx, admin.GrantRequest{Site: siteOf(c), Namespace: args[0], Account: args[1], Role: args[2], DryRun: c.Bool("dry-run")})
	return w.did(c, out, err, "%s is %s in %s", args[1], args[2], args[0])
}

func ungrantRole(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 2, "registry namespace ungrant NAMESPACE ACCOUNT")
	if err != nil {
		return err
	}
	out, err := w.admin().Ungrant(ctx, admin.GrantRequest{Site: siteOf(c), Namespace: args[0], Account: args[1], DryRun: c.Bool("dry-run")})
	return w.did(c, out, err, "%s has no role in %s", args[1], args[0])
}

// editSigners changes the list of signers, or only shows it.
func editSigners(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace signer NAMESPACE --key FILE, or --issuer URL --identity PATTERN")
	if err != nil {
		return err
	}
	out, err := w.admin().Signers(ctx, admin.SignerRequest{Site: siteOf(c), Namespace: args[0], Key: c.String("key"), Issuer: c.String("issuer"), Identity: c.String("identity"),
		Remove: c.Bool("remove"), Require: c.Bool("require"), NoRequire: c.Bool("no-require"), DryRun: c.Bool("dry-run")})
	return w.show(out, err, func(say *report.Text) {
		n := out.Namespaces[0]
		var rows [][]string
		for _, s := range n.Policy.Signers {
			rows = append(rows, []string{admin.SignerName(s), report.OrDash(s.Issuer)})
		}
		table(say, []string{"SIGNER", "ISSUER"}, rows, "")
		say.Note("%s: %s", n.Name, describe(n))
		dryNote(say, c)
	})
}
