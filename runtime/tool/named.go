package tool

import "strings"

// Named is the canonical name of the tool that name means, as far as that is known without starting a server: "github::*" stands for one of a
// server that has not been started. Its error is that of a name which nothing can answer to, or more than one.
func (d *Dispatcher) Named(name string) (string, error) {
	h, err := d.table.resolve(name)
	if err == nil {
		return h.String(), nil
	}
	for _, s := range d.table.servers {
		if !strings.HasPrefix(name, sanitized(s.config.Name)+"_") {
			continue
		}
		if started, failed := s.state(); !started || failed != nil {
			return s.config.Name + "::*", nil
		}
	}
	return "", err
}
