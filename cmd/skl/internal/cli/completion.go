package cli

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/guide"
	"github.com/skl-project/skl/cmd/skl/internal/mcp"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

func completionCommand() command {
	return command{name: "completion", args: "bash|zsh|fish|powershell", usage: "print a completion script", complete: "shell", alone: always,
		example: "source <(skl completion bash)\nskl completion fish > ~/.config/fish/completions/skl.fish",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			script, ok := completionScripts[c.Args().First()]
			if !ok {
				return diag.New(diag.Misuse, "unknown_shell", "no completion for %q", c.Args().First()).Meant("bash", "zsh", "fish", "powershell")
			}
			w.ui.Raw([]byte(script))
			return nil
		}}
}

// The scripts ask the hidden command "__complete" with the words so far; it
// prints one candidate a line. A candidate is never expanded: compgen -W would run the
// commands in it, and names come from the project. That of zsh is either sourced, or lies in a folder of fpath and is
// then the body of _skl at its first call.
var completionScripts = map[string]string{
	"bash": `_skl() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(skl __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _skl skl
`,
	"zsh": `#compdef skl
_skl() {
  local -a found
  found=("${(@f)$(skl __complete -- "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
  compadd -a found
  _files
}
if [ "${funcstack[1]}" = _skl ]; then _skl "$@"; else compdef _skl skl; fi
`,
	"fish": `complete -c skl -a '(skl __complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName skl -ScriptBlock {
  param($word, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($word -eq "") { $words += "" }
  skl __complete -- @words 2>$null | Where-Object { $_ -like "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`,
}

func completeCommand() command {
	return command{name: "__complete", args: "[WORDS…]", usage: "candidates for the last word", alone: always,
		run: func(_ context.Context, w *world, c *cli.Context) error {
			if full, err := newWorld(w.env, w.ui, c); err == nil { // else commands and flags are completed, and no names
				w = full
			}
			for _, candidate := range w.candidates(c.Args().Slice()) {
				w.ui.Print("%s", candidate)
			}
			return nil
		}}
}

// candidates completes the last of words: commands, flags, hosts, skills.
func (w *world) candidates(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	all := commands()
	var cmd *command
	for _, word := range before {
		i := called(all, word)
		if i >= 0 {
			cmd, all = &all[i], all[i].sub
		}
	}
	var out []string
	switch {
	case len(before) == 2 && before[0] == "help" && before[1] == "guide":
		out = guide.Names()
	case len(before) > 0 && flagValues(before[len(before)-1]) != nil:
		out = flagValues(before[len(before)-1])
	case strings.HasPrefix(last, "-"):
		out = flagNames(cmd)
	case cmd == nil || len(cmd.sub) > 0:
		for _, c := range all {
			out = append(out, c.name)
		}
	default:
		out = w.arguments(cmd.complete)
	}
	out = slices.DeleteFunc(out, func(s string) bool {
		return !strings.HasPrefix(s, last) || strings.HasPrefix(s, "__") || !typeable(s)
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// typeable reports whether s means itself in every shell: letters, digits and a few signs. Others
// are not offered, since what a shell does with a candidate is up to the shell.
func typeable(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@+", r)
	}) < 0
}

// flagValues are what a flag takes, nil if that is not a list of words.
func flagValues(flag string) (out []string) {
	switch flag {
	case "--host", "-a", "--agent":
		return scope.HostIDs()
	case "--config-for":
		return mcp.Hosts()
	case "--kind":
		return []string{"definition", "reference", "any"}
	case "--match":
		return []string{"any", "all"}
	case "--explain":
		return append(ruleIDs(), "all")
	case "--fail-on":
		return []string{"low", "medium", "high", "refuse"}
	case "--tools":
		return mcp.Groups()
	}
	return out
}

func flagNames(cmd *command) []string {
	flags := globalFlags()
	if cmd != nil {
		flags = append(flags, cmd.flags...)
	}
	var out []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				out = append(out, "--"+name)
			}
		}
	}
	return out
}

func (w *world) arguments(kind string) []string {
	if w.scope == nil && (kind == "skill" || kind == "pin") {
		return nil
	}
	switch kind {
	case "skill":
		f, err := w.scope.Load()
		if err != nil || f.Lock == nil {
			return nil
		}
		var names []string
		for _, s := range f.Lock.Skills {
			if !strings.HasPrefix(s.Name, "-") { // a flag, where it is put
				names = append(names, s.Name)
			}
		}
		return names
	case "pin":
		return w.apply.Signatures.PinIDs()
	case "command":
		var names []string
		for _, c := range commands() {
			names = append(names, c.name)
		}
		return names
	case "topic":
		return append(w.arguments("command"), "all", "errors", "environment", "guide")
	case "shell":
		return []string{"bash", "zsh", "fish", "powershell"}
	}
	return nil
}
