package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

func schemaCommand() command {
	return command{name: "schema", args: "COMMAND…", usage: "print the JSON Schema of a command's --json output", complete: "command", alone: always,
		example: "skl schema list\nskl schema registry token create",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			name := strings.Join(strings.Fields(strings.Join(c.Args().Slice(), " ")), " ")
			var with []string
			for _, cmd := range withJSON(commands(), "", nil) {
				if cmd.own {
					with = append(with, cmd.name)
				}
				if cmd.name != name && !slices.Contains(cmd.aliases, name) {
					continue
				}
				text, err := outputSchema(cmd.output)
				if err != nil {
					return err
				}
				w.ui.Raw(text)
				return nil
			}
			return diag.New(diag.Misuse, "unknown_command", "no command %q has a JSON form", name).Meant(with...)
		}}
}

// A printed is a command with a JSON form, by its whole name.
type printed struct {
	name    string
	aliases []string
	output  any
	own     bool // the form is not that of the command above
}

// withJSON lists commands and subcommands with their JSON forms. A subcommand without one prints that of
// the command above it.
func withJSON(list []command, above string, output any) []printed {
	var out []printed
	for _, c := range list {
		p := printed{above + c.name, c.aliases, c.output, c.output != nil}
		if c.output == nil {
			p.output = output
		}
		if p.output != nil {
			out = append(out, p)
		}
		out = append(out, withJSON(c.sub, p.name+" ", p.output)...)
	}
	return out
}

// outputSchema is the schema of v's type. Beside it, as $defs/error, is that of
// what is printed in its place when the command fails.
func outputSchema(v any) ([]byte, error) {
	orNull := &jsonschema.Schema{Types: []string{"null", "object"}, AdditionalProperties: &jsonschema.Schema{Type: "string"}}
	s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[map[string]string](): orNull},
	})
	if err != nil {
		return nil, err
	}
	failure, err := jsonschema.For[ui.ErrorResult](&jsonschema.ForOptions{})
	if err != nil {
		return nil, err
	}
	s.Defs = map[string]*jsonschema.Schema{"error": failure}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}
