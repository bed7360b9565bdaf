package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

func listCommand() command {
	return command{name: "list", aliases: []string{"ls"}, group: "Skills", usage: "show the skills of all roots, and which copy each agent loads",
		output:  roots.Listing{},
		example: "skl list\nskl list --shadowed\nskl list --host claude-code\nskl list --all --fields name,version,path\nskl list --roots",
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "shadowed", Usage: "also copies that are hidden, and by what"},
			&cli.BoolFlag{Name: "all", Usage: "every copy in every state, and the skills that come with skl"},
			&cli.BoolFlag{Name: "roots", Usage: "the directories that are searched, strongest first"},
			hostFlag("show what the agent `HOST` does (repeatable)"),
			&cli.StringFlag{Name: "fields", Usage: "columns: name,copy,version,trust,state,source,digest,scope,path,description"},
		},
		run: runList}
}

func runList(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl list takes no arguments").Hint("skl which %s", c.Args().First())
	}
	if err := w.Settled(); err != nil {
		return err
	}
	l, err := w.Discover(ctx, hostList(c))
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(l.Skills), func(r roots.Record) bool {
		if r.Scope == roots.ScopeSystem && len(r.Shadows) == 0 && !c.Bool("all") {
			return true // comes with skl, nobody put it there
		}
		switch r.State {
		case roots.Active, roots.Untrusted:
			return false
		case roots.Shadowed:
			return !c.Bool("all") && !c.Bool("shadowed")
		}
		return !c.Bool("all")
	})
	if w.ui.JSON {
		l.Skills = append([]roots.Record{}, kept...)
		return w.ui.Result(l)
	}
	for _, warning := range l.Warnings {
		w.ui.Warn("%s", warning.Message)
	}
	if c.Bool("roots") {
		w.printRoots(l)
		return nil
	}
	if fields := c.String("fields"); fields != "" {
		return w.printFields(kept, strings.Split(fields, ","))
	}
	w.printList(kept)
	w.printWarnings(slices.DeleteFunc(slices.Clone(l.Skills), func(r roots.Record) bool {
		hidden := !slices.ContainsFunc(kept, func(k roots.Record) bool { return k.Qualified == r.Qualified })
		return hidden && !slices.ContainsFunc(r.Warnings, func(x roots.Warning) bool { return x.Code == "W_TRUST_DOWNGRADE" })
	}))
	if len(kept) == 0 {
		w.ui.Note("no skills are installed here")
		w.ui.Hint("skl install owner/repo")
	}
	return nil
}

func hostList(c *cli.Context) []string {
	if list := c.StringSlice("host"); len(list) > 0 {
		return list
	}
	return nil
}

// maxHostColumns is how many agents get a column of their own.
const maxHostColumns = 5

// printList is the table of the contract: one group of rows per name, the
// winning copy first.
func (w *world) printList(records []roots.Record) {
	if len(records) == 0 {
		return
	}
	columns := records[0].Hosts
	columns = columns[:min(len(columns), maxHostColumns)]
	head := []string{"NAME", "COPY", "VERSION", "TRUST"}
	for _, h := range columns {
		head = append(head, h.Host)
	}
	rows := [][]string{head}
	last := ""
	for _, r := range records {
		name := r.Name
		if name == last {
			name = ""
		}
		last = r.Name
		copyAt := w.Short(r.Path)
		if r.Source == "" && r.Scope != "system" {
			copyAt += " (not skl)"
		}
		if r.State != roots.Active {
			copyAt += " [" + r.State + "]"
		}
		row := []string{name, copyAt, orDash(r.Version), r.Trust}
		for i := range columns {
			row = append(row, emphasise(r, r.Hosts[i].Use))
		}
		rows = append(rows, row)
	}
	w.ui.Rows(rows)
}

// emphasise writes LOADS for a copy that an agent loads although skl's own view is another.
func emphasise(r roots.Record, use string) string {
	if use == hosts.Loads && r.State != roots.Active {
		return "LOADS"
	}
	return use
}

// printWarnings says what is wrong with the copies, with the command that mends it.
func (w *world) printWarnings(records []roots.Record) {
	for _, r := range records {
		for _, warning := range r.Warnings {
			switch warning.Code {
			case "W_ALIAS", "W_DUPLICATE_IDENTICAL", "W_SHADOWED":
				w.ui.Detail("%s: %s [%s]", r.Qualified, warning.Message, warning.Code)
			default:
				w.ui.Warn("%s: %s [%s]", r.Qualified, warning.Message, warning.Code)
			}
		}
	}
	for _, r := range records {
		for _, warning := range r.Warnings {
			if hint := mend(warning.Code, r); hint != "" {
				w.ui.Hint("%s", hint)
			}
		}
	}
}

// mend is the command to type for a code, "" if there is none.
func mend(code string, r roots.Record) string {
	scope := ""
	if r.Scope == "user" {
		scope = " --scope user"
	}
	switch code {
	case "W_TRUST_DOWNGRADE":
		return fmt.Sprintf("skl diff %s%s, skl disable %s%s, or skl ack W_TRUST_DOWNGRADE %s --reason WHY", r.Name, scope, r.Name, scope, r.Name)
	case "W_HOST_DIVERGENCE":
		return fmt.Sprintf("skl list --shadowed shows the copies, skl which %s --host HOST the one that an agent loads", r.Name)
	case "E_DRIFT":
		return fmt.Sprintf("skl diff %s%s shows the edits", r.Name, scope)
	case "E_EOL":
		return "skl init writes the .gitattributes lines that keep line endings"
	}
	return ""
}

func (w *world) printRoots(l roots.Listing) {
	rows := [][]string{{"ROOT", "SCOPE", "PRIORITY", "TRUST", "STATE", "HOST"}}
	for _, r := range l.Roots {
		rows = append(rows, []string{w.Short(r.Path), r.Scope, fmt.Sprint(r.Priority), r.TrustCeiling, r.State, orDash(r.Host)})
	}
	w.ui.Rows(rows)
}

func (w *world) printFields(records []roots.Record, fields []string) error {
	rows := [][]string{nil}
	for _, f := range fields {
		rows[0] = append(rows[0], strings.ToUpper(f))
	}
	for _, r := range records {
		values := map[string]string{"name": r.Name, "copy": w.Short(r.Path), "path": r.Path, "version": orDash(r.Version), "trust": r.Trust, "state": r.State,
			"source": orDash(r.Source), "digest": orDash(r.Digest), "scope": r.Scope, "description": cut(r.Description, 80), "qualified": r.Qualified}
		var row []string
		for _, f := range fields {
			v, ok := values[f]
			if !ok {
				return diag.New(diag.Misuse, "unknown_field", "unknown field %q", f).Hint("skl list --help")
			}
			row = append(row, v)
		}
		rows = append(rows, row)
	}
	w.ui.Rows(rows)
	return nil
}

type whichResult struct {
	Name   string         `json:"name"`
	Path   string         `json:"path"`
	Copies []roots.Record `json:"copies"`
}

func whichCommand() command {
	return command{name: "which", args: "NAME", group: "Copies", usage: "print the path of the copy that wins", output: whichResult{}, complete: "skill",
		example: "skl which pdf\nskl which pdf --host claude-code\ncat \"$(skl which pdf)/SKILL.md\"",
		flags:   []cli.Flag{hostFlag("the copy that the agent `HOST` loads")},
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			name, err := oneName(c)
			if err != nil {
				return err
			}
			if err := w.Settled(); err != nil {
				return err
			}
			l, err := w.Discover(ctx, hostList(c))
			if err != nil {
				return err
			}
			found, err := scope.Copies(l, name)
			if err != nil {
				return err
			}
			winner := slices.IndexFunc(found, func(r roots.Record) bool { return r.State == roots.Active })
			if list := hostList(c); list != nil {
				winner = slices.IndexFunc(found, func(r roots.Record) bool { return uses(r, list[0]) == hosts.Loads })
			}
			if winner < 0 {
				return w.noWinner(found, name, hostList(c))
			}
			if w.ui.JSON {
				return w.ui.Result(whichResult{found[winner].Name, found[winner].Path, found})
			}
			w.ui.Print("%s", found[winner].Path)
			for i, r := range found {
				if i != winner {
					w.ui.Note("also %s [%s]", w.Short(r.Path), r.State)
				}
			}
			return nil
		}}
}

// noWinner explains that no copy is the one that skl, or the host, loads.
func (w *world) noWinner(found []roots.Record, name string, hostIDs []string) error {
	e := diag.New(diag.Unmet, "no_active_copy", "no copy of %s is active", name)
	if hostIDs != nil {
		e = diag.New(diag.Unmet, "no_active_copy", "there is no one copy of %s that %s loads", name, hostIDs[0])
	}
	for _, r := range found {
		state := r.State
		if hostIDs != nil {
			state = uses(r, hostIDs[0])
		}
		e.Candidates = append(e.Candidates, w.Short(r.Path)+" ["+state+"]")
	}
	return e.Hint("skl list --all")
}

func uses(r roots.Record, host string) string {
	for _, h := range r.Hosts {
		if h.Host == host {
			return h.Use
		}
	}
	return ""
}

// oneName is the one argument of commands about one skill.
func oneName(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", diag.New(diag.Misuse, "usage", "name one skill").Hint("skl %s --help", strings.TrimPrefix(c.Command.FullName(), "skl "))
	}
	return c.Args().First(), nil
}
