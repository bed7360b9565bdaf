package config

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/internal/tomledit"
)

// A Run is how "skl run" works on this machine.
type Run struct {
	Model   string   // what --model takes; "" looks for one
	Sandbox string   // auto, strict or off; "" is auto
	Trace   string   // URL of an OpenTelemetry collector; "" asks the environment
	Hosts   []string // "host" or "host:port" that tools and scripts may reach
}

// A Model is a provider under a name of the user's: --model NAME or NAME:ID.
type Model struct {
	Kind    string // anthropic or openai; "" is the table's own name
	BaseURL string // without a final slash; "" is the provider's
	KeyEnv  string // variable that holds the key; "" is the provider's own, or none for loopback
	Model   string // the id that is asked for when --model names none
	API     string // of openai: chat or responses; "" chooses by the address
}

// An MCP is a server whose tools leaves may call, as NAME::tool.
type MCP struct {
	Command []string // program and arguments, run without a shell; or
	URL     string
	Env     []string // names of variables that the program sees
	KeyEnv  string   // variable that holds a token for the URL
}

func (p *parser) runTable(f tomledit.Field) {
	switch f.Key {
	case "model":
		p.c.Run.Model = p.Text(f)
	case "sandbox":
		if p.c.Run.Sandbox = p.Text(f); !slices.Contains([]string{"auto", "strict", "off"}, p.c.Run.Sandbox) {
			p.Fail(f.Value, "sandbox %q is not auto, strict or off", p.c.Run.Sandbox)
		}
	case "trace":
		p.c.Run.Trace = p.url(f, "http", "https")
	case "hosts":
		p.c.Run.Hosts = p.Texts(f)
	default:
		p.Unknown(f, "model", "sandbox", "trace", "hosts")
	}
}

func (p *parser) model(entry tomledit.Field) {
	var m Model
	p.name(entry, "model")
	p.Table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "kind":
			m.Kind = p.Text(f)
		case "base_url":
			m.BaseURL = p.url(f, "https", "http")
		case "key_env":
			m.KeyEnv = p.variable(f)
		case "model":
			m.Model = p.Text(f)
		case "api":
			if m.API = p.Text(f); m.API != "chat" && m.API != "responses" {
				p.Fail(f.Value, "api %q is not chat or responses", m.API)
			}
		default:
			p.Unknown(f, "kind", "base_url", "key_env", "model", "api")
		}
	})
	kind := m.Kind
	if kind == "" {
		kind = entry.Key
	}
	if kind != "anthropic" && kind != "openai" {
		p.Lacks(entry.Value, "model %s has kind %q, which is not anthropic or openai", entry.Key, kind)
	}
	p.c.Models[entry.Key] = m
}

func (p *parser) mcp(entry tomledit.Field) {
	var m MCP
	p.name(entry, "mcp server")
	p.Table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "command":
			m.Command = p.command(f)
		case "url":
			m.URL = p.url(f, "https", "http")
		case "env":
			m.Env = p.Texts(f)
		case "key_env":
			m.KeyEnv = p.variable(f)
		default:
			p.Unknown(f, "command", "url", "env", "key_env")
		}
	})
	if (len(m.Command) > 0) == (m.URL != "") {
		p.Lacks(entry.Value, "mcp server %s needs either a command or a url", entry.Key)
	}
	p.c.MCP[entry.Key] = m
}

func (p *parser) variable(f tomledit.Field) string {
	name := p.Text(f)
	if name == "" || strings.ContainsAny(name, "= ") {
		p.Fail(f.Value, "%s %q is not the name of a variable", f.Key, name)
	}
	return name
}

// over is base with what r says on top of it.
func (base Run) over(r Run) Run {
	if r.Model != "" {
		base.Model = r.Model
	}
	if r.Sandbox != "" {
		base.Sandbox = r.Sandbox
	}
	if r.Trace != "" {
		base.Trace = r.Trace
	}
	if r.Hosts != nil {
		base.Hosts = r.Hosts
	}
	return base
}
