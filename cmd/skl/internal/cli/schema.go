package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

func schemaCommand() command {
	return command{name: "schema", args: "COMMAND", usage: "print the JSON Schema of a command's --json output", complete: "command",
		example: "skl schema list\nskl schema install",
		run: func(_ context.Context, w *world, c *cli.Context) error {
			name := c.Args().First()
			var with []string
			for _, cmd := range commands() {
				if cmd.output == nil {
					continue
				}
				with = append(with, cmd.name)
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
