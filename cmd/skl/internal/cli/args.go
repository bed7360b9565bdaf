package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// reorder puts args into the one order the flag package reads: global flags,
// command words, the command's flags, "--", arguments. So flags may stand anywhere. Words
// after a "--" are arguments whatever they look like. A flag at the end whose value is missing stays at the end.
func reorder(app *cli.App, args []string) []string {
	var globals, path, flags, rest []string
	commands, own := app.Commands, []cli.Flag(nil)
	descending := true // the next plain word may be a command
	help := ""
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			rest = append(rest, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			if cmd := find(commands, arg); descending && cmd != nil {
				path, own, commands = append(path, arg), cmd.Flags, cmd.Subcommands
				continue
			}
			descending = false
			rest = append(rest, arg)
			continue
		}
		for _, flag := range split(arg, own, app.Flags) {
			name, _, hasValue := strings.Cut(strings.TrimLeft(flag, "-"), "=")
			into, known := &flags, lookup(own, name)
			if known == nil {
				if known = lookup(app.Flags, name); known != nil {
					into = &globals
				}
			}
			if known == nil && len(path) == 0 && !descending {
				into = &rest // of a command that there is not, which is what is wrong
			}
			if into == &globals && (name == "help" || name == "h") {
				help = flag // of the command that the words lead to
				continue
			}
			*into = append(*into, flag)
			if known == nil || hasValue || !takesValue(known) {
				continue
			}
			if i++; i == len(args) {
				// Nothing may stand behind it, or that would be its value.
				if into == &globals {
					return globals
				}
				return slices.Concat(globals, path, flags)
			}
			*into = append(*into, args[i])
		}
	}
	if len(commands) > 0 && len(rest) > 0 {
		help = "" // of a command that there is not, which the words alone lead to
	}
	if help != "" {
		flags = append(flags, help)
		if len(path) > 0 && len(commands) == 0 {
			rest = nil // or cli would take the first argument for the page that is wanted
		}
	}
	out := slices.Concat(globals, path, flags)
	if len(rest) > 0 {
		if len(path) > 0 {
			out = append(out, "--")
		}
		out = append(out, rest...)
	}
	return out
}

// split takes "-gy" apart if each letter is a flag without a value.
func split(arg string, sets ...[]cli.Flag) []string {
	if len(arg) < 3 || arg[1] == '-' || strings.Contains(arg, "=") {
		return []string{arg}
	}
	var out []string
	for _, letter := range arg[1:] {
		var f cli.Flag
		for _, set := range sets {
			if f == nil {
				f = lookup(set, string(letter))
			}
		}
		if f == nil || takesValue(f) {
			return []string{arg}
		}
		out = append(out, "-"+string(letter))
	}
	return out
}

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func lookup(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f
		}
	}
	return nil
}

func takesValue(f cli.Flag) bool {
	shown, ok := f.(cli.DocGenerationFlag)
	return !ok || shown.TakesValue()
}
