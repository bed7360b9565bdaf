package keyless

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// Services are where a [Signer] goes. The authority is required, and a log or a
// timestamp authority; a log of version 2 keeps no time and needs a timestamp
// authority beside it.
type Services struct {
	Authority  string   // Fulcio, without a path
	Log        string   // Rekor, without a path; "" is none
	LogVersion int      // 1 or 2; 0 means 1
	Timestamps []string // RFC 3161, full URLs; every one is asked
}

func (s Services) check() error {
	switch {
	case s.Authority == "":
		return diag.New(diag.Misuse, "keyless_config", "no certificate authority is configured").Hint("which Fulcio issues your certificates?")
	case s.LogVersion < 0 || s.LogVersion > 2:
		return diag.New(diag.Misuse, "keyless_config", "transparency logs of version %d are not known", s.LogVersion)
	case len(s.Timestamps) == 0 && (s.Log == "" || s.LogVersion == 2):
		return diag.New(diag.Misuse, "keyless_config", "no service is configured that says when something was signed").
			Hint("add a timestamp authority, or a transparency log of version 1")
	}
	return nil
}

// secure refuses a service that is not reached over https, before the first is used.
func (s Services) secure() error {
	if _, err := secure(whatAuthority, s.Authority); err != nil {
		return err
	}
	for _, address := range s.Timestamps {
		if _, err := secure(whatStamps, address); err != nil {
			return err
		}
	}
	if s.Log == "" {
		return nil
	}
	_, err := secure(whatLog, s.Log)
	return err
}

const configTypePrefix = "application/vnd.dev.sigstore.signingconfig"

// ParseConfig reads a signing_config.json of sigstore (version 0.2): of each kind
// of service the one with the highest version known here that is in use at now,
// and of those the newest. One service of a kind is used even where the file's
// selector asks for several.
func ParseConfig(text []byte, now time.Time) (Services, error) {
	var file struct {
		MediaType   string    `json:"mediaType"`
		Authorities []service `json:"caUrls"`
		Logs        []service `json:"rekorTlogUrls"`
		Timestamps  []service `json:"tsaUrls"`
	}
	if err := json.Unmarshal(text, &file); err != nil || !strings.HasPrefix(file.MediaType, configTypePrefix) {
		return Services{}, diag.New(diag.Failed, "keyless_config", "the signing configuration is not one of sigstore")
	}
	var s Services
	if a := choose(file.Authorities, now, 1); a != nil {
		s.Authority = a.URL
	}
	if l := choose(file.Logs, now, 2, 1); l != nil {
		s.Log, s.LogVersion = l.URL, l.Version
	}
	if t := choose(file.Timestamps, now, 1); t != nil {
		s.Timestamps = []string{t.URL}
	}
	return s, s.check()
}

type service struct {
	URL      string `json:"url"`
	Version  int    `json:"majorApiVersion"`
	ValidFor struct {
		Start, End *time.Time
	} `json:"validFor"`
}

// choose returns the service of the first version in versions that is in use,
// the one that started last.
func choose(list []service, now time.Time, versions ...int) *service {
	for _, version := range versions {
		var best *service
		for i, s := range list {
			start, end := s.ValidFor.Start, s.ValidFor.End
			if s.Version != version || start == nil || now.Before(*start) || end != nil && now.After(*end) {
				continue
			}
			if best == nil || start.After(*best.ValidFor.Start) {
				best = &list[i]
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}
