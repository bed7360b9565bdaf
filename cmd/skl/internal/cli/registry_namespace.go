package cli

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/attest"
	"github.com/skl-project/skl/spec/diag"
)

type namespacesResult struct {
	Namespaces []wire.Namespace `json:"namespaces"`
}

type grantsResult struct {
	Grants []wire.Grant `json:"grants"`
}

func namespaceCommand() command {
	with := func(flags ...cli.Flag) []cli.Flag { return append(append(flags, dryRunFlag()), siteFlags()...) }
	policy := func() []cli.Flag {
		return []cli.Flag{
			&cli.BoolFlag{Name: "public", Usage: "anybody reads it"},
			&cli.StringFlag{Name: "approval", Usage: "releases are seen at once (`auto|manual`), or wait for a decision"},
			&cli.BoolFlag{Name: "any", Usage: "take any OCI artifact, not skills only"},
		}
	}
	return command{name: "namespace", usage: "manage namespaces: owners, publishers, signers", output: namespacesResult{},
		sub: []command{
			{name: "create", args: "NAMESPACE", usage: "create a namespace", run: createNamespace, flags: with(policy()...)},
			{name: "set", args: "NAMESPACE", usage: "change its policy", run: setNamespace, flags: with(append(policy(),
				&cli.BoolFlag{Name: "private", Usage: "readable only by accounts with a role"}, &cli.BoolFlag{Name: "skills", Usage: "take skills only"})...)},
			{name: "list", usage: "namespaces that you may read", run: listNamespaces, flags: siteFlags()},
			{name: "grants", args: "NAMESPACE", usage: "list accounts and their roles", output: grantsResult{}, run: listGrants, flags: siteFlags()},
			{name: "grant", args: "NAMESPACE ACCOUNT ROLE", usage: "give an account a role: " + strings.Join(roles(), ", "), output: registryResult{}, run: grantRole, flags: with()},
			{name: "ungrant", args: "NAMESPACE ACCOUNT", usage: "take its role away", output: registryResult{}, run: ungrantRole, flags: with()},
			{name: "signer", args: "NAMESPACE", usage: "list, add or remove who may sign releases", run: editSigners, flags: with(
				&cli.StringFlag{Name: "key", Usage: "the public key in `FILE`, PEM"},
				&cli.StringFlag{Name: "issuer", Usage: "`URL` of the issuer of an identity"},
				&cli.StringFlag{Name: "identity", Usage: "`PATTERN` that the whole identity has to match"},
				&cli.BoolFlag{Name: "remove", Usage: "remove it"},
				&cli.BoolFlag{Name: "require", Usage: "refuse releases without a good signature"},
				&cli.BoolFlag{Name: "no-require", Usage: "take unsigned releases again"},
			)},
		}}
}

// setPolicy puts the flags into a policy.
func setPolicy(c *cli.Context, p *wire.Policy) error {
	switch c.String("approval") {
	case "":
	case "auto":
		p.ManualApproval = false
	case "manual":
		p.ManualApproval = true
	default:
		return diag.New(diag.Misuse, "usage", "--approval is auto or manual, not %q", c.String("approval")).Meant("auto", "manual")
	}
	if c.Bool("any") && c.Bool("skills") || c.Bool("public") && c.Bool("private") {
		return diag.New(diag.Misuse, "usage", "these flags exclude each other: --any and --skills, --public and --private")
	}
	if c.Bool("any") || c.Bool("skills") {
		p.AcceptAny = c.Bool("any")
	}
	return nil
}

func createNamespace(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace create NAMESPACE")
	if err != nil {
		return err
	}
	n := wire.NewNamespace{Name: args[0], Public: c.Bool("public")}
	if err := auth.CheckNamespace(n.Name); err != nil {
		return err
	}
	if err := setPolicy(c, &n.Policy); err != nil {
		return err
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	made := wire.Namespace{Name: n.Name, Public: n.Public, Policy: n.Policy}
	if !c.Bool("dry-run") {
		if made, err = s.CreateNamespace(ctx, n); err != nil {
			return err
		}
	}
	return w.printNamespace(c, s, made, "created namespace %s, %s")
}

func setNamespace(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace set NAMESPACE --approval manual")
	if err != nil {
		return err
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	n, err := s.Namespace(ctx, args[0])
	if err != nil {
		return err
	}
	if err := setPolicy(c, &n.Policy); err != nil {
		return err
	}
	n.Public = (n.Public || c.Bool("public")) && !c.Bool("private")
	if !c.Bool("dry-run") {
		if n, err = s.UpdateNamespace(ctx, n.Name, wire.NamespaceChange{Public: &n.Public, Policy: &n.Policy}); err != nil {
			return err
		}
	}
	return w.printNamespace(c, s, n, "namespace %s is %s")
}

func (w *world) printNamespace(c *cli.Context, s *site, n wire.Namespace, format string) error {
	if w.ui.JSON {
		return w.ui.Result(namespacesResult{[]wire.Namespace{n}})
	}
	w.ui.Print(format, n.Name, describe(n))
	if c.Bool("dry-run") {
		w.ui.Note("nothing was changed (--dry-run)")
	} else if s.data == nil {
		w.ui.Hint("skl registry token create --name NAME --namespace %s --role publisher", n.Name)
	}
	return nil
}

// describe says in words what a namespace accepts.
func describe(n wire.Namespace) string {
	parts := []string{"private"}
	if n.Public {
		parts[0] = "public"
	}
	if n.Policy.AcceptAny {
		parts = append(parts, "takes any artifact")
	}
	if n.Policy.ManualApproval {
		parts = append(parts, "releases wait for approval")
	}
	if n.Policy.RequireSignature {
		parts = append(parts, "signatures are required")
	}
	return strings.Join(parts, ", ")
}

func listNamespaces(ctx context.Context, w *world, c *cli.Context) error {
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	list, err := s.Namespaces(ctx)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(namespacesResult{append([]wire.Namespace{}, list...)})
	}
	rows := [][]string{{"NAMESPACE", "ROLE", "IS"}}
	for _, n := range list {
		rows = append(rows, []string{n.Name, orDash(n.Role), describe(n)})
	}
	w.ui.Rows(rows)
	if len(list) == 0 {
		w.ui.Note("there are no namespaces that you may read")
		w.ui.Hint("skl registry namespace create NAME")
	}
	return nil
}

func listGrants(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace grants NAMESPACE")
	if err != nil {
		return err
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	list, err := s.Grants(ctx, args[0])
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(grantsResult{append([]wire.Grant{}, list...)})
	}
	rows := [][]string{{"ACCOUNT", "ROLE", "SINCE"}}
	for _, g := range list {
		rows = append(rows, []string{g.Account, g.Role, day(g.Created, "-")})
	}
	w.ui.Rows(rows)
	return nil
}

func grantRole(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 3, "registry namespace grant NAMESPACE ACCOUNT ROLE")
	if err != nil {
		return err
	}
	if !slices.Contains(roles(), args[2]) {
		return diag.New(diag.Misuse, "unknown_role", "there is no role %q", args[2]).Meant(roles()...)
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	if !c.Bool("dry-run") {
		if err := s.Grant(ctx, args[0], wire.Grant{Account: args[1], Role: args[2]}); err != nil {
			return err
		}
	}
	return w.did(c, s, "grant", args[0], "%s is %s in %s", args[1], args[2], args[0])
}

func ungrantRole(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 2, "registry namespace ungrant NAMESPACE ACCOUNT")
	if err != nil {
		return err
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	if !c.Bool("dry-run") {
		if err := s.Ungrant(ctx, args[0], args[1]); err != nil {
			return err
		}
	}
	return w.did(c, s, "ungrant", args[0], "%s has no role in %s", args[1], args[0])
}

// editSigners changes the list of signers, or only shows it.
func editSigners(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry namespace signer NAMESPACE --key FILE, or --issuer URL --identity PATTERN")
	if err != nil {
		return err
	}
	signer, err := w.signerOf(c)
	if err != nil {
		return err
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	n, err := s.Namespace(ctx, args[0])
	if err != nil {
		return err
	}
	before := n.Policy
	n.Policy.Signers = slices.Clone(before.Signers)
	if signer != (wire.Signer{}) {
		have := slices.IndexFunc(n.Policy.Signers, func(s wire.Signer) bool { return sameSigner(s, signer) })
		switch {
		case !c.Bool("remove") && have < 0:
			n.Policy.Signers = append(n.Policy.Signers, signer)
		case c.Bool("remove") && have < 0:
			return diag.New(diag.Misuse, "unknown_signer", "namespace %s has no such signer", n.Name).Hint("skl registry namespace signer %s", n.Name)
		case c.Bool("remove"):
			n.Policy.Signers = slices.Delete(n.Policy.Signers, have, have+1)
		}
	}
	n.Policy.RequireSignature = (before.RequireSignature || c.Bool("require")) && !c.Bool("no-require")
	changed := !slices.Equal(before.Signers, n.Policy.Signers) || before.RequireSignature != n.Policy.RequireSignature
	if changed && !c.Bool("dry-run") {
		if n, err = s.UpdateNamespace(ctx, n.Name, wire.NamespaceChange{Policy: &n.Policy}); err != nil {
			return err
		}
	}
	if w.ui.JSON {
		return w.ui.Result(namespacesResult{[]wire.Namespace{n}})
	}
	rows := [][]string{{"SIGNER", "ISSUER"}}
	for _, s := range n.Policy.Signers {
		rows = append(rows, []string{signerName(s), orDash(s.Issuer)})
	}
	w.ui.Rows(rows)
	w.ui.Note("%s: %s", n.Name, describe(n))
	if c.Bool("dry-run") {
		w.ui.Note("nothing was changed (--dry-run)")
	}
	return nil
}

// signerOf is the signer that the flags describe, the zero one if they do not.
func (w *world) signerOf(c *cli.Context) (wire.Signer, error) {
	s := wire.Signer{Issuer: c.String("issuer"), Identity: c.String("identity")}
	file := c.String("key")
	switch {
	case c.Bool("require") && c.Bool("no-require"):
		return s, diag.New(diag.Misuse, "usage", "--require and --no-require exclude each other")
	case file != "" && s != (wire.Signer{}), (s.Issuer == "") != (s.Identity == ""):
		return s, diag.New(diag.Misuse, "usage", "a signer is a key, or an issuer and an identity").Hint("add --key FILE, or --issuer URL --identity PATTERN")
	case file == "" && s == (wire.Signer{}) && c.Bool("remove"):
		return s, diag.New(diag.Misuse, "usage", "--remove needs to know whom").Hint("add --key FILE, or --issuer URL --identity PATTERN")
	case file == "":
		return s, nil
	}
	text, err := os.ReadFile(scope.Absolute(w.Cwd, file))
	if err != nil {
		return s, diag.New(diag.Misuse, "no_such_file", "--key: %w", err)
	}
	if strings.Contains(string(text), "PRIVATE KEY") {
		return s, diag.New(diag.Misuse, "private_key", "%s is a private key, which nobody else must see", file).Hint("skl key show %s prints the public one", file)
	}
	if _, err := attest.ParsePublic(text); err != nil {
		return s, err
	}
	s.Key = strings.TrimSpace(string(text)) + "\n"
	return s, nil
}

func sameSigner(a, b wire.Signer) bool {
	if a.Key != "" && b.Key != "" {
		return signerName(a) == signerName(b)
	}
	return a == b
}

// signerName is the fingerprint of a key, or an identity.
func signerName(s wire.Signer) string {
	if s.Key == "" {
		return s.Identity
	}
	key, err := attest.ParsePublic([]byte(s.Key))
	if err != nil {
		return "a key that cannot be read"
	}
	return key.Fingerprint()
}
