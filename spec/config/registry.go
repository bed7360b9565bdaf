package config

import (
	"maps"
	"slices"

	"github.com/skl-project/skl/spec/internal/tomledit"
)

// SetRegistry adds a registry, or points one elsewhere; url is written as it is. With isDefault it becomes
// the default one, and no other is it any longer; without, it keeps what it was.
func (c *Config) SetRegistry(name, url string, isDefault bool) error {
	have, ok := c.Registries[name]
	if ok && have.URL == url && (have.Default || !isDefault) {
		return nil
	}
	return c.edit(func(doc *tomledit.Doc) error {
		if err := doc.Set([]string{"registry", name, "url"}, tomledit.Quote(url)); err != nil {
			return err
		}
		if !isDefault {
			return nil
		}
		for _, other := range slices.Sorted(maps.Keys(c.Registries)) {
			if c.Registries[other].Default && other != name {
				if _, err := doc.Delete([]string{"registry", other, "default"}); err != nil {
					return err
				}
			}
		}
		return doc.Set([]string{"registry", name, "default"}, "true")
	})
}

// RemoveRegistry removes a registry, if there is one of that name.
func (c *Config) RemoveRegistry(name string) error {
	return c.edit(func(doc *tomledit.Doc) error {
		_, err := doc.Delete([]string{"registry", name})
		return err
	})
}
