package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

type tokensResult struct {
	Tokens []wire.Token `json:"tokens"`
}

func tokenCommand() command {
	return command{name: "token", usage: "create, list and revoke tokens", output: tokensResult{},
		sub: []command{
			{name: "create", usage: "print a new token, once", output: wire.Token{}, run: createToken, flags: append([]cli.Flag{
				&cli.StringFlag{Name: "name", Usage: "account `NAME` that it acts as (default: yours)"},
				&cli.StringFlag{Name: "namespace", Usage: "`NAMESPACE` it is for, \"*\" for all"},
				&cli.StringFlag{Name: "role", Value: string(auth.Reader), Usage: "its `ROLE`: " + strings.Join(roles(), ", ")},
				&cli.StringFlag{Name: "expires", Value: "90d", Usage: "end it after `TIME`: 12h, 90d, or never"},
				dryRunFlag(),
			}, siteFlags()...)},
			{name: "list", usage: "tokens that you may see, without their text", run: listTokens, flags: siteFlags()},
			{name: "revoke", args: "ID", usage: "end a token at once", output: registryResult{}, run: revokeToken, flags: append([]cli.Flag{dryRunFlag()}, siteFlags()...)},
		}}
}

func createToken(ctx context.Context, w *world, c *cli.Context) error {
	if _, err := words(c, 0, "registry token create --name NAME --namespace NAMESPACE --role ROLE"); err != nil {
		return err
	}
	want := wire.NewToken{Account: c.String("name"), Namespace: c.String("namespace"), Role: c.String("role")}
	if want.Namespace == "" {
		return diag.New(diag.Misuse, "usage", "a token is for a namespace").Hint("add --namespace NAMESPACE, or --namespace \"*\" for all")
	}
	if !slices.Contains(roles(), want.Role) {
		return diag.New(diag.Misuse, "unknown_role", "there is no role %q", want.Role).Meant(roles()...)
	}
	age, err := lifetime(c.String("expires"))
	if err != nil {
		return err
	}
	if age > 0 {
		want.Expires = time.Now().Add(age).UTC().Truncate(time.Second)
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	if want.Account == "" && s.data != nil {
		want.Account = "admin"
	}
	if c.Bool("dry-run") {
		return w.did(c, s, "token-create", want.Namespace, "a token of role %s in %s would be made", want.Role, want.Namespace)
	}
	made, err := s.CreateToken(ctx, want)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(made)
	}
	w.ui.Print("%s", made.Text)
	until := "never expires"
	if !made.Expires.IsZero() {
		until = "expires " + made.Expires.Format(time.DateOnly)
	}
	w.ui.Note("token %s acts as %s, %s in %s, and %s; it is shown once", made.ID, made.Account, made.Role, made.Namespace, until)
	if s.data == nil {
		w.ui.Hint("skl login %s --token-stdin    skl registry token revoke %s", s.URL(), made.ID)
	}
	return nil
}

// roles are the names of all roles, weakest first.
func roles() []string {
	var names []string
	for _, r := range auth.Roles() {
		names = append(names, string(r))
	}
	return names
}

// lifetime reads "90d", "12h" or "never", which is 0.
func lifetime(text string) (time.Duration, error) {
	if text == "never" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, diag.New(diag.Misuse, "usage", "--expires: %q is no length of time", text).Hint("write 12h, 90d or never")
}

func listTokens(ctx context.Context, w *world, c *cli.Context) error {
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	list, err := s.Tokens(ctx)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(tokensResult{append([]wire.Token{}, list...)})
	}
	rows := [][]string{{"ID", "ACCOUNT", "NAMESPACE", "ROLE", "EXPIRES", "LAST USED", "STATE"}}
	for _, t := range list {
		state := "valid"
		switch {
		case !t.Revoked.IsZero():
			state = "revoked"
		case !t.Expires.IsZero() && t.Expires.Before(time.Now()):
			state = "expired"
		}
		rows = append(rows, []string{t.ID, t.Account, t.Namespace, t.Role, day(t.Expires, "never"), day(t.LastUsed, "-"), state})
	}
	w.ui.Rows(rows)
	if len(list) == 0 {
		w.ui.Note("there are no tokens that you may see")
	}
	return nil
}

// day is the date of t, or what stands for none.
func day(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.Format(time.DateOnly)
}

func revokeToken(ctx context.Context, w *world, c *cli.Context) error {
	args, err := words(c, 1, "registry token revoke ID")
	if err != nil {
		return err
	}
	if _, _, err := auth.ParseToken(args[0]); err == nil {
		return diag.New(diag.Misuse, "usage", "that is a token itself, not its id; it may be in your shell's history now").Hint("skl registry token list")
	}
	s, err := w.site(ctx, c)
	if err != nil {
		return err
	}
	defer s.close()
	if !c.Bool("dry-run") {
		if err := s.RevokeToken(ctx, args[0]); err != nil {
			return err
		}
	}
	return w.did(c, s, "token-revoke", args[0], "token %s is revoked", args[0])
}
