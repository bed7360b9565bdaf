package cli

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/runtime/trace/otlp"
	"github.com/skl-project/skl/spec/diag"
)

// dispatcher is what the leaves and scripts of r may call in the directory work. how is auto, strict or off; a nil
// consent asks nobody.
func (w *world) dispatcher(r *runnable, work string, allow []string, how string, consent func(context.Context, tool.Ask) (bool, error)) (*tool.Dispatcher, error) {
	grant, err := parseGrant(allow)
	if err != nil {
		return nil, err
	}
	floor, err := sandboxFloor(how)
	if err != nil {
		return nil, err
	}
	cfg := tool.Config{
		Skill: r.name, Digest: r.plan.Digest, WorkDir: work, Protected: []string{w.Root}, Grant: grant, Hosts: w.Config.Run.Hosts,
		Consent: consent, Remembered: consentStore{w}, Exec: sandbox.Run, Floor: floor, Off: how == "off",
		Path: w.Getenv("PATH"), Home: w.Home, Client: w.HTTP,
	}
	if !strings.HasPrefix(r.dir, "skl:") {
		cfg.SkillDir = r.dir
	}
	if v1 := r.skill.Doc.V1; v1 != nil {
		cfg.Policy, cfg.SideEffects = v1.Tools, v1.SideEffects
	}
	if err := w.addServers(&cfg); err != nil {
		return nil, err
	}
	return tool.New(cfg)
}

// parseGrant reads --allow, which may also hold the consent to run the skill at all.
func parseGrant(allow []string) (tool.Grant, error) {
	return tool.ParseGrant(strings.Join(slices.DeleteFunc(slices.Clone(allow), func(s string) bool { return s == allowRun }), ","))
}

// sandboxFloor is the least confinement that --sandbox accepts.
func sandboxFloor(how string) (sandbox.Tier, error) {
	switch how {
	case "auto", "off":
		return sandbox.None, nil
	case "strict":
		return sandbox.Tier2, nil
	}
	return sandbox.None, diag.New(diag.Misuse, "usage", "--sandbox %q is not auto, strict or off", how)
}

// addServers adds the MCP servers of the configuration.
func (w *world) addServers(cfg *tool.Config) error {
	for name, m := range w.Config.MCP {
		s := tool.Server{Name: name, Command: m.Command, URL: m.URL}
		for _, variable := range m.Env {
			s.Env = append(s.Env, variable+"="+w.Getenv(variable))
		}
		if m.KeyEnv != "" {
			key := w.Getenv(m.KeyEnv)
			if key == "" {
				return diag.New(diag.Misuse, "credential", "the variable %s, which holds the token of the MCP server %s, is not set", m.KeyEnv, name)
			}
			s.Header = http.Header{"Authorization": {"Bearer " + key}}
		}
		cfg.Servers = append(cfg.Servers, s)
	}
	slices.SortFunc(cfg.Servers, func(a, b tool.Server) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// A consentStore remembers what this user allowed to a skill, by its digest.
type consentStore struct{ w *world }

func (s consentStore) Consented(digest string, e tool.Effect) (bool, error) {
	c, err := s.w.readConsents()
	return slices.Contains(c.Skills[digest], string(e)), err
}

func (s consentStore) Remember(digest string, e tool.Effect) error {
	return s.w.remember(digest, string(e))
}

// spans sends the run to an OpenTelemetry collector, if the configuration or the environment names one.
func (w *world) spans(ctx context.Context, id, model string) (trace.Sink, error) {
	endpoint := w.Config.Run.Trace
	if endpoint == "" && w.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && w.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil
	}
	sink, err := otlp.New(ctx, otlp.Config{Endpoint: endpoint, Version: version, Run: id, Model: model,
		Content: otlp.CapturesContent(w.Getenv(otlp.ContentVariable))})
	if err != nil {
		return nil, err
	}
	return warned{sink, w}, nil
}

// warned is a sink whose loss is worth a warning, and fails nothing.
type warned struct {
	trace.Sink
	w *world
}

func (s warned) Close() error {
	if err := s.Sink.Close(); err != nil {
		s.w.ui.Warn("%v", err)
	}
	return nil
}
