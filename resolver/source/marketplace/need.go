package marketplace

import (
	"encoding/json"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// MaxNeeds is the number of plugins that one can say it needs.
const MaxNeeds = 100

// A Need is a plugin that another one says it needs.
type Need struct {
	Name   string
	Market string // its marketplace by its own name; "" is that of who needs it
	Range  string // of versions, as npm has them; "" is all
}

// String is n as a person reads it: "vault ~2.1.0", or "vault ~2.1.0 of marketplace other".
func (n Need) String() string {
	text := n.Name
	if n.Range != "" {
		text += " " + n.Range
	}
	if n.Market != "" {
		text += " of marketplace " + n.Market
	}
	return text
}

// Allows reports whether a version is in the range of n. What is no semantic version is in none.
func (n Need) Allows(version string) bool {
	if n.Range == "" {
		return true
	}
	c, err := semver.NewConstraint(n.Range)
	if err != nil {
		return false
	}
	v, err := semver.StrictNewVersion(version)
	return err == nil && c.Check(v)
}

// needs reads the key dependencies: a list of "name", "name@market" or {name, version, marketplace}.
func needs(src json.RawMessage) ([]Need, error) {
	if len(src) == 0 || string(src) == "null" {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(src, &list) != nil {
		return nil, invalid("dependencies is not a list")
	}
	if len(list) > MaxNeeds {
		return nil, invalid("it needs more than %d plugins", MaxNeeds)
	}
	var out []Need
	for i, entry := range list {
		n, err := need(entry)
		if err != nil {
			return nil, invalid("dependencies[%d]: %w", i, err)
		}
		out = append(out, n)
	}
	return out, nil
}

// need reads one entry of dependencies.
func need(src json.RawMessage) (Need, error) {
	var n Need
	if text := str(src); text != "" {
		name, market, at := strings.Cut(text, "@")
		if n.Name, n.Market = name, market; at && market == "" {
			return Need{}, invalid("%q names no marketplace behind @", text)
		}
	} else {
		fields, err := object(src)
		if err != nil {
			return Need{}, invalid("neither a name nor an object")
		}
		for key, to := range map[string]*string{"name": &n.Name, "version": &n.Range, "marketplace": &n.Market} {
			if value := fields[key]; value != nil && json.Unmarshal(value, to) != nil {
				return Need{}, invalid("%s is not a string", key)
			}
		}
	}
	if !isName(n.Name) || n.Market != "" && !isName(n.Market) {
		return Need{}, invalid("%q cannot be the name of a plugin and its marketplace", strings.TrimSuffix(n.Name+"@"+n.Market, "@"))
	}
	if n.Range != "" {
		if _, err := semver.NewConstraint(n.Range); err != nil || len(n.Range) > 256 {
			return Need{}, invalid("%s: %q is not a range of versions", n.Name, n.Range)
		}
	}
	return n, nil
}
