package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// typedFlags are the flags of the command line that c was read from, each with a space before it, quoted for the shell.
// Those in skip are left out.
func typedFlags(c *cli.Context, skip ...string) string {
	var b strings.Builder
	for _, f := range typedOf(c, slices.Concat(c.Command.Flags, globalFlags())) {
		if !slices.Contains(skip, f.Name) {
			b.WriteString(" " + f.Text)
		}
	}
	return b.String()
}

// typedOf are those of flags that were typed.
func typedOf(c *cli.Context, flags []cli.Flag) (out []screen.Flag) {
	for _, f := range flags {
		name := f.Names()[0]
		if !c.IsSet(name) {
			continue
		}
		text := "--" + name
		switch f.(type) {
		case *cli.BoolFlag:
			if !c.Bool(name) {
				continue
			}
		case *cli.StringSliceFlag:
			text = ""
			for _, v := range c.StringSlice(name) {
				text += " --" + name + " " + diag.Quote(v)
			}
			text = strings.TrimPrefix(text, " ")
		default:
			text += " " + diag.Quote(fmt.Sprint(c.Value(name)))
		}
		out = append(out, screen.Flag{Name: name, Text: text})
	}
	return out
}

// typed is what a hint has to repeat of the command line: where, and of commands that are often typed again, how. What only looks,
// or is another thing to do, is left out.
func typed(c *cli.Context) *screen.Typed {
	t := &screen.Typed{Command: c.Command.Name}
	const (
		places = " project scope global config root "
		always = " to registry "
		whole  = " install update lock publish "
		other  = " all dry-run frozen gate hold list reason skill strict unhold json offline quiet yes no-color no-unicode verbose "
	)
	in := func(list, word string) bool { return strings.Contains(list, " "+word+" ") }
	for _, f := range typedOf(c, slices.Concat(globalFlags(), c.Command.Flags)) {
		shadowed := slices.ContainsFunc(c.Command.Flags, func(own cli.Flag) bool { return own.Names()[0] == f.Name }) // of registry serve, --config is its own
		own := shadowed || f.Name == "root" && t.Command == "install"
		switch {
		case in(places, f.Name) && !own:
			t.Places = append(t.Places, f)
		case in(always, f.Name), in(whole, t.Command) && !in(other, f.Name):
			t.Flags = append(t.Flags, f)
		}
	}
	return t
}

// typedArgs are the arguments of the command line, each with a space before it, quoted for the shell. Those that look like
// flags need a "--" before them, so that they stand last.
func typedArgs(c *cli.Context) (plain, last string) {
	for _, arg := range c.Args().Slice() {
		if strings.HasPrefix(arg, "-") && last == "" {
			last = " --"
		}
		if last != "" {
			last += " " + diag.Quote(arg)
		} else {
			plain += " " + diag.Quote(arg)
		}
	}
	return plain, last
}

// again is how a command line is typed once more, with flags added to it.
func again(c *cli.Context) func(add string) string {
	plain, last := typedArgs(c)
	flags := typedFlags(c)
	return func(add string) string { return "skl " + c.Command.Name + plain + flags + " " + add + last }
}
