package hosts

import (
	"encoding/json"
	"math"
	"strconv"
)

// budgets are what settings say of how much a host tells its model of skills.
type budgets struct {
	model    string
	fraction float64 // of the window
	limit    int
	most     int
	noOwn    bool
	by, file string // what decides the limit, and the file that says it; "" of a variable
}

// claudeSettings takes what one file of Claude Code's settings says. A value of another kind than it takes counts as not there, as for Claude Code.
func (b *budgets) claudeSettings(file string, top object) {
	if m, ok := top.member("model"); ok {
		if model, err := m.text(); err == nil {
			b.model = model
		}
	}
	var fraction float64
	if m, ok := top.member("skillListingBudgetFraction"); ok && json.Unmarshal(m.value, &fraction) == nil && fraction > 0 && fraction <= 1 {
		b.fraction, b.by, b.file = fraction, "skillListingBudgetFraction", file
	}
	var most int
	if m, ok := top.member("skillListingMaxDescChars"); ok && json.Unmarshal(m.value, &most) == nil && most > 0 {
		b.most = most
	}
	if m, ok := top.member("disableBundledSkills"); ok {
		_ = json.Unmarshal(m.value, &b.noOwn)
	}
	set, err := top.object("env")
	if err != nil {
		return
	}
	for _, m := range set {
		if text, err := m.text(); err == nil {
			b.claudeVariable(m.key, text, file)
		}
	}
}

// claudeVariable takes a variable, which file sets; "" is the environment.
func (b *budgets) claudeVariable(name, value, file string) {
	switch name {
	case "ANTHROPIC_MODEL":
		if value != "" {
			b.model = value
		}
	case "SLASH_COMMAND_TOOL_CHAR_BUDGET":
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			b.limit, b.by, b.file = n, name, file
		}
	}
}

// claude is the budget of Claude Code.
func (b budgets) claude(env Env) *Budget {
	for _, name := range []string{"ANTHROPIC_MODEL", "SLASH_COMMAND_TOOL_CHAR_BUDGET"} {
		b.claudeVariable(name, env.variable(name), "")
	}
	out := &Budget{Unit: "characters", Model: b.model, By: b.by, most: claudeMost, noOwn: b.noOwn, measure: claudeTells, raise: claudeRaise, file: b.file}
	if b.by == "" {
		out.file = env.Expand("${CLAUDE_CONFIG_DIR:-~/.claude}/settings.json")
	}
	if b.most > 0 {
		out.most = b.most
	}
	if b.limit > 0 {
		out.Limit, out.Model = b.limit, ""
		return out
	}
	out.Limit, out.About = claudeWindow(b.model)
	if b.fraction > 0 {
		out.Limit = int(float64(out.Limit) * b.fraction * 100)
	}
	out.About = out.About || b.model == ""
	return out
}

// codexBudget is the budget of Codex by its settings, which are nil where there are none.
func codexBudget(env Env, top map[string]any) *Budget {
	out := &Budget{Unit: "tokens", Limit: codexWindow / 50, most: codexMost, measure: codexTells, raise: codexRaise, file: env.Expand("${CODEX_HOME:-~/.codex}/config.toml"), home: env.Expand("${CODEX_HOME:-~/.codex}/skills/.system")}
	model, named := top["model"].(string)
	skills, _ := top["skills"].(map[string]any)
	bundled, _ := skills["bundled"].(map[string]any)
	on, said := bundled["enabled"].(bool)
	out.noOwn = said && !on
	if n, ok := skills["max_context_tokens"].(int64); ok && n > 0 {
		out.Limit, out.By = atMost(n), "skills.max_context_tokens"
		return out
	}
	if n, ok := top["model_context_window"].(int64); ok && n > 0 {
		out.Limit, out.By = max(atMost(n)/50, 1), "model_context_window"
		return out
	}
	out.Model, out.About = model, named
	return out
}

// atMost is a number of settings as an int that can be counted with.
func atMost(n int64) int { return int(min(n, math.MaxInt32)) }
