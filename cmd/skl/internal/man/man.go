// Package man writes the pages of the manual from the same data as the help: skl(1), and one page for each
// command, such as skl-install(1).
//
// Pages use the macros of man(7) and ASCII only, so that groff and mandoc of any age lay them out. They depend on nothing but
// the [Manual]: the same commit gives the same bytes.
//
// The program skl does not contain it; releases and packages do: see cmd/skl/internal/release.
package man

import (
	"fmt"
	"strings"
	"time"
)

// A Manual is all that the pages say.
type Manual struct {
	Version     string    // of skl
	Date        time.Time // of the source; the day is shown
	Summary     string    // what skl is, without a final period
	Commands    []Command
	Global      []Flag
	Exit        [][2]string // status and meaning
	Environment string      // text that keeps its lines
}

// A Command is a word of skl, or of a command above it.
type Command struct {
	Name, Args string // "install", "[REF…] [NAME…]"
	Usage      string // one line
	Aliases    []string
	Examples   []string // lines to type
	Flags      []Flag
	Sub        []Command
}

// A Flag is an option of a command.
type Flag struct {
	Names []string // as they are typed: "-C", "--project"
	Value string   // placeholder of what follows, "" for a switch
	Usage string
}

// Pages returns the content of each page by the name of its file, such as "skl-install.1".
func (m Manual) Pages() map[string][]byte {
	pages := map[string][]byte{"skl.1": m.root()}
	for _, c := range m.Commands {
		pages["skl-"+c.Name+".1"] = m.command(c)
	}
	return pages
}

func (m Manual) root() []byte {
	p := m.page("skl", m.Summary)
	p.section("SYNOPSIS")
	p.line(`.B skl`)
	p.text(`[global flags] COMMAND [flags] [arguments]`)
	p.section("DESCRIPTION")
	p.text("skl installs agent skills from git, OCI registries, marketplaces, archives and folders into the directories that coding agents read, " +
		"locks them byte for byte, and shows which copy each agent loads. It runs skills that are programs, serves a private registry, and searches code and skills.")
	p.line(".PP")
	p.text("Each command has a page of its own, such as skl-install(1). The guides are in the program: skl help guide.")
	p.section("COMMANDS")
	for _, c := range m.Commands {
		p.tagged("skl-"+c.Name+"(1)", c.Usage)
	}
	p.section("GLOBAL FLAGS")
	p.text("Every command takes these, before or after its own flags and arguments.")
	p.flags(m.Global)
	p.exit(m.Exit)
	p.section("ENVIRONMENT")
	p.lines(strings.Split(strings.TrimRight(m.Environment, "\n"), "\n"))
	p.section("FILES")
	p.tagged("skl.toml, skl.lock", "the wanted and the installed skills of a project: commit both")
	p.tagged("$XDG_CONFIG_HOME/skl/config.toml", "registries, namespaces and forges of the user")
	p.tagged("$XDG_DATA_HOME/skl, $XDG_CACHE_HOME/skl, $XDG_STATE_HOME/skl", "the store, caches that may be deleted, and runs with the user's trust")
	p.section("SEE ALSO")
	p.text("skl help all lists every command with its subcommands, skl help errors the codes of errors, skl help environment the variables.")
	return p.bytes()
}

func (m Manual) command(c Command) []byte {
	p := m.page("skl-"+c.Name, c.Usage)
	p.section("SYNOPSIS")
	p.synopsis("skl "+c.Name, c)
	if len(c.Aliases) > 0 {
		p.section("ALIASES")
		p.text(strings.Join(c.Aliases, ", "))
	}
	if len(c.Flags) > 0 {
		p.section("FLAGS")
		p.flags(c.Flags)
	}
	if len(c.Sub) > 0 {
		p.section("SUBCOMMANDS")
		p.sub("skl "+c.Name, c.Sub)
	}
	if len(c.Examples) > 0 {
		p.section("EXAMPLES")
		p.lines(c.Examples)
	}
	p.exit(m.Exit)
	p.section("SEE ALSO")
	p.text("skl(1) has the global flags, the environment and the files.")
	return p.bytes()
}

// A page is being written.
type page struct{ b strings.Builder }

func (m Manual) page(name, summary string) *page {
	p := new(page)
	fmt.Fprintf(&p.b, ".TH %s 1 %s \"skl %s\" \"skl manual\"\n", strings.ToUpper(escape(name)), m.Date.UTC().Format(time.DateOnly), escape(m.Version))
	p.section("NAME")
	p.text(name + " - " + summary)
	return p
}

func (p *page) bytes() []byte { return []byte(p.b.String()) }

// line writes a line of roff as it is.
//
//go:noinline
func (p *page) line(s string) { p.b.WriteString(s + "\n") }

func (p *page) section(name string) { p.line(".SH " + name) }

// text writes a line of running text.
func (p *page) text(s string) { p.line(escape(s)) }

// lines keeps the lines of a text apart.
func (p *page) lines(lines []string) {
	p.line(".nf")
	for _, l := range lines {
		if l == "" {
			p.line(`\&`)
			continue
		}
		p.text(l)
	}
	p.line(".fi")
}

func (p *page) tagged(tag, text string) {
	p.line(".TP")
	p.line(".B " + escape(tag))
	p.text(text)
}

func (p *page) flags(flags []Flag) {
	for _, f := range flags {
		var names []string
		for _, n := range f.Names {
			names = append(names, `\fB`+escape(n)+`\fR`)
		}
		tag := strings.Join(names, ", ")
		if f.Value != "" {
			tag += ` \fI` + escape(f.Value) + `\fR`
		}
		p.line(".TP")
		p.line(tag)
		p.text(f.Usage)
	}
}

func (p *page) synopsis(words string, c Command) {
	p.line(".B " + escape(words))
	rest := c.Args
	switch {
	case len(c.Sub) > 0:
		rest = "COMMAND [flags] [arguments]"
	case len(c.Flags) > 0:
		rest = "[flags] " + c.Args
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		p.text(rest)
	}
}

// sub describes subcommands; above is how one types what is before them.
func (p *page) sub(above string, list []Command) {
	for _, s := range list {
		words := above + " " + s.Name
		p.line(".SS " + escape(words))
		p.text(s.Usage)
		if len(s.Sub) > 0 {
			p.sub(words, s.Sub)
			continue
		}
		p.line(".PP")
		p.synopsis(words, s)
		p.flags(s.Flags)
	}
}

func (p *page) exit(codes [][2]string) {
	p.section("EXIT STATUS")
	for _, c := range codes {
		p.tagged(c[0], c[1])
	}
}

// escape makes s mean itself in running text: no macro at its start, no escape in it, and ASCII signs that stay what they are
// when they are copied from the page.
func escape(s string) string {
	var b strings.Builder
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		b.WriteString(`\&`)
	}
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
