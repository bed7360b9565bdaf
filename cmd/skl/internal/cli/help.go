package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/codes"
	"github.com/skl-project/skl/cmd/skl/internal/guide"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// groups of the short help, in the order of the page.
var groups = []string{"Skills", "Team", "Copies", "Run", "Author", "Code", "Trust", "Sites"}

// commands is every command of this version, in the order of the help.
func commands() []command {
	return []command{
		initCommand(), installCommand(), removeCommand(), updateCommand(), listCommand(), searchCommand(), infoCommand(), readCommand(),
		ciCommand(), lockCommand(), checkCommand(), statusCommand(), diffCommand(), outdatedCommand(), whyCommand(),
		whichCommand(), disableCommand(), enableCommand(), ackCommand(), doctorCommand(),
		runCommand(), resumeCommand(), runsCommand(), traceCommand(), graphCommand(), activateCommand(),
		newCommand(), authorCommand(), lintCommand(), fmtCommand(), testCommand(), convertCommand(), skillifyCommand(), packCommand(), digestCommand(), publishCommand(),
		queryCommand(), evidenceCommand(), expandCommand(), indexCommand(), mcpCommand(),
		verifyCommand(), auditCommand(), trustCommand(), policyCommand(), keyCommand(), signCommand(), attestCommand(),
		registryCommand(), sourceCommand(), yankCommand(), deprecateCommand(), loginCommand(), logoutCommand(), cacheCommand(),
		schemaCommand(), completionCommand(), quickstartCommand(), versionCommand(), helpCommand(), completeCommand(),
	}
}

// rootHelp is the first page: what skl is, the words by group, where to go on.
func rootHelp() string {
	all := commands()
	var b strings.Builder
	b.WriteString("skl installs agent skills, locked and byte-exact, and shows which copy each agent loads.\n\n")
	b.WriteString("  skl install owner/repo/skill    into .agents/skills, with links for the agents you use\n")
	b.WriteString("  skl list --shadowed             which copy loads, and what it hides\n")
	b.WriteString("  skl ci                          exactly what skl.lock says, or nothing\n\n")
	var others []string
	for _, g := range groups {
		var names []string
		for _, c := range all {
			if c.group == g {
				names = append(names, c.name)
			}
		}
		fmt.Fprintf(&b, "  %-7s %s\n", g, strings.Join(names, "  "))
	}
	for _, c := range all {
		if c.group == "" && !strings.HasPrefix(c.name, "__") {
			others = append(others, c.name)
		}
	}
	fmt.Fprintf(&b, "  %-7s %s\n\n", "More", strings.Join(others, "  "))
	b.WriteString("skl help all lists every command, skl COMMAND --help explains one, skl help errors the exit codes.\n")
	b.WriteString("skl help guide lists the guides: install, shadowing, registry, run, search and more.\n")
	b.WriteString("Global flags: -C, --project DIR · --scope project|user|managed (-g: user) · --root DIR · --json · --offline ·\n")
	b.WriteString("              --config FILE · -q, --quiet · -y, --yes · --no-color · --no-unicode · -v, --verbose\n")
	return b.String()
}

// help is the page of one command.
func (c command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "skl %s: %s\n\nUsage: skl %s", c.name, c.usage, c.name)
	if len(c.flags) > 0 {
		b.WriteString(" [flags]")
	}
	if c.args != "" {
		b.WriteString(" " + c.args)
	}
	b.WriteString("\n")
	if len(c.aliases) > 0 {
		fmt.Fprintf(&b, "Also: %s\n", strings.Join(c.aliases, ", "))
	}
	c.helpSub(&b, !slices.ContainsFunc(c.sub, func(s command) bool { return len(s.sub) > 0 }))
	if len(c.flags) > 0 {
		b.WriteString("\nFlags:\n")
		for _, f := range c.flags {
			fmt.Fprintf(&b, "  %s\n", flagLine(f))
		}
	}
	if c.name == "query" || c.name == "evidence" || c.name == "index" {
		b.WriteString("\nVariable:\n  " + indexVariable + "\n")
	}
	if c.example != "" {
		b.WriteString("\nExamples:\n")
		for _, line := range strings.Split(strings.TrimSpace(c.example), "\n") {
			fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(line))
		}
	}
	b.WriteString("\nGlobal flags: skl --help\n")
	return b.String()
}

// helpSub lists the subcommands, with their flags unless there are too many for one page.
func (c command) helpSub(b *strings.Builder, flags bool) {
	for _, s := range c.sub {
		if len(s.sub) > 0 {
			s.name = c.name + " " + s.name
			s.helpSub(b, flags)
			continue
		}
		fmt.Fprintf(b, "  skl %s\n      %s\n", strings.TrimSpace(c.name+" "+s.name+" "+s.args), s.usage)
		for _, f := range s.flags {
			if flags {
				fmt.Fprintf(b, "      %s\n", flagLine(f))
			}
		}
	}
}

func flagLine(f cli.Flag) string {
	names, value, usage := flagParts(f)
	if value != "" {
		names[len(names)-1] += " " + value
	}
	return fmt.Sprintf("%-28s %s", strings.Join(names, ", "), usage)
}

// flagParts returns the names of a flag as they are typed, the placeholder of its value ("" for a switch) and what it does.
func flagParts(f cli.Flag) (names []string, value, usage string) {
	for _, n := range f.Names() {
		names = append(names, dashed(n))
	}
	doc, _ := f.(cli.DocGenerationFlag)
	usage = doc.GetUsage()
	if _, rest, ok := strings.Cut(usage, "`"); ok {
		if word, _, ok := strings.Cut(rest, "`"); ok {
			return names, word, strings.ReplaceAll(usage, "`", "")
		}
	}
	return names, "", usage
}

// elsewhere are words that other programs have for commands, and commands that people expect, with what is typed here.
var elsewhere = map[string][]string{
	"find": {"skl search WORDS"}, "discover": {"skl search WORDS"}, "browse": {"skl search WORDS"},
	"use": {"skl install REF", "skl read NAME --prompt"}, "get": {"skl install REF"}, "pull": {"skl install REF"}, "download": {"skl install REF"}, "fetch": {"skl install REF"},
	"preview": {"skl info REF", "skl install REF --dry-run"}, "view": {"skl info REF"}, "inspect": {"skl info REF"}, "describe": {"skl info REF"}, "cat": {"skl read NAME"},
	"sync": {"skl ci"}, "restore": {"skl ci"}, "bundle": {"skl pack DIR -o FILE"}, "build": {"skl pack DIR -o FILE"}, "link": {"skl install DIR --link"}, "freeze": {"skl lock"}, "relock": {"skl lock"},
	"tree": {"skl graph NAME", "skl why NAME"}, "deps": {"skl why NAME"}, "where": {"skl which NAME"}, "path": {"skl which NAME"}, "roots": {"skl list --roots"},
	"agents": {"skl doctor --hosts"}, "hosts": {"skl doctor --hosts"}, "env": {"skl help environment"}, "config": {"skl help guide configuration"}, "settings": {"skl help guide configuration"},
	"exec": {"skl run NAME"}, "start": {"skl run NAME"}, "create": {"skl new NAME"}, "scaffold": {"skl new NAME"}, "push": {"skl publish DIR NS/NAME@VERSION"}, "release": {"skl publish DIR NS/NAME@VERSION"},
	"marketplace": {"skl source list"}, "market": {"skl source list"}, "plugin": {"skl source list"}, "tap": {"skl source list"}, "serve": {"skl registry serve"}, "token": {"skl registry token list"},
	"auth": {"skl login URL"}, "whoami": {"skl doctor"}, "clean": {"skl cache clean"}, "prune": {"skl cache gc"}, "grep": {"skl query --literal TEXT"}, "ask": {"skl evidence WORDS"}, "docs": {"skl help guide"}, "man": {"skl help guide"},
}

// unknownCommand refuses a command by its name; the hints have the words that were typed after it.
func unknownCommand(name string, words []string) error {
	e := diag.New(diag.Misuse, "unknown_command", "unknown command %q", name)
	if meant := elsewhere[name]; len(meant) > 0 {
		for _, m := range meant {
			e = e.Hint("%s", filled(m, words))
		}
		return e
	}
	if slices.Contains(guide.Names(), name) {
		return e.Hint("skl help guide %s", name)
	}
	var names []string
	for _, c := range commands() {
		names = append(append(names, c.name), c.aliases...)
	}
	if e.Candidates = spell.Nearest(name, names, 3); len(e.Candidates) > 0 {
		return e.Hint("skl %s", diag.Words(append([]string{e.Candidates[0]}, words...)))
	}
	return e.Hint("skl --help")
}

// filled is a command with words in the place of its one placeholder, or the command as it is where they do not fit in there.
func filled(command string, words []string) string {
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return w == "" || w[0] == '-' }) {
		return command
	}
	for _, many := range []string{"WORDS", "TEXT"} {
		if before, ok := strings.CutSuffix(command, many); ok {
			return before + diag.Words(words)
		}
	}
	for _, one := range []string{" REF", " NAME", " DIR", " URL"} {
		if before, after, ok := strings.Cut(command, one); ok && len(words) == 1 {
			return before + " " + diag.Quote(words[0]) + after
		}
	}
	return command
}

// helpResult is what "skl help --json" prints: a page, a guide, or the guides that there are.
type helpResult struct {
	Topic  string            `json:"topic"`
	Text   string            `json:"text,omitempty"`   // of a guide, Markdown
	Guides []guideResult     `json:"guides,omitempty"` // of "help guide"
	Codes  map[string]string `json:"codes,omitempty"`  // of "help errors": what each code means
}

type guideResult struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// page shows a page of help.
func (w *world) page(topic, text string) error {
	out := helpResult{Topic: topic, Text: text}
	if topic == "errors" {
		out.Codes = map[string]string{}
		for _, c := range codes.All {
			out.Codes[c[0]] = c[1]
		}
	}
	return w.show(out, nil, func(say *report.Text) { say.Help(text) })
}

// called is the index of the command with a name or an alias, -1 if there is none. A generic function would do: its instance keeps the
// type of commands for reflection, and with it every method of what commands work with, some 60 kB of program.
func called(list []command, name string) int {
	for i := range list {
		if list[i].name == name || slices.Contains(list[i].aliases, name) {
			return i
		}
	}
	return -1
}

func helpCommand() command {
	return command{name: "help", output: helpResult{}, args: "[COMMAND…|all|errors|environment|guide [NAME]]", usage: "explain a command, or show a guide", complete: "topic", alone: always,
		example: "skl help install\nskl help all\nskl help errors\nskl help environment\nskl help guide\nskl help guide registry",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			page := command{name: "help " + c.Args().First(), instead: "skl help --help"}
			switch topic := c.Args().First(); topic {
			case "all", "errors", "environment":
				if err := page.surplus(c.Args().Tail()); err != nil {
					return err
				}
			}
			switch topic := c.Args().First(); topic {
			case "":
				return w.page("skl", rootHelp())
			case "all":
				return w.page("all", allHelp())
			case "errors":
				return w.page("errors", errorsHelp())
			case "environment":
				return w.page("environment", environmentHelp)
			case "guide":
				return showGuide(w, c.Args().Tail())
			default:
				all := commands()
				i := called(all, topic)
				if i < 0 {
					return unknownCommand(topic, nil)
				}
				page := all[i]
				for _, word := range c.Args().Tail() {
					i := called(page.sub, word)
					if i < 0 {
						return unknownCommand(page.name+" "+word, nil)
					}
					page = page.below(page.sub[i])
				}
				return w.page(page.name, page.help())
			}
		}}
}

// showGuide lists the guides, or shows one: laid out on a terminal, elsewhere as Markdown.
func showGuide(w *world, args []string) error {
	if len(args) == 0 {
		out := helpResult{Topic: "guide"}
		for _, g := range guide.All() {
			out.Guides = append(out.Guides, guideResult{g.Name, g.Summary})
		}
		return w.show(out, nil, func(say *report.Text) {
			for _, g := range out.Guides {
				say.Print("  %-14s %s", g.Name, g.Summary)
			}
			say.Hint("skl help guide %s", guide.Names()[0])
		})
	}
	g, err := guide.Get(args[0])
	switch {
	case err != nil:
		return err
	case len(args) > 1:
		return diag.New(diag.Misuse, "usage", "one guide at a time, and %q is the second", args[1]).Hint("skl help guide %s", g.Name)
	}
	return w.show(helpResult{Topic: "guide " + g.Name, Text: guide.Portable(g.Text)}, nil, func(say *report.Text) {
		say.Page(func(k screen.Look) string {
			return k.Fold(k.Drawn(guide.Render(g.Text, guide.Screen{Width: min(k.Width-1, 100), Color: k.Color})))
		}, func(say *report.Text) { say.Raw([]byte(guide.Portable(g.Text))) })
	})
}

func allHelp() string {
	var b strings.Builder
	for _, c := range commands() {
		if strings.HasPrefix(c.name, "__") {
			continue
		}
		fmt.Fprintf(&b, "  %-11s %s\n", c.name, c.usage)
		for _, s := range c.sub {
			fmt.Fprintf(&b, "  %-11s   %s: %s\n", "", s.name, s.usage)
			for _, t := range s.sub {
				fmt.Fprintf(&b, "  %-11s     %s %s: %s\n", "", s.name, t.name, t.usage)
			}
		}
	}
	return b.String()
}

// environmentHelp is the page "skl help environment".
const environmentHelp = `Variables that skl reads
  SKL_CONFIG             config.toml to use instead of the user's
  SKL_CACHE_DIR, SKL_DATA_DIR, SKL_STATE_DIR
                         directories instead of the XDG ones
  SKL_SKILLS_PATH        more roots to search for skills
  SKL_OFFLINE            1: like --offline
  SKL_KEYRING            off: skl login keeps tokens in docker's file, not in the system's keyring
  SKL_INDEX_BACKGROUND   on: indexing goes on when a query has ended
  SKL_DB                 postgres://… of registry serve, instead of --db
  SKL_PAGER, PAGER       what long differences are read with; "cat" for nothing
  SKL_TOKEN              token for the default registry; without one, for that of --to or --registry
  SKL_TOKEN_<HOST>       token for one host

SKL_TOKEN_<HOST>
  Letters and digits of the host are written in upper case, a dot as _, each hyphen as __,
  the colon before a port as ___. Port 443 is left out. Any other byte is _____ and two
  hexadecimal digits. No two hosts share a variable:
    https://git.example             SKL_TOKEN_GIT_EXAMPLE
    https://my-git.example          SKL_TOKEN_MY__GIT_EXAMPLE
    https://git.example:8443        SKL_TOKEN_GIT_EXAMPLE___8443
    http://127.0.0.1:5080           SKL_TOKEN_127_0_0_1___5080
  Earlier versions wrote hyphens and colons as _ too. That is still right for a host without
  either, and not used for others. "skl doctor" names each variable that must be renamed.

Credentials are sent over https and to loopback addresses only, whether they come from a
variable, docker, netrc or a credential helper. Where config.toml says insecure = true for a host,
only the token_env or token_command of the same table is sent in the clear.

Traces go to OTEL_EXPORTER_OTLP_ENDPOINT with names, durations and counts of tokens. Prompts, answers,
values and messages of errors go there only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT
is true, SPAN_ONLY or SPAN_AND_EVENT.

Also honoured: XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME, XDG_STATE_HOME, HTTPS_PROXY,
HTTP_PROXY, NO_PROXY, SSL_CERT_FILE, GH_TOKEN and GITHUB_TOKEN (GitHub only), CI_JOB_TOKEN
(the server of the job only), NETRC, DOCKER_CONFIG, NO_COLOR, CLICOLOR_FORCE, CI.
SKL_PLAIN=1 keeps the terminal still, for screen readers.
`

// exitCodes are the statuses of every command, with their meanings.
var exitCodes = [][2]string{
	{"0", "done"},
	{"1", "failed: a source says no, network, disk, bug"},
	{"2", "misuse: unknown command, flag or name, ambiguous reference; nothing was changed"},
	{"3", "a check did not hold: stale lock, drift, findings, conflicts, an interrupted install"},
	{"4", "refused: policy, signature, digest, permission; nothing was changed"},
	{"5", "input is needed and nobody can be asked"},
	{"130", "interrupted"},
}

func errorsHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %-4s %s\n", c[0], c[1])
	}
	b.WriteString("\nFamilies of codes in {\"error\":{\"code\":…}}\n")
	for _, f := range codes.Families {
		fmt.Fprintf(&b, "  %-40s %s\n", f[0], f[1])
	}
	b.WriteString("\nCodes\n")
	for _, c := range codes.All {
		fmt.Fprintf(&b, "  %-22s %s\n", c[0], c[1])
	}
	b.WriteString("\nRemarks of skl list, doctor and check\n")
	for _, c := range append(inspect.Remarks(), codes.Carried...) {
		fmt.Fprintf(&b, "  %-22s %s\n", c[0], c[1])
	}
	return b.String()
}
